package weir.receive
import spinal.core._
import spinal.lib._
import weir.{Activity, Arrivals, CellAllocation, Domains, Settings, WeirConfig}
import weir.axis.AxisBeat
import weir.common.ClockGate
import weir.control.counters.IngressEvent

/** First stage: frames from the line become packets in cells, each with what its header says
  * (docs/modules/receive.md).
  *
  * Each packet is told of when its last word is written. Frames that cannot be kept are dropped whole and counted by
  * cause. In a core with jumbo frames [[JumboUnpack]] takes them apart, and [[FlowTable]] tells of each packet's flow.
  */
class Receive(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val settings = in(Settings(c))
    val s_axis = slave(Stream(AxisBeat(c.dataWidth)))
    val cells = master(CellAllocation(c))
    val arrivals = master(Arrivals(c))
    val tag = c.jumbo generate master(Flow(FlowTagWrite(c)))
    val event = master(Flow(IngressEvent(c)))
    val activity = out(Activity.receive(c))
  }
  noIoPrefix()

  private val settings = io.settings
  private val config = settings.core

  private val ingressClock = new ClockGate("ingress")
  val ingress = ingressClock(domains.ends)(new Ingress(c))
  ingress.io.s_axis << io.s_axis
  ingress.io.discard := False
  ingress.io.config.assignSomeByName(config)

  val cellWriter = new CellWriter(c)
  cellWriter.io.cell := io.cells.cell
  cellWriter.io.available := io.cells.available
  cellWriter.io.known := io.cells.known
  cellWriter.io.room := io.arrivals.room
  io.cells.take := cellWriter.io.take
  io.cells.rollback << cellWriter.io.rollback
  io.cells.write << cellWriter.io.write
  io.arrivals.arrival << cellWriter.io.arrival
  io.event << cellWriter.io.event

  /** What is between the line and the cells. */
  private abstract class Form extends Area {
    val busy: Bool
    val stirs: Seq[Bool]
  }

  /** A frame is a packet. */
  private class Plain extends Form {
    cellWriter.io.packet << ingress.io.word.toStream
    cellWriter.io.end.valid := ingress.io.end.valid
    cellWriter.io.end.payload.assignSomeByName(ingress.io.end.payload)
    cellWriter.io.end.inner := False
    cellWriter.io.end.header := False
    cellWriter.io.jumbo.setIdle()
    val busy = False
    val stirs = Nil
  }

  /** A jumbo frame may be many. */
  private class Jumbo extends Form {
    private val clock = new ClockGate("unpack")
    val jumboUnpack = clock(domains.path)(new JumboUnpack(c))
    jumboUnpack.io.config.split := config.split
    jumboUnpack.io.config.transit := config.transit
    jumboUnpack.io.config.etherType := config.jumboEtherType
    jumboUnpack.io.config.protocol := config.jumboProtocol
    jumboUnpack.io.config.defaultQueue := config.defaultQueue
    jumboUnpack.io.config.dscpQueue := config.dscpQueue
    jumboUnpack.io.word << ingress.io.word
    jumboUnpack.io.end << ingress.io.end
    jumboUnpack.io.abort := cellWriter.io.abort
    cellWriter.io.packet << jumboUnpack.io.packet
    cellWriter.io.end << jumboUnpack.io.packetEnd
    cellWriter.io.jumbo << jumboUnpack.io.jumbo

    private val told = io.arrivals.jumbo
    told.inner := cellWriter.io.inner
    told.commit := cellWriter.io.commit
    told.discard := cellWriter.io.discard
    told.waitNs := cellWriter.io.waitNs
    told.whole := cellWriter.io.whole

    private val meta = cellWriter.io.arrival.meta
    val flowTable = clock(domains.path)(new FlowTable(c))
    flowTable.io.word.valid := cellWriter.io.packet.fire
    flowTable.io.word.payload := cellWriter.io.packet.payload
    flowTable.io.end := cellWriter.io.end.valid
    flowTable.io.arrival.valid := cellWriter.io.arrival.valid
    flowTable.io.arrival.index := cellWriter.io.arrival.flow
    flowTable.io.arrival.length := meta.length
    flowTable.io.arrival.ipVersion := meta.ipVersion
    flowTable.io.arrival.tags := meta.ipOffset
    flowTable.io.arrival.exempt := meta.exempt
    flowTable.io.arrival.queue := meta.queue
    flowTable.io.arrival.classed := Vec(settings.queues.map(_.merge.classes))(meta.queue.resized)
    flowTable.io.protocol := config.jumboProtocol
    flowTable.io.matching := settings.matching
    flowTable.io.matchChanged := settings.matchChanged
    told.lane << flowTable.io.lane
    io.tag << flowTable.io.tag

    val busy = jumboUnpack.io.busy || flowTable.io.busy
    val stirs = Seq(cellWriter.io.commit, cellWriter.io.discard, flowTable.io.tag.valid)
    clock.runs(ClockGate.run("unpack", lingers = 4)(settings.changing,
      ingress.io.word.valid, ingress.io.end.valid, busy, cellWriter.io.abort, cellWriter.io.arrival.valid))
  }

  private val form: Form = if (c.jumbo) new Jumbo else new Plain

  io.activity.busy := (Seq(io.s_axis.valid, ingress.io.busy, cellWriter.io.busy) :+ form.busy).orR
  io.activity.stirs := (Seq(ingress.io.end.valid, cellWriter.io.end.valid, cellWriter.io.arrival.valid,
    cellWriter.io.event.valid) ++ form.stirs).orR
  // the model adds what comes at the port in the same cycle
  ingressClock.runs(ClockGate.run("ingress", lingers = 2)(settings.changing, ingress.io.busy))
}
