package weir.control.trace
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.policy.{PolicyEngine, PolicyTick}
import weir.policy.red.RedFamily

/** Trace records of what the policies' timers did: each engine's last tick waits until its record is on its way. */
class TickLog(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** queues whose ticks leave records */
    val traces = in(Bits(c.queues bits))
    /** in the order of `c.engines` */
    val ticks = Vec(slave(Flow(PolicyTick(c))), c.engines.size)
    val record = master(Stream(Bits(TraceRecord.width bits)))
    /** pulse: a tick came while the one before it waited */
    val lost = out Bool ()
  }
  noIoPrefix()

  /** The last tick of an engine. */
  class Kept(source: Flow[PolicyTick]) extends Area {
    val waiting = RegInit(False)
    val tick = RegNextWhen(source.payload, source.valid)
    /** Its record is asked for: told of each by itself, before the choice between them. */
    val wanted = io.traces(tick.queue.resized)
    val goes = Bool()
    val lost = source.valid && waiting && !goes
    when(goes)(waiting := False)
    when(source.valid)(waiting := True)
  }
  /** Those of the RED family a cycle later, for which the payload stands: an apply may make a tick void to the last. */
  private def told(tick: Flow[PolicyTick], engine: PolicyEngine): Flow[PolicyTick] =
    if (engine == RedFamily) {
      val later = cloneOf(tick)
      later.valid := RegNext(tick.valid) init False
      later.payload := tick.payload
      later
    } else tick

  val kept = io.ticks.zip(c.engines).map { case (tick, engine) => new Kept(told(tick, engine)) }
  io.lost := kept.map(_.lost).foldLeft(False: Bool)(_ || _)
  /** whose turn it is */
  val first = kept.indices.map(n => kept.take(n).foldLeft(kept(n).waiting)(_ && !_.waiting))
  val tick =
    if (kept.isEmpty) PolicyTick(c).assignDontCare()
    else kept.init.foldRight(kept.last.tick)((k, later) => k.waiting ? k.tick | later)
  private val described =
    TraceRecord.build(TraceKind.Tick, "time_ns" -> tick.nowNs, "queue" -> tick.queue, "policy" -> tick.policy)
  private val state = TraceRecord.state
  val words = Vec(described.indices.map(n => if (state.contains(n)) tick.words(n - state.start) else described(n)))
  io.record.valid := first.zip(kept).map { case (turn, k) => turn && k.wanted }.foldLeft(False: Bool)(_ || _)
  io.record.payload := words.asBits
  for ((turn, k) <- first.zip(kept)) k.goes := turn && (io.record.ready || !k.wanted)
}
