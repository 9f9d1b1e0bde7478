package weir.buffer
import spinal.core._
import spinal.lib._
import weir.{Activity, CellAllocation, DequeuePorts, Domains, EnqueuePorts, Settings, WeirConfig}
import weir.common.FlowArbiter
import weir.control.registers.QueueLive
import weir.receive.FlowTagWrite

/** What the buffer holds, as registers and counters show it. */
case class BufferStatus(c: WeirConfig) extends Bundle {
  /** all but the averages */
  val live = Vec(QueueLive(c), c.queues)
  val freeCells = UInt(c.cellWidth bits)
  /** packets in the queues */
  val held = c.count
  /** a group was closed because another flow came to its slot */
  val evicted = c.jumbo generate Bool()
}

/** Third stage: cells, and the queues of packets in them (docs/modules/buffer.md).
  *
  * Packets are chains of cells. A queue is a list of packets, or in a core with jumbo frames of groups of packets,
  * each to be sent as one frame. Only pointers move: a packet in four cycles.
  */
class Buffer(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val settings = in(Settings(c))
    val nowNs = in(c.time)
    val cells = slave(CellAllocation(c))
    val admission = slave(EnqueuePorts(c))
    val tag = c.jumbo generate slave(Flow(FlowTagWrite(c)))
    val heads = master(DequeuePorts(c))
    val status = out(BufferStatus(c))
    /** nothing of this queue is being changed by a decision before */
    val settled = out(Bits(c.queues bits))
    val activity = out(Activity.buffer(c))
  }
  noIoPrefix()

  private val settings = io.settings
  private val admission = io.admission
  private val heads = io.heads
  private def packets[T](unit: => T): T = domains.packet(domains.path)(unit)

  val freeList = new FreeList(c)
  io.cells.cell := freeList.io.cell
  io.cells.available := freeList.io.available
  io.cells.known := freeList.io.known
  freeList.io.take := io.cells.take
  freeList.io.rollback << io.cells.rollback
  // those of arrivals come at once, one in four cycles, those of departures can wait
  freeList.io.free.valid := admission.free.valid || heads.free.valid
  freeList.io.free.payload := Mux(admission.free.valid, admission.free.payload, heads.free.payload)
  heads.free.ready := !admission.free.valid
  freeList.io.lookup << heads.lookup
  heads.next << freeList.io.next

  val cellRam = new CellRam(c)
  cellRam.io.write << io.cells.write
  cellRam.io.read << heads.read
  heads.word << cellRam.io.word

  val queues = packets(new Queues(c))
  private val departure = queues.io.departure
  queues.io.nowNs := io.nowNs
  queues.io.grant << heads.grant
  queues.io.hold := heads.hold
  heads.departure << departure
  heads.leaving << queues.io.leaving
  heads.reading := queues.io.reading
  heads.ready := queues.io.ready
  heads.empty := queues.io.empty
  heads.candidates := queues.io.candidates
  heads.walking := queues.io.walking

  val descriptors = packets(new DescriptorPool(c))
  admission.descriptor << descriptors.io.take
  descriptors.io.give << FlowArbiter(departure.translateWith(departure.id), admission.giveDescriptor)

  val backlog = packets(new Backlog(c))
  backlog.io.reserve := Vec(settings.queues.map(_.reserveCells))
  backlog.io.enter << admission.enter
  backlog.io.enters := admission.enters
  backlog.io.refund << admission.refund
  backlog.io.refunds := admission.refunds
  backlog.io.snapshot := settings.snapshot
  private val counts = departure.descriptor.counts
  backlog.io.leave.valid := departure.valid
  backlog.io.leave.queue := departure.queue
  backlog.io.leave.length := Mux(counts, departure.descriptor.length, U(0, c.lengthWidth bits))
  backlog.io.leave.cells := departure.descriptor.chain.cells.resized
  backlog.io.leaves := queues.io.departs
  heads.fill := backlog.io.fill
  admission.fill := backlog.io.fill
  admission.empty := backlog.io.empty
  admission.emptied := backlog.io.emptied
  admission.sharedUsed := backlog.io.sharedUsed
  admission.freeCells := freeList.io.count
  admission.left.valid := departure.valid && counts
  admission.left.queue := departure.queue
  admission.left.nowNs := departure.grantNs

  val headDrop = packets(new HeadDrop(c))
  headDrop.io.config := settings.queues
  headDrop.io.departure << departure
  headDrop.io.leaving.valid := queues.io.leaving.valid && queues.io.leavesCounts
  headDrop.io.leaving.payload := queues.io.leaving.queue
  heads.over := headDrop.io.over

  private val status = io.status
  status.freeCells := freeList.io.count
  status.held := backlog.io.held
  for ((live, q) <- status.live.zipWithIndex) {
    live.assignSomeByName(backlog.io.fill(q))
    live.peakBytes := backlog.io.peakBytes(q)
    live.peakPackets := backlog.io.peakPackets(q)
    live.average := 0
  }

  /** What a queue is a list of. */
  private abstract class Form extends Area {
    val busy, stirs: Bool
    val wake: Seq[Flow[UInt]]
  }

  /** Of packets. */
  private class Plain extends Form {
    queues.io.link << admission.link
    queues.io.append.valid := admission.link.valid
    queues.io.append.queue := admission.link.queue
    queues.io.append.id := admission.link.id
    queues.io.barred := barred
    backlog.io.leaveFirst := True
    backlog.io.joined.setIdle()
    headDrop.io.link << admission.link
    headDrop.io.linked := B((0 until c.queues).map(q => admission.link.valid && admission.link.queue === q))
    heads.partial := False
    heads.held := 0
    io.settled.setAll()
    val busy, stirs = False
    val wake = Nil
  }

  /** Of groups of packets: merged ones, which may be parked first, and jumbo frames in transit, out of which packets
    * may be dropped.
    */
  private class Groups extends Form {
    private val jumbo = admission.jumbo
    jumbo.descriptors := descriptors.io.count
    backlog.io.leave.packets := counts.asUInt.resized
    backlog.io.leaveFirst := (departure.first && !departure.dead) || departure.dies
    heads.grouped := backlog.io.grouped

    val flowGroups = packets(new FlowGroups(c))
    flowGroups.io.config := Vec(settings.queues.map(_.merge))
    flowGroups.io.l3 := settings.core.jumboL3
    flowGroups.io.tick := settings.core.jumboTick
    // around an apply the queue decides nothing for longer than that cycle; of the match table a packet's epoch tells
    flowGroups.io.applied := RegNext(settings.applied | B(c.queues bits, default -> settings.matchChanged)) init 0
    flowGroups.io.nowNs := io.nowNs
    flowGroups.io.tag << io.tag
    flowGroups.io.look << jumbo.look
    flowGroups.io.linked << admission.link
    flowGroups.io.grant << heads.grant
    queues.io.link << flowGroups.io.link
    backlog.io.joined.valid := flowGroups.io.link.valid && flowGroups.io.link.joins && !flowGroups.io.link.transit
    backlog.io.joined.payload := flowGroups.io.link.queue
    status.evicted := flowGroups.io.evicted

    val parking = packets(new Parking(c))
    parking.io.nowNs := io.nowNs
    parking.io.close << flowGroups.io.close
    parking.io.park << flowGroups.io.park
    parking.io.put << flowGroups.io.put
    parking.io.closeAll := flowGroups.io.closeAll
    parking.io.demand := RegNext(headDrop.io.over & queues.io.empty) init 0
    flowGroups.io.parked := parking.io.parked
    flowGroups.io.closing := parking.io.closing
    // told of the cycle of a link: the one before it came two cycles ago at least, so nothing is closed or put
    flowGroups.io.leaving << parking.io.leaves
    queues.io.append << parking.io.append

    headDrop.io.link << flowGroups.io.passing
    private val linking = admission.link.valid && admission.link.descriptor.counts
    headDrop.io.linked := RegNext(B((0 until c.queues).map(q => linking && admission.link.queue === q))) init 0

    val partialDrop = packets(new PartialDrop(c))
    partialDrop.io.config << settings.config
    partialDrop.io.selection << jumbo.selection
    partialDrop.io.append << flowGroups.io.whole
    partialDrop.io.departs.valid := departure.valid && departure.first && departure.descriptor.header
    partialDrop.io.departs.queue := departure.queue
    partialDrop.io.departs.id := departure.id
    partialDrop.io.slot := heads.slot
    partialDrop.io.found << queues.io.groups.found
    partialDrop.io.heads := queues.io.groups.heads
    partialDrop.io.loaded << queues.io.groups.loaded
    queues.io.groups.step << partialDrop.io.step
    queues.io.groups.update << partialDrop.io.update
    queues.io.barred := barred | partialDrop.io.holds
    jumbo.able := partialDrop.io.able
    jumbo.room := partialDrop.io.room
    heads.partial := partialDrop.io.wants
    heads.held := partialDrop.io.held
    io.settled := partialDrop.io.settled

    val busy = Seq(flowGroups.io.busy, parking.io.busy, partialDrop.io.busy).orR
    // that a deadline is near is known only when its turn has come
    val stirs = busy || parking.io.deadlines.map(_.valid).orR
    val wake = parking.io.deadlines.toSeq
  }

  /** A departure must not be decided with half a configuration. One that is granted in an apply's first cycle is on its
    * way then: DepartureDecision does not let the copy begin.
    */
  private def barred: Bits = if (c.policies.exists(_.atDeparture)) settings.apply else B(0, c.queues bits)

  private val form: Form = if (c.jumbo) new Groups else new Plain

  io.activity.busy := !freeList.io.swept || form.busy
  io.activity.stirs := form.stirs
  for ((wake, timer) <- io.activity.wake.zip(form.wake)) wake << timer
}
