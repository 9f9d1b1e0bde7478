package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Departure, Fill}
import weir.control.counters.DepartureEvent
import weir.control.trace.DepartureRecord
import weir.policy.{Cause, Ecn}

/** What a departure leaves behind: an event for the counters a cycle after its release, and a trace record two cycles
  * after that.
  */
class DepartureLog(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** queues whose departures leave records */
    val traces = in(Bits(c.queues bits))
    /** out of its queue; `fill` shows it two cycles later */
    val departure = slave(Flow(Departure(c)))
    val fill = in(Vec(Fill(c), c.queues))
    /** as it was decided; four cycles apart */
    val released = slave(Flow(Departure(c)))
    /** queues whose policy decides at departure */
    val decides = in(Bits(c.queues bits))
    val event = master(Flow(DepartureEvent(c)))
    val record = c.trace generate master(Flow(DepartureRecord(c)))
  }
  noIoPrefix()

  private val released = io.released
  private val descriptor = released.descriptor
  /** by a policy that decides at departure */
  private val selected = io.decides(released.queue.resized) &&
    (released.cause === Cause.early || released.cause === Cause.forced)

  val left = Reg(Flow(DepartureEvent(c)))
  left.valid init False
  left.valid := released.valid && descriptor.counts
  when(released.valid) {
    left.queue := released.queue
    left.length := descriptor.length
    left.sojournNs := released.grantNs - descriptor.stampNs
    left.discard := released.discard
    left.cause := released.cause
    left.marked := descriptor.mark && (selected || released.cause === Cause.partial)
    left.alreadyCe := selected && descriptor.ecn === Ecn.ce
    left.merged := !(released.first && released.last)
  }
  io.event << left

  val recording = c.trace generate new Area {
    private val queue = RegNext(RegNext(io.departure.queue))
    private val shown = Delay(io.departure.valid, 2, init = False)
    /** q when it no longer holds the packet */
    val fill = RegNextWhen(io.fill(queue.resized), shown)
    /** holds until the record has been made */
    val last = RegNextWhen(released.payload, released.valid)
    io.record.valid := RegNext(RegNext(left.valid, init = False) && io.traces(left.queue.resized), init = False)
    io.record.time := last.grantNs
    io.record.sojournNs := left.sojournNs
    io.record.queue := left.queue
    io.record.discard := last.discard
    io.record.cause := last.cause
    io.record.packet(last.descriptor)
    io.record.fill(fill)
  }
}
