package weir
import spinal.core._
import spinal.lib._
import weir.admission.Admission
import weir.axis.{Axis, AxisBeat}
import weir.buffer.Buffer
import weir.control.Control
import weir.control.registers.{AxiLitePort, RegisterMap}
import weir.control.trace.TraceRecord
import weir.receive.Receive
import weir.transmit.Transmit

/** One core: one ingress stream, one egress stream, `c.queues` queues (docs/architecture.md).
  *
  * {{{
  * s_axis ─▶ Receive ─▶ Admission ─▶ Buffer ─▶ Transmit ─▶ m_axis
  *              Control: registers, counters, trace ── csr
  * }}}
  * First bit in to first bit out of a minimum frame with an empty queue: docs/modules/core.md. At reset an open
  * egress frame is closed with `tuser`, and ingress is discarded up to the next `tlast`.
  */
class WeirCore(c: WeirConfig) extends Component {
  val io = new Bundle {
    val now_ns = in(c.time)
    val link_up = in Bool ()
    val quiet = out Bool ()
    val wake_ns = out(c.time)
    val irq = out Bool ()
    val s_axis = slave(Stream(AxisBeat(c.dataWidth)))
    val m_axis = master(Stream(AxisBeat(c.dataWidth)))
    val csr = slave(AxiLitePort(RegisterMap.addressWidth))
    val trace = master(Flow(Bits(TraceRecord.width bits)))
  }
  noIoPrefix()
  Axis.name(io.s_axis, "s_axis")
  Axis.name(io.m_axis, "m_axis")
  io.trace.valid.setName("trace_valid")
  io.trace.payload.setName("trace_data")
  io.irq := False

  val domains = new Domains

  val receive = domains.path(new Receive(c, domains))
  val admission = domains.path(new Admission(c, domains))
  val buffer = domains.path(new Buffer(c, domains))
  val transmit = domains.path(new Transmit(c, domains))
  val control = new Control(c, domains)

  domains.pathReset := control.io.pathReset
  domains.endReset := control.io.endReset

  // what is set, and the time
  for (settings <- Seq(receive.io.settings, admission.io.settings, buffer.io.settings, transmit.io.settings))
    settings := control.io.settings
  for (now <- Seq(admission.io.nowNs, buffer.io.nowNs, transmit.io.nowNs)) now := control.io.nowNs

  // the packets' way
  receive.io.s_axis << io.s_axis
  receive.io.cells <> buffer.io.cells
  receive.io.arrivals <> admission.io.arrivals
  admission.io.queues <> buffer.io.admission
  buffer.io.heads <> transmit.io.heads
  transmit.io.decisions <> admission.io.departures
  io.m_axis << transmit.io.m_axis

  // what is shown
  val telemetry = control.io.telemetry
  telemetry.ingress := receive.io.event
  telemetry.arrival := admission.io.event
  telemetry.departure := transmit.io.event
  telemetry.buffer := buffer.io.status
  telemetry.averages := admission.io.averages
  telemetry.spaced := admission.io.spaced
  telemetry.throttled := transmit.io.throttled
  telemetry.arrivalRecord := admission.io.record
  telemetry.arrivalRecorded := admission.io.recorded
  telemetry.ticks := admission.io.ticks
  if (c.trace) telemetry.departureRecord := transmit.io.record
  if (c.jumbo) {
    buffer.io.tag << receive.io.tag
    telemetry.jumboOut := transmit.io.sent
    telemetry.hurried := admission.io.hurried
  }

  // what is going on
  control.io.settled := Vec(admission.io.settled, buffer.io.settled, transmit.io.settled)
  control.io.drained := transmit.io.drained
  control.io.receive := receive.io.activity
  control.io.admission := admission.io.activity
  control.io.buffer := buffer.io.activity
  control.io.transmit := transmit.io.activity

  // the host, and whoever simulates
  control.io.now_ns := io.now_ns
  control.io.link_up := io.link_up
  control.io.csr <> io.csr
  io.trace << control.io.trace
  io.quiet := control.io.quiet
  io.wake_ns := control.io.wake_ns
  domains.packet.runs(control.io.packetRuns)
  transmit.io.packetRuns := control.io.packetRuns
}
