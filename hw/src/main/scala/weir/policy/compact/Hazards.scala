package weir.policy.compact
import scala.collection.mutable

/** What may be executed after what in a program, and the rules that follow from the engine's pipeline. */
class Hazards(program: Program) {
  private val code = program.instructions

  private def fail(n: Int, what: String) =
    throw new ProgramError(s"program ${program.name}, step $n (${code(n).text}): $what")

  private val targets: Map[Int, Int] = (for ((i, n) <- code.zipWithIndex; to <- i.goto) yield
    n -> program.labels.getOrElse(to, fail(n, s"label $to does not exist; labels are ${program.labels.keys.toSeq.sorted.mkString(", ")}"))).toMap

  /** An instruction that is executed; in the delay slot of a branch to `to`. */
  case class Place(n: Int, to: Option[Int])

  /** What may come after it; nothing if the program ends there. */
  def after(place: Place): Seq[Place] = {
    val i = code(place.n)
    def next = if (place.n + 1 < code.size) Place(place.n + 1, None)
      else fail(place.n, "the program runs on behind its last step; end it with Effect.Done or a branch and its delay slot")
    if (i.ends && i.when == Condition.Always) Nil
    else place.to match {
      case Some(to) => Seq(Place(to, None))
      case None => targets.get(place.n) match {
        case None                                    => Seq(next)
        case Some(to) if i.when == Condition.Always  => Seq(next.copy(to = Some(to)))
        case Some(to)                                => Seq(next, next.copy(to = Some(to)))
      }
    }
  }

  /** Checks a program; the first fault is told. */
  def check(): Unit = {
    for ((i, n) <- code.zipWithIndex) alone(i, n)
    for ((name, start) <- program.entries) {
      if (program.decides) fromRequest(name, start)
      bounded(start)
    }
    val seen = mutable.Set[Place]()
    val open = mutable.Queue[Place](program.entries.map { case (_, n) => Place(n, None) }: _*)
    val begins = program.entries.map(_._2).toSet
    for (n <- begins if code(n).takesProduct) fail(n, "the product is not defined at an entry")
    while (open.nonEmpty) {
      val place = open.dequeue()
      if (seen.add(place)) for (next <- after(place)) {
        adjacent(place.n, next.n)
        if (next.to.nonEmpty && code(place.n).when == Condition.Always && code(next.n).goto.nonEmpty)
          fail(next.n, s"stands in the delay slot of step ${place.n}, which always branches: this branch never counts")
        open.enqueue(next)
      }
    }
    for (n <- code.indices if !seen.exists(_.n == n)) fail(n, "no entry leads here; remove the step")
  }

  /** What one step may not do. */
  private def alone(i: Instruction, n: Int): Unit = {
    if (i.reads.size > 1) fail(n, s"reads ${i.reads.map(_.name).mkString(" and ")}; a step reads one word")
    i.acc.left match {
      case Shifted(bits) if bits != 18 => fail(n, s"the adder takes acc >> 18, not acc >> $bits")
      case _                           =>
    }
    i.x match {
      case Some(Shifted(bits)) if bits != 7 => fail(n, s"x takes acc or acc >> 7, not acc >> $bits")
      case _                                =>
    }
    i.store match {
      case Some(_: State | _: Scratch) | None =>
      case Some(word)                         => fail(n, s"stores to ${word.name}; only State and Scratch can be stored to")
    }
    if (i.ends && i.goto.nonEmpty) fail(n, "ends the program and branches")
  }

  /** `first` and then `second` are executed. */
  private def adjacent(first: Int, second: Int): Unit = {
    val (a, b) = (code(first), code(second))
    for (word <- a.store if b.reads.contains(word))
      fail(second, s"reads ${word.name}, which step $first stores; put one step between them")
    if (a.index != Index.None && b.reads.exists(_.isInstanceOf[Table]))
      fail(second, s"reads a table whose index step $first loads; put one step between them")
    if (b.takesProduct && a.p.isEmpty)
      fail(second, s"uses the product, but step $first, which comes before, does not multiply")
  }

  /** The request's words are written while its first steps run, a word a cycle from the request on. */
  private def fromRequest(name: String, start: Int): Unit = {
    def walk(place: Place, executed: Int): Unit = {
      for (Input(input, order) <- code(place.n).reads.collect { case i: Input => i } if order > executed)
        fail(place.n, s"reads $input after $executed steps from entry $name; it is there after $order")
      if (executed + Engine.readToWrite < Input.all.size && code(place.n).store.nonEmpty)
        fail(place.n, s"stores after $executed steps from entry $name; the request's words are written until then; " +
          s"${Input.all.size - Engine.readToWrite} steps have to go before it")
      if (executed < Input.all.size) after(place).foreach(walk(_, executed + 1))
    }
    walk(Place(start, None), 0)
  }

  /** No path is longer than the program: there is no loop. No path stores so often in a row that a departure waits. */
  private def bounded(start: Int): Unit = {
    val depth = mutable.Map[Place, Int]()
    val under = mutable.Set[Place]()
    def walk(place: Place, stores: Int): Unit = {
      if (under(place)) fail(place.n, "the program can come here again without an end; the engine has no loops")
      val row = if (code(place.n).store.isEmpty) 0 else stores + 1
      if (row > Engine.storesInRow)
        fail(place.n, s"stores for the ${row}th time in a row; a departure waits for a free cycle: ${Engine.storesInRow} at most")
      if (depth.getOrElse(place, -1) < row) {
        depth(place) = row
        under += place
        after(place).foreach(walk(_, row))
        under -= place
      }
    }
    walk(Place(start, None), 0)
  }

  /** A way through the program: the labels that it passes, steps to the verdict if it has one, and steps in all. */
  case class Path(labels: Seq[String], verdict: Option[Int], steps: Int)

  /** Every way from an entry; those that ask a flag twice and get two answers are none. */
  def paths(start: Int): Seq[Path] = {
    val named = program.labels.groupMap(_._2)(_._1).map { case (n, names) => n -> names.min }
    val found = mutable.LinkedHashSet[Path]()
    def walk(place: Place, known: Map[String, Boolean], labels: List[String], verdict: Option[Int], steps: Int): Unit = {
      val i = code(place.n)
      val passed = named.get(place.n).fold(labels)(_ :: labels)
      val told = if (i.effect == Effect.Verdict) Some(steps + 1) else verdict
      def answer(yes: Boolean): Option[Map[String, Boolean]] = i.when match {
        case Not(flag: Flag) => if (known.getOrElse(flag.name, !yes) == !yes) Some(known + (flag.name -> !yes)) else None
        case flag: Flag      => if (known.getOrElse(flag.name, yes) == yes) Some(known + (flag.name -> yes)) else None
        case _               => Some(known)
      }
      if (i.ends && i.when == Condition.Always) found += Path(passed.reverse, told, steps + 1)
      else if (i.ends) {
        found += Path(passed.reverse, told, steps + 1)
        after(place).foreach(walk(_, known, passed, told, steps + 1))
      } else for (next <- after(place)) {
        val branches = place.to.isEmpty && i.goto.nonEmpty && i.when != Condition.Always
        (if (branches) answer(next.to.nonEmpty) else Some(known)).foreach(walk(next, _, passed, told, steps + 1))
      }
    }
    walk(Place(start, None), Map.empty, Nil, None, 0)
    found.toSeq
  }
}
