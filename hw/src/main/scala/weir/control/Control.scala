package weir.control
import spinal.core._
import spinal.lib._
import weir.{Activity, Domains, Settings, WeirConfig}
import weir.buffer.BufferStatus
import weir.common.ClockGate
import weir.control.counters.{ArrivalEvent, Counters, DepartureEvent, IngressEvent}
import weir.control.registers.{AxiLiteFront, AxiLitePort, RegisterFile, RegisterMap}
import weir.control.trace.{DepartureRecord, TickLog, TraceFifo, TraceMerge, TraceRecord}
import weir.policy.PolicyTick

/** What the stages show the host: events to count, records for the trace, what is held. */
case class Telemetry(c: WeirConfig) extends Bundle {
  val ingress = Flow(IngressEvent(c))
  val arrival = Flow(ArrivalEvent(c))
  val departure = Flow(DepartureEvent(c))
  val buffer = BufferStatus(c)
  /** by queue; packets that wait for their spacing */
  val averages = Vec(UInt(43 bits), c.queues)
  val spaced = c.count
  /** the shaper holds packets back */
  val throttled = Bool()
  /** of each decision; it is wanted */
  val arrivalRecord = Flow(Bits(TraceRecord.width bits))
  val arrivalRecorded = Bool()
  val departureRecord = c.trace generate Flow(DepartureRecord(c))
  val ticks = Vec(Flow(PolicyTick(c)), c.engines.size)
  /** a jumbo frame of so many bytes was built; a packet did not wait for all of its spacing */
  val jumboOut = c.jumbo generate Flow(c.length)
  val hurried = c.jumbo generate Bool()
}

/** Beside the stages: registers, counters and trace, the reset by register, and what a simulator needs to jump over
  * idle time (docs/modules/control.md).
  */
