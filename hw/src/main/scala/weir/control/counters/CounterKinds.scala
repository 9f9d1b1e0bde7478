package weir.control.counters
import spinal.core._
import weir.policy.{Action, Cause, Ecn}

/** Counters of a queue that an event adds to, by number: `first`, and `second` if `both`. */
class CounterKinds(width: Int) extends Area {
  val first, second = UInt(width bits)
  val both = Bool()
}

/** Those of arrivals: in the order of the queue's block from 0x200 on; the last stands before them. */
object ArrivalKind {
  val in = 0
  val early = 4
  val forced = 5
  val overflow = 6
  val marked = 7
  val alreadyCe = 8
  val nodrop = 9
  val kinds = 10

  def apply(event: ArrivalEvent): CounterKinds = new CounterKinds(log2Up(kinds)) {
    /** selected, yet accepted */
    private val kept = event.action === Action.accept && (event.cause === Cause.early || event.cause === Cause.forced)
    private val marks = event.action === Action.mark
    first := event.ecn.resize(first.getWidth) + in
    second := overflow
    when(event.cause === Cause.early)(second := early)
    when(event.cause === Cause.forced)(second := forced)
    when(marks)(second := marked)
    when(event.action === Action.accept)(second := Mux(event.ecn === Ecn.ce, U(alreadyCe), U(nodrop)).resized)
    both := event.action === Action.drop || marks || kept
  }
}

/** Those of departures: the bins of the sojourn histogram, then what left, by how. */
object DepartureKind {
  val out = 32
  val linkDown = 33
  val front = 34
  val refused = 35
  val marked = 36
  val partial = 37
  val alreadyCe = 38
  val kinds = 39

  def apply(event: DepartureEvent): CounterKinds = new CounterKinds(log2Up(kinds)) {
    first := out
    when(event.marked)(first := marked)
    when(event.alreadyCe)(first := alreadyCe)
    when(event.discard) {
      first := refused
      when(event.cause === Cause.linkDown)(first := linkDown)
      when(event.cause === Cause.front)(first := front)
      when(event.cause === Cause.partial)(first := partial)
    }
    second := bin(event.sojournNs).resized
    both := !event.discard
  }

  /** max(0, floor(log2 sojourn)), up to 31 */
  private def bin(sojournNs: UInt): UInt = highest(sojournNs(47 downto 31).orR ## sojournNs(30 downto 0))._2

  /** There is a one, and the number of the highest one, half by half; the width is a power of two. */
  private def highest(bits: Bits): (Bool, UInt) = if (bits.getWidth == 2) (bits.orR, bits.msb.asUInt) else {
    val Seq((low, lowAt), (high, highAt)) = bits.subdivideIn(2 slices).map(highest).toSeq
    (high || low, high.asUInt @@ Mux(high, highAt, lowAt))
  }
}
