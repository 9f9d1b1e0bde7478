package weir.common
import spinal.core._

/** How far something has come: step 0 is `start`, step n comes n cycles later, up to `last`. One shift register, 0 at
  * reset, which is one word to the cycle model.
  */
class ValidPipeline(start: Bool, last: Int) extends Area {
  /** bit n − 1 is step n */
  val passed = Reg(Bits(last bits)) init 0
  passed := (passed ## start).resize(last)

  def apply(step: Int): Bool = if (step == 0) start else passed(step - 1)
}
