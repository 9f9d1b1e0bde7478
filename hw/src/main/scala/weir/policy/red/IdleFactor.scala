package weir.policy.red
import spinal.core._
import weir.common.Fixed

/** How an average decays over idle time. */
case class IdleFactor() extends Bundle {
  /** it decays by one slot or more */
  def decays: Bool = slots =/= 0
  /** A_idle, 36 fraction bits */
  val retained = Fixed.weight()
  /** m */
  val slots = Fixed.slots()
}
