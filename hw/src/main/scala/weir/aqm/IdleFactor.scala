package weir.aqm

import spinal.core._
import weir.WeirConfig

/** A request as the idle time sees it. */
case class IdleArrival(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val nowNs = c.time
  /** the queue was found empty */
  val empty = Bool()
}

/** How an average decayed. */
case class IdleFactor() extends Bundle {
  /** a result is held and decays by one slot or more */
  val decays = Bool()
  /** A_idle, 36 fraction bits */
  val retained = UInt(36 bits)
  /** m */
  val slots = UInt(22 bits)
}
