package weir.policy.compact
import scala.collection.mutable

/** A program for the [[Engine]], written down step by step: one `step` is one instruction and one cycle.
  *
  * All that a step names is read as it was before the step. `p = word(n)` starts `x * limb n`, which is `P` in the next
  * step; `x = …` counts from the next step on. A stored word can be read two steps later, a table two steps after its
  * `index`. `goto` takes one more step with it (delay slot); with `goto` the condition `when` is that of the branch
  * alone, else of all that the step does but `p`. [[Hazards]] holds programs to this.
  */
abstract class Program(val name: String) {
  private val lines = mutable.ArrayBuffer[Instruction]()
  private val places = mutable.LinkedHashMap[String, Int]()
  private val starts = mutable.LinkedHashMap[String, Int]()

  /** its entries are those of requests */
  def decides: Boolean = false

  def instructions: Seq[Instruction] = lines.toSeq
  /** label: number of the instruction that follows */
  def labels: Map[String, Int] = places.toMap
  /** entries, in the order in which they stand */
  def entries: Seq[(String, Int)] = starts.toSeq

  /** The next step can be branched to by this name. */
  protected[compact] def label(name: String): Unit = {
    if (places.contains(name)) throw new ProgramError(s"program ${this.name}: label $name stands twice; rename one")
    places(name) = lines.size
  }

  /** The engine can start here. */
  protected[compact] def entry(name: String): Unit = {
    label(name)
    starts(name) = lines.size
  }

  /** One instruction. */
  protected[compact] def step(
      note: String = "",
      acc: Sum = Sum.keep,
      x: Multiplicand = null,
      p: Limb = null,
      store: Word = null,
      when: Condition = Condition.Always,
      goto: String = null,
      effect: Effect = Effect.None,
      tell: Evidence = Evidence.None,
      index: Index = Index.None,
      flags: Word = null
  ): Unit = {
    if (flags != null && effect != Effect.None)
      throw new ProgramError(s"program ${this.name}, step ${lines.size}: flags and ${effect.text} are both effects; use two steps")
    lines += Instruction(note, acc, Option(x), Option(p), Option(flags), Option(store), when, Option(goto),
      if (flags == null) effect else Effect.LoadFlags, tell, index)
  }
}
