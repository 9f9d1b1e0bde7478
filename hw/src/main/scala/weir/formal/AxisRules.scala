package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._

/** The rules of AXI4-Stream (and of `Stream`) for a source: an offer stands still until it is taken.
  *
  * @param settled no reset now nor in the cycle before; a reset may withdraw an offer
  */
class AxisRules[T <: Data](stream: Stream[T], settled: Bool) extends Area {
  val waits = RegNext(stream.valid && !stream.ready)
  val payload = RegNext(stream.payload)
  val kept = !waits || (stream.valid && stream.payload === payload)

  def asserted(): Unit = when(settled)(assert(kept))
  def assumed(): Unit = when(settled)(assume(kept))
}

/** Once begun, a frame comes beat on beat: no cycle without an offer between its first beat and its last. */
class NoGap(valid: Bool, ready: Bool, last: Bool) extends Area {
  /** the beat that was taken last was not the last of its frame */
  val inside = RegInit(False)
  when(valid && ready)(inside := !last)
  val kept = !inside || valid
}

/** Follows one beat, the `number`-th since reset, from a source to a sink that keeps the order.
  *
  * @param came  beats of the source that are taken in this cycle
  * @param went  likewise at the sink
  */
class Watched[T <: Data](number: UInt, came: Bool, in: T, went: Bool) extends Area {
  val entered, left = Reg(UInt(number.getWidth + 1 bits)) init 0
  when(came)(entered := entered + 1)
  when(went)(left := left + 1)
  val enters = came && entered === number.resized
  val leaves = went && left === number.resized
  val seen = RegNextWhen(in, enters)
  /** it was inside for a cycle at least */
  val known = RegInit(False)
  when(enters)(known := True)
}
