package weir.control.trace
import spinal.core._
import weir.WeirConfig
import weir.buffer.{Descriptor, Fill}
import weir.control.registers.QueueUnit
import weir.policy.{Action, Cause, Ecn, Policy}

/** Trace records, 12 words of 32 bits, word 0 in the lowest bits: the one declaration of where their fields are.
  * Hardware builds records from it; decoders in C, C++ and Python and the tables of docs/architecture.md come from it.
  */
object TraceRecord {
  import TraceKind._

  final val words = 12 // a constant for the compiler, since policies need it before this object is ready
  val width: Int = 32 * words
  /** words of a tick's record that its policy fills */
  val state: Range = 3 to 6

  private def part(word: Int, high: Int, low: Int) = TracePart(word, high, low)
  private val packet = Seq(Arrival, Departure)

  /** Every field but those that a policy's tick has of its own. */
  lazy val fields: Seq[TraceField] = Seq(
    TraceField("time_ns", TraceKind.all, Seq(part(0, 31, 0), part(1, 15, 0)),
      "time of the request, of the grant, of the tick: bits 47:0 of ns"),
    TraceField("queue", TraceKind.all, Seq(part(1, 19, 16)), "queue"),
    TraceField("kind", TraceKind.all, Seq(part(1, 21, 20)), "kind of the record",
      choices = TraceKind.all.map(k => k.name -> k.id)),
    TraceField("action", packet, Seq(part(1, 23, 22)), "what happened to the packet",
      choices = Seq("accept" -> Action.accept, "mark" -> Action.mark, "drop" -> Action.drop)),
    TraceField("cause", packet, Seq(part(1, 27, 24)), "why; partial: packets of a jumbo frame that waits pay for it",
      choices = Seq("none" -> Cause.none, "early" -> Cause.early, "forced" -> Cause.forced,
        "overflow" -> Cause.overflow,
        "link_down" -> Cause.linkDown, "front" -> Cause.front, "partial" -> Cause.partial)),
    TraceField("ecn", packet, Seq(part(1, 29, 28)), "ECN codepoint as it arrived",
      choices = Seq("not-ect" -> Ecn.notEct, "ect1" -> Ecn.ect1, "ect0" -> Ecn.ect0, "ce" -> Ecn.ce)),
    TraceField("exempt", packet, Seq(part(1, 30, 30)), "protected group address: no policy touches it"),
    TraceField("length", packet, Seq(part(2, 13, 0)), "bytes of the frame"),
    TraceField("marked", Seq(Departure), Seq(part(2, 14, 14)), "the packet leaves with CE set by the core"),
    TraceField("policy", Seq(Arrival, Tick), Seq(part(2, 19, 16)), "number of the policy",
      choices = Policy.all.map(p => p.name -> p.id)),
    TraceField("unit", Seq(Arrival), Seq(part(2, 21, 20)), "unit of the queue",
      choices = Seq("bytes" -> QueueUnit.bytes, "packets" -> QueueUnit.packets, "frames" -> QueueUnit.frames)),
    TraceField("members", Seq(Arrival), Seq(part(2, 30, 22)), "packets of a jumbo frame in transit, else 0"),
    TraceField("bytes", packet, Seq(part(3, 31, 0)), "q in bytes: as used, before the arrival; after the departure"),
    TraceField("packets", packet, Seq(part(4, 15, 0)), "q in packets, likewise"),
    TraceField("frames", packet, Seq(part(4, 31, 16)), "q in frames, likewise"),
    TraceField("average", Seq(Arrival), Seq(part(6, 31, 21), part(5, 31, 0)), "average in the queue's unit, UQ21.22",
      fraction = 22),
    TraceField("sojourn_ns", Seq(Departure), Seq(part(5, 31, 0), part(6, 15, 0)), "sojourn time, ns"),
    TraceField("count", Seq(Arrival), Seq(part(7, 15, 0)), "count used: packets since the last action"),
    TraceField("p", Seq(Arrival), Seq(part(8, 31, 0), part(1, 31, 31)), "probability before spreading, UQ1.32",
      fraction = 32),
    TraceField("draw", Seq(Arrival), Seq(part(9, 23, 0)), "random draw, u * 2^24"),
    TraceField("idle_slots", Seq(Arrival), Seq(part(10, 21, 0)), "idle slots m that the average decayed by"),
    TraceField("number", packet, Seq(part(11, 31, 0)),
      "number of the packet's arrival at the core, from 0, modulo 2^32")
  )

