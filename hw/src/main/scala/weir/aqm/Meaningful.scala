package weir.aqm

import spinal.core._

/** A value that nothing looks at unless `enable` is high: what it is otherwise is left open. A synthesizer finds the plain
  * value; the cycle model computes it in the cycles with `enable` only.
  */
object Meaningful {
  def apply[T <: Data](enable: Bool)(value: T): T = {
    val kept = cloneOf(value)
    kept.assignDontCare()
    when(enable)(kept := value)
    kept
  }
}
