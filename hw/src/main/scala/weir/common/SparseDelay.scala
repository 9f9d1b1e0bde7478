package weir.common
import spinal.core._

/** Keeps a value for a later stage where values come at least four cycles apart: a register every four stages, not one
  * every stage.
  */
object SparseDelay {
  /** @param stage  stage(n): a request is in tn
    * @param from   the value is in a register that holds it from t`from` to t`from + 3`
    * @param to     the result holds it at t`to`
    */
  def apply[T <: Data](value: T, stage: ValidPipeline, from: Int, to: Int): T =
    if (from == to) value
    else {
      val hop = math.min(4, to - from)
      apply(RegNextWhen(value, stage(from + hop - 1)), stage, from + hop, to)
    }
}
