package weir.common
import spinal.core._
import spinal.lib._

/** Two flows on one: `first` passes at once, `second` a cycle later, or two when `first` is in its way.
  * Nothing is lost if neither is valid in two cycles running.
  */
object FlowArbiter {
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