class Control(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val now_ns = in(c.time)
    val link_up = in Bool ()
    val csr = slave(AxiLitePort(RegisterMap.addressWidth))
    val trace = master(Flow(Bits(TraceRecord.width bits)))
    val quiet = out Bool ()
    val wake_ns = out(c.time)
    val settings = out(Settings(c))
    /** `now_ns`, a cycle later */
    val nowNs = out(c.time)
    /** resets of the path and of its ends ([[ResetControl]]) */
    val pathReset, endReset = out Bool ()
    val telemetry = in(Telemetry(c))
    /** queues of which nothing is in progress, by stage */
    val settled = in(Vec(Bits(c.queues bits), 3))
    /** nothing is on its way out */
    val drained = in Bool ()
    val receive = in(Activity.receive(c))
    val admission = in(Activity.admission(c))
    val buffer = in(Activity.buffer(c))
    val transmit = in(Activity.transmit(c))
    /** of the clock `packet` */
    val packetRuns = out Bool ()
  }
  noIoPrefix()

  private val telemetry = io.telemetry
  private val stages = Seq(io.receive, io.admission, io.buffer, io.transmit)
  private def packets[T](unit: => T): T = domains.packet(domains.core)(unit)

  private val frontClock = new ClockGate("front")
  val front = frontClock(domains.core)(new AxiLiteFront)
  val registers = packets(new RegisterFile(c))
  val reset = new ResetControl
  val counters = packets(Counters.build(c, domains.core))
  val idleDetector = new IdleDetector(c, stages.size + 1, stages.map(_.wake.size).sum)

  front.io.csr <> io.csr
  front.io.bus <> registers.io.bus

  io.nowNs := RegNext(io.now_ns) init 0
  private val linkUp = RegNext(io.link_up) init False
  io.settings.follow(registers.io)
  io.settings.linkUp := linkUp
  io.settings.hold := reset.io.busy
  io.settings.changing := Seq(front.io.busy, registers.io.busy, reset.io.busy).orR

  reset.io.request := registers.io.softReset
  reset.io.drained := io.drained
  io.pathReset := reset.io.path
  io.endReset := reset.io.ends

  registers.io.applyReady := io.settled.reduce(_ & _)
  registers.io.statusLinkUp := linkUp
  registers.io.resetting := reset.io.busy
  registers.io.quiet := idleDetector.io.still
  registers.io.snapshotBusy := counters.io.snapshotBusy
  registers.io.now := io.nowNs
  registers.io.heldPackets := telemetry.buffer.held + telemetry.spaced
  registers.io.freeCells := telemetry.buffer.freeCells.resized
  private val lowest = Reg(UInt(c.cellWidth bits)) init (c.cells - 1)
  when(telemetry.buffer.freeCells < lowest && !io.pathReset || io.settings.snapshot) {
    lowest := telemetry.buffer.freeCells
  }
  registers.io.freeCellsMin := lowest.resized
  for (q <- 0 until c.queues) {
    registers.io.live(q) := telemetry.buffer.live(q)
    registers.io.live(q).average.allowOverride() := telemetry.averages(q)
  }

  counters.io.arrival << telemetry.arrival
  counters.io.departure << telemetry.departure
  counters.io.ingress << telemetry.ingress
  if (c.jumbo) {
    counters.io.jumboOut << telemetry.jumboOut
    counters.io.evicted := telemetry.buffer.evicted
    counters.io.hurried := telemetry.hurried
  }
  counters.io.throttled := telemetry.throttled && !io.pathReset
  counters.io.now := io.nowNs
  counters.io.queued := telemetry.buffer.held
  counters.io.spaced := telemetry.spaced
  counters.io.snapshot := io.settings.snapshot
  counters.io.clear := io.pathReset
  counters.io.bus <> registers.io.counters

  private class Tracing extends Area {
    val ticks = domains.path(new TickLog(c))
    val merge = domains.path(new TraceMerge(c))
    val fifo = packets(new TraceFifo(c))
    ticks.io.traces := io.settings.traces(2)
    for ((tick, engine) <- ticks.io.ticks.zip(telemetry.ticks)) tick << engine
    merge.io.arrival.valid := telemetry.arrivalRecorded
    merge.io.arrival.payload := telemetry.arrivalRecord.payload
    merge.io.arrives := telemetry.arrivalRecord.valid
    merge.io.departure << telemetry.departureRecord
    merge.io.tick << ticks.io.record
    // not what a reset of one cycle has not reached yet
    io.trace.valid := merge.io.record.valid && !io.pathReset
    io.trace.payload := merge.io.record.payload
    fifo.io.push << merge.io.record
    fifo.io.pop := registers.io.tracePop
    fifo.io.clear := io.pathReset
    fifo.io.odd := registers.io.traceOdd
    registers.io.traceLevel := fifo.io.level.resized
    registers.io.traceData := fifo.io.data
    val stirs = fifo.io.push.valid || ticks.io.lost
    val lost = fifo.io.lost || ticks.io.lost
  }
  private val tracing = c.trace generate new Tracing
  if (!c.trace) {
    io.trace.valid := False
    io.trace.payload := 0
  }
  counters.io.traceLost := (if (c.trace) tracing.lost else False)

  idleDetector.io.nowNext := io.now_ns
  idleDetector.io.nowNs := io.nowNs
  idleDetector.io.busy := B(reset.io.busy +: stages.map(_.busy))
  idleDetector.io.accessed := Seq(front.io.busy, registers.io.busy, counters.io.busy).orR
  for ((wake, timer) <- idleDetector.io.wake.zip(stages.flatMap(_.wake))) wake << timer
  io.quiet := idleDetector.io.quiet
  io.wake_ns := idleDetector.io.wakeNs

  frontClock.runs(ClockGate.run("front", lingers = 2)(io.settings.changing))
  io.packetRuns := ClockGate.run("packet", lingers = 12)(Seq(io.settings.changing, counters.io.busy, idleDetector.io.near,
    if (c.trace) tracing.stirs else False) ++ stages.map(_.stirs): _*)
}
