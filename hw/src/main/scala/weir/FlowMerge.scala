package weir

import spinal.core._
import spinal.lib._

/** Two flows on one: `first` passes at once, `second` a cycle later, or two when `first` is in its way.
  * Nothing is lost if neither is valid in two cycles running.
  */
object FlowMerge {
  /** The same for a `second` that may come while up to `depth` of it wait. */
  def queued[T <: Data](first: Flow[T], second: Flow[T], depth: Int): Flow[T] = new Composite(second, "queue") {
    val waiting = StreamFifo(second.payloadType(), depth, latency = 1)
    waiting.io.push << second.toStream
    val merged = Flow(second.payloadType())
    merged.valid := first.valid || waiting.io.pop.valid
    merged.payload := Mux(first.valid, first.payload, waiting.io.pop.payload)
    waiting.io.pop.ready := !first.valid
  }.merged

  def apply[T <: Data](first: Flow[T], second: Flow[T]): Flow[T] = new Composite(second, "merge") {
    val held = Reg(second.payloadType())
    val waiting = RegInit(False)
    val merged = Flow(second.payloadType())
    merged.valid := first.valid || waiting
    merged.payload := Mux(first.valid, first.payload, held)
    when(!first.valid)(waiting := False)
    when(second.valid) {
      held := second.payload
      waiting := True
    }
  }.merged
}
