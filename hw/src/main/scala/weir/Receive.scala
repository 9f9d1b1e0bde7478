package weir

import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat
import weir.buffer.Store
import weir.csr.IngressEvent
import weir.frame.Ingress
import weir.jumbo.Unpack
import weir.merge.{FlowTable, FlowTagWrite}

/** First stage: frames from the line become packets in cells, each with what its header says
  * (docs/modules/receive.md).
  *
  * Each packet is told of when its last word is written. Frames that cannot be kept are dropped whole and counted by
  * cause. In a core with jumbo frames [[Unpack]] takes them apart, and [[FlowTable]] tells of each packet's flow.
  */
class Receive(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val settings = in(Settings(c))
    val s_axis = slave(Stream(AxisBeat(c.dataWidth)))
    val cells = master(CellTaking(c))
    val arrivals = master(Arrivals(c))
    val tag = c.jumbo generate master(Flow(FlowTagWrite(c)))
    val event = master(Flow(IngressEvent(c)))
    val activity = out(Activity.receive(c))
  }
  noIoPrefix()

  private val settings = io.settings
  private val config = settings.core

  private val ingressClock = new Gate("ingress")
  val ingress = ingressClock(domains.ends)(new Ingress(c))
  ingress.io.s_axis << io.s_axis
  ingress.io.discard := False
  ingress.io.config.assignSomeByName(config)

  val store = new Store(c)
  store.io.cell := io.cells.cell
  store.io.available := io.cells.available
  store.io.known := io.cells.known
  store.io.room := io.arrivals.room
  io.cells.take := store.io.take
  io.cells.rollback << store.io.rollback
  io.cells.write << store.io.write
  io.arrivals.arrival << store.io.arrival
  io.event << store.io.event

  /** What is between the line and the cells. */
  private abstract class Form extends Area {
    val busy: Bool
    val stirs: Seq[Bool]
  }

  /** A frame is a packet. */
  private class Plain extends Form {
    store.io.packet << ingress.io.word.toStream
    store.io.end.valid := ingress.io.end.valid
    store.io.end.payload.assignSomeByName(ingress.io.end.payload)
    store.io.end.inner := False
    store.io.end.header := False
    store.io.jumbo.setIdle()
    val busy = False
    val stirs = Nil
  }

  /** A jumbo frame may be many. */
  private class Jumbo extends Form {
    private val clock = new Gate("unpack")
    val unpack = clock(domains.path)(new Unpack(c))
    unpack.io.config.split := config.split
    unpack.io.config.transit := config.transit
    unpack.io.config.etherType := config.jumboEtherType
    unpack.io.config.protocol := config.jumboProtocol
    unpack.io.config.defaultQueue := config.defaultQueue
    unpack.io.config.dscpQueue := config.dscpQueue
    unpack.io.word << ingress.io.word
    unpack.io.end << ingress.io.end
    unpack.io.abort := store.io.abort
    store.io.packet << unpack.io.packet
    store.io.end << unpack.io.packetEnd
    store.io.jumbo << unpack.io.jumbo

    private val told = io.arrivals.jumbo
    told.inner := store.io.inner
    told.commit := store.io.commit
    told.discard := store.io.discard
    told.waitNs := store.io.waitNs
    told.whole := store.io.whole

    private val meta = store.io.arrival.meta
    val flowTable = clock(domains.path)(new FlowTable(c))
    flowTable.io.word.valid := store.io.packet.fire
    flowTable.io.word.payload := store.io.packet.payload
    flowTable.io.end := store.io.end.valid
    flowTable.io.arrival.valid := store.io.arrival.valid
    flowTable.io.arrival.index := store.io.arrival.flow
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

    val busy = unpack.io.busy || flowTable.io.busy
    val stirs = Seq(store.io.commit, store.io.discard, flowTable.io.tag.valid)
    clock.runs(Gate.run("unpack", lingers = 4)(settings.changing,
      ingress.io.word.valid, ingress.io.end.valid, busy, store.io.abort, store.io.arrival.valid))
  }

  private val form: Form = if (c.jumbo) new Jumbo else new Plain

  io.activity.busy := (Seq(io.s_axis.valid, ingress.io.busy, store.io.busy) :+ form.busy).orR
  io.activity.stirs := (Seq(ingress.io.end.valid, store.io.end.valid, store.io.arrival.valid, store.io.event.valid) ++
    form.stirs).orR
  // the model adds what comes at the port in the same cycle
  ingressClock.runs(Gate.run("ingress", lingers = 2)(settings.changing, ingress.io.busy))
}
