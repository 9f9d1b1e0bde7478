package weir.control.trace

/** What a trace record tells of. */
sealed abstract class TraceKind(val id: Int, val name: String)

object TraceKind {
  case object Arrival extends TraceKind(0, "arrival")
  case object Departure extends TraceKind(1, "departure")
  /** of a policy */
  case object Tick extends TraceKind(2, "tick")
  val all: Seq[TraceKind] = Seq(Arrival, Departure, Tick)
}

/** Bits `high` to `low` of a word of a trace record. */
case class TracePart(word: Int, high: Int, low: Int) {
  require(word >= 0 && word < TraceRecord.words, s"TracePart.word=$word must be 0 to ${TraceRecord.words - 1}")
  require(low >= 0 && high >= low && high <= 31, s"TracePart=$high:$low must lie in 31:0, high bit first")
  val width: Int = high - low + 1
  def overlaps(other: TracePart): Boolean = word == other.word && low <= other.high && other.low <= high
}

/** A field of trace records.
  *
  * @param kinds    the records that have it
  * @param parts    where its bits are, the lowest first
  * @param fraction bits behind the binary point
  * @param choices  names of its values
  */
case class TraceField(
    name: String,
    kinds: Seq[TraceKind],
    parts: Seq[TracePart],
    meaning: String,
    fraction: Int = 0,
    choices: Seq[(String, Int)] = Nil
) {
  require(name.matches("[a-z][a-z0-9_]*"), s"TraceField.name=$name must be lower case letters, digits and _")
  require(parts.nonEmpty && kinds.nonEmpty, s"TraceField $name needs a part and a kind")
  val width: Int = parts.map(_.width).sum
  require(width <= 64 && fraction <= width, s"TraceField $name has $width bits, $fraction of them fraction")
  /** each part with the lowest bit of the value that it holds */
  val placed: Seq[(TracePart, Int)] = parts.zip(parts.scanLeft(0)(_ + _.width))
}
