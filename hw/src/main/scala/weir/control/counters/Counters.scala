package weir.control.counters
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.control.registers.CsrBus

/** All 64-bit counters of the core, copied together by `snapshot`, read by the host from the copy: [[TallyCounters]],
  * or in a core for 1 Gb/s [[RowCounters]].
  *
  * Snapshot: a pulse while `snapshotBusy` is low copies the state after that very cycle: its events are included,
  * later ones are not. A pulse while it is high is kept, and the snapshot is taken when it falls. Reads wait for
  * `snapshotBusy` to fall. Without a snapshot since the last clear they answer 0. Counters wrap at 2^64.
  * Reset and `clear`: everything is 0, the events of that cycle included; events may come in the next one.
  */
abstract class Counters(c: WeirConfig) extends Component {
  val io = CounterPorts(c)
}

/** The ports of [[Counters]]. */
case class CounterPorts(c: WeirConfig) extends Bundle {
  val arrival = slave(Flow(ArrivalEvent(c)))
  val departure = slave(Flow(DepartureEvent(c)))
  val ingress = slave(Flow(IngressEvent(c)))
  /** a jumbo frame of so many bytes was built; four or more cycles apart */
  val jumboOut = c.jumbo generate slave(Flow(c.length))
  /** pulse: a group was closed because another flow needed its place */
  val evicted = c.jumbo generate (in Bool ())
  /** pulse: a packet did not wait for all of its spacing */
  val hurried = c.jumbo generate (in Bool ())
  /** pulse: a trace record did not fit in the FIFO */
  val traceLost = in(Bool())
  /** the shaper holds a backlog */
  val throttled = in(Bool())
  val now = in(c.time)
  /** packets in the queues; packets that wait for their spacing */
  val queued, spaced = in(c.count)
  val snapshot = in(Bool())
  val snapshotBusy = out(Bool())
  val clear = in(Bool())
  /** something is still to be counted or copied */
  val busy = out(Bool())
  /** reads of counters, at the addresses of the register map (in words) */
  val bus = slave(CsrBus(14))
}

object Counters {
  /** @param steady the clock of what counts time, when all else may stand still ([[weir.common.ClockGate]]) */
  def build(c: WeirConfig, steady: ClockDomain = ClockDomain.current): Counters =
    if (c.compact) new RowCounters(c, steady) else new TallyCounters(c, steady)
}