  /** Of a record of that kind; of a tick with those of its policy. */
  def of(kind: TraceKind, policy: Option[Policy] = None): Seq[TraceField] =
    fields.filter(_.kinds.contains(kind)) ++ policy.toSeq.flatMap(_.tickState)

  for (kind <- TraceKind.all; policy <- None +: Policy.all.map(Option(_))) {
    val own = of(kind, policy.filter(_ => kind == Tick))
    for (Seq(a, b) <- own.combinations(2); x <- a.parts; y <- b.parts)
      require(!x.overlaps(y), s"Trace record of ${kind.name}: fields ${a.name} and ${b.name} overlap in word ${x.word}")
  }
  for (policy <- Policy.all; field <- policy.tickState; p <- field.parts)
    require(state.contains(p.word),
      s"Policy ${policy.name}: field ${field.name} must lie in words ${state.start} to ${state.end}")

  /** The words of a record of `kind`. Fields that are not given, and bits that no field has, are 0. */
  def build(kind: TraceKind, values: (String, Data)*): Vec[Bits] =
    assemble(0 until words, of(kind), values :+ ("kind" -> U(kind.id, 2 bits)))

  /** The words of a tick's record that `policy` fills: each of its fields has to be given. */
  def tickState(policy: Policy, values: (String, Data)*): Vec[Bits] = {
    require(policy.tickState.map(_.name).toSet == values.map(_._1).toSet,
      s"Policy ${policy.name}: its tick has the fields ${policy.tickState.map(_.name).mkString(", ")}")
    assemble(state, policy.tickState, values)
  }

  private def assemble(words: Range, fields: Seq[TraceField], values: Seq[(String, Data)]): Vec[Bits] = {
    val given = values.map { case (name, value) =>
      val field = fields.find(_.name == name)
        .getOrElse(throw new NoSuchElementException(s"the record has no field $name"))
      require(value.getBitsWidth <= field.width,
        s"Trace field $name has ${field.width} bits, not ${value.getBitsWidth}")
      field -> value
    }
    Vec(words.map { word =>
      val parts = for ((field, value) <- given; (part, from) <- field.placed if part.word == word)
        yield part -> slice(value, from, part.width)
      // from bit 31 down: the parts, and zeros where there is none
      val sorted = parts.sortBy(-_._1.high)
      val ends = sorted.map(_._1)
      val gaps = ends.map(_.low).zip(ends.drop(1).map(_.high) :+ -1).map { case (low, next) => low - next - 1 }
      val pieces = sorted.map(_._2).zip(gaps).flatMap { case (bits, gap) =>
        bits +: (if (gap > 0) Seq(B(0, gap bits)) else Nil)
      }
      pieces.reduceOption(_ ## _).fold(B(0, 32 bits))(_.resize(32))
    })
  }

  /** Bits `from` to `from + width - 1` of a value. */
  private def slice(value: Data, from: Int, width: Int): Bits = value match {
    case whole if from == 0 && whole.getBitsWidth == width => whole.asBits
    case number: UInt if from == 0 && number.getWidth < width => number.resize(width).asBits
    case number: UInt => number(from + width - 1 downto from).asBits
    case other => other.asBits(from + width - 1 downto from)
  }
}

/** What the record of a departure is made of: a third of its words are 0, and are not kept. */
case class DepartureRecord(c: WeirConfig) extends Bundle {
  val time, sojournNs = c.time
  val queue = c.queueId
  val discard = Bool()
  val cause = UInt(3 bits)
  /** of the packet */
  val ecn = UInt(2 bits)
  val exempt, mark = Bool()
  val length = c.length
  val sequence = UInt(32 bits)
  /** of its queue afterwards */
  val bytes = c.quantity
  val packets, frames = c.count

  def packet(descriptor: Descriptor): Unit = {
    ecn := descriptor.ecn
    exempt := descriptor.exempt
    mark := descriptor.mark
    length := descriptor.length
    sequence := descriptor.sequence
  }

  def fill(after: Fill): Unit = {
    bytes := after.bytes
    packets := after.packets
    frames := after.frames
  }

  def words: Bits = {
    val action = Mux(discard, U(Action.drop, 2 bits), Mux(mark, U(Action.mark, 2 bits), U(Action.accept, 2 bits)))
    TraceRecord.build(TraceKind.Departure,
      "time_ns" -> time, "queue" -> queue, "action" -> action, "cause" -> cause, "ecn" -> ecn, "exempt" -> exempt,
      "length" -> length, "marked" -> mark, "bytes" -> bytes, "packets" -> packets, "frames" -> frames,
      "sojourn_ns" -> sojournNs, "number" -> sequence).asBits
  }
}
