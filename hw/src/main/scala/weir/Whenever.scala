package weir

import spinal.core._

/** Assignments that change nothing unless `happens`, by conditions of their own. The cycle model leaves them out then; hardware does without a
  * condition more, which would come late to many registers.
  */
object Whenever {
  def apply(c: WeirConfig, happens: Bool)(assignments: => Unit): Unit = if (c.gated) when(happens)(assignments) else assignments
}
