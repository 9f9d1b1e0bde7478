package weir

import spinal.core._

/** A register that means something in the cycle after `enable`, and nothing later. The cycle model loads it then, hardware in every cycle: an
  * enable that is known late has to reach each bit of it.
  */
object Loaded {
  def apply[T <: Data](c: WeirConfig, value: T, enable: Bool): T = if (c.gated) RegNextWhen(value, enable) else RegNext(value)
}
