package weir

import spinal.core._
import spinal.lib._
import weir.aqm._
import weir.axis.{Axis, AxisBeat}
import weir.buffer._
import weir.csr._
import weir.egress._
import weir.frame._
import weir.jumbo.{Pack, Spacing, Unpack}
import weir.merge.{FlowGroups, FlowTable, Parking}

/** One core: one ingress stream, one egress stream, `c.queues` queues (docs/architecture.md).
  *
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

  /** clocks of the line's and the host's front ends, of what happens with packets, of what is in front of the buffer, of what is behind it */
  val ingressGate = new Gate("ingress", c.gated, lingers = 2)
  val frontGate = new Gate("front", c.gated, lingers = 2)
  val packetGate = new Gate("packet", c.gated, lingers = 12)
  val unpackGate = new Gate("unpack", c.gated && c.jumbo, lingers = 4)
  val egressGate = new Gate("egress", c.gated, lingers = 8)

  val nowNs = RegNext(io.now_ns) init 0
  val linkUp = RegNext(io.link_up) init False

  val control = new Area {
    val front = frontGate(ClockDomain.current)(new AxiLiteFront)
    val registers = packetGate(ClockDomain.current)(new RegisterFile(c))
    val reset = new ResetControl
    front.io.csr <> io.csr
    front.io.bus <> registers.io.bus
    reset.io.request := registers.io.softReset
  }
  val config = control.registers.io.coreConfig
  val queueConfig = control.registers.io.queueConfig

  /** All that a reset by register resets, from a register, for some ten thousand flip-flops have it: a cycle later than the reset of the rest.
    * The ends have it at once: Ingress, whose frames reach nothing else in less than two cycles, and FrameCloser.
    */
  val pathReset = RegNext(control.reset.io.reset) init True
  private def resetBy(active: Bool) = ClockDomain.current.copy(reset = active, config = ClockDomain.current.config.copy(resetActiveLevel = HIGH))
  val domain = resetBy(pathReset)
  private val endReset = ClockDomain.current.isResetActive || control.reset.io.reset
  private val endDomain = resetBy(endReset)

  val path = new ClockingArea(domain) {
    val ingress = ingressGate(endDomain)(new Ingress(c))
    val unpack = if (c.jumbo) Some(unpackGate(domain)(new Unpack(c))) else None
    val store = new Store(c)
    val batch = if (c.jumbo) Some(packetGate(domain)(new Batch(c))) else None
    val spacing = if (c.jumbo) Some(packetGate(domain)(new Spacing(c))) else None
    val freeList = new FreeList(c)
    val cells = new CellStore(c)
    val descriptors = packetGate(domain)(new DescriptorPool(c))
    val lfsr = packetGate(domain)(new Lfsr(c))
    val admit = packetGate(domain)(new Admit(c))
    val backlog = packetGate(domain)(new Backlog(c))
    val queues = packetGate(domain)(new Queues(c))
    val schedule = packetGate(domain)(new Schedule(c))
    val shape = new Shape(c)
    val egress = egressGate(domain)(new Egress(c))
    val rewrite = if (c.jumbo) None else Some(egressGate(domain)(new Rewrite(c)))
    val pack = if (c.jumbo) Some(egressGate(domain)(new Pack(c))) else None
    val flowTable = if (c.jumbo) Some(unpackGate(domain)(new FlowTable(c))) else None
    val flowGroups = if (c.jumbo) Some(packetGate(domain)(new FlowGroups(c))) else None
    val parking = if (c.jumbo) Some(packetGate(domain)(new Parking(c))) else None
    val closer = endDomain(new FrameCloser(c))
    val release = packetGate(domain)(new Release(c))
    val trim = packetGate(domain)(new Trim(c))
    /** the policies' units, in the order of `c.engines` */
    val units: Seq[PolicyUnit] = c.engines.map(e => packetGate(domain)(Resting.unit(c, e).setName(e.name)))
    val partial = if (c.jumbo) Some(packetGate(domain)(new Partial(c))) else None
    val traceMerge = if (c.trace) Some(new TraceMerge(c)) else None
  }
  import path._

  private val steady = ClockDomain.current
  val counters = packetGate(steady)(new Counters(c, steady))
  val traceFifo = if (c.trace) Some(packetGate(steady)(new TraceFifo(c))) else None

  val receiving = new ClockingArea(domain) {
    ingress.io.s_axis << io.s_axis
    ingress.io.discard := False
    ingress.io.config.maxFrame := config.maxFrame
    ingress.io.config.defaultQueue := config.defaultQueue
    ingress.io.config.dscpQueue := config.dscpQueue
    unpack match {
      case Some(unit) =>
        unit.io.config.split := config.split
        unit.io.config.transit := config.transit
        unit.io.config.etherType := config.jumboEtherType
        unit.io.config.protocol := config.jumboProtocol
        unit.io.config.defaultQueue := config.defaultQueue
        unit.io.config.dscpQueue := config.dscpQueue
        unit.io.word << ingress.io.word
        unit.io.end << ingress.io.end
        unit.io.abort := store.io.abort
        store.io.packet << unit.io.packet
        store.io.end << unit.io.packetEnd
        store.io.jumbo << unit.io.jumbo
      case None =>
        store.io.packet << ingress.io.word.toStream
        store.io.end.valid := ingress.io.end.valid
        store.io.end.payload.assignSomeByName(ingress.io.end.payload)
        store.io.end.inner := False
        store.io.end.header := False
        store.io.jumbo.setIdle()
    }
    store.io.cell := freeList.io.cell
    store.io.available := freeList.io.available
    store.io.known := freeList.io.known
    store.io.room := batch.map(_.io.room).getOrElse(admit.io.room)
    freeList.io.take := store.io.take
    freeList.io.rollback << store.io.rollback
    // those of arrivals come at once, one in four cycles, those of departures can wait
    freeList.io.free.valid := admit.io.free.valid || egress.io.free.valid
    freeList.io.free.payload := Mux(admit.io.free.valid, admit.io.free.payload, egress.io.free.payload)
    egress.io.free.ready := !admit.io.free.valid
    cells.io.write << store.io.write
  }

  val admission = new ClockingArea(domain) {
    admit.io.config := queueConfig
    admit.io.sharedCells := config.sharedCells
    admit.io.nowNs := nowNs
    batch match {
      case Some(unit) =>
        unit.io.push << store.io.arrival
        unit.io.pushInner := store.io.inner
        unit.io.commit := store.io.commit
        unit.io.whole := store.io.whole
        unit.io.rollback := store.io.discard
        unit.io.pushWaitNs := store.io.waitNs
      case None => admit.io.arrival << store.io.arrival
    }
    for (unit <- spacing; waiting <- batch) {
      unit.io.nowNs := nowNs
      unit.io.enable := RegNext(config.spacing) init False
      unit.io.limitNs := config.spacingLimitNs
      unit.io.scarce := RegNext(freeList.io.count < c.cells / 8) init False
      unit.io.together := waiting.io.together
      unit.io.push.valid := waiting.io.offers
      unit.io.push.arrival := waiting.io.pop.payload
      unit.io.push.inner := waiting.io.popInner
      unit.io.push.first := waiting.io.popFirst
      unit.io.push.waitNs := waiting.io.popWaitNs
      waiting.io.ready := unit.io.push.ready
      unit.io.popReady := RegNext(admit.io.roomNext) init True
      admit.io.arrival << unit.io.pop
    }
    for (unit <- spacing; table <- flowTable) unit.io.lane << table.io.lane
    admit.io.hold := control.registers.io.apply
    control.registers.io.applyReady := admit.io.settled & release.io.settled & partial.map(_.io.settled).getOrElse(B(c.queues bits, default -> True))
    admit.io.fill := backlog.io.fill
    admit.io.empty := backlog.io.empty
    admit.io.sharedUsed := backlog.io.sharedUsed
    if (c.trace) {
      val arrivals = config.traceEnable && config.traceKinds(0)
      admit.io.traces := RegNext(config.traceQueues & B(c.queues bits, default -> arrivals)) init 0
    } else admit.io.traces := 0
    admit.io.descriptor << descriptors.io.take
    if (c.jumbo) admit.io.descriptors := descriptors.io.count
    descriptors.io.give << FlowMerge(retired, admit.io.giveDescriptor)
    lfsr.io.next := admit.io.nextDraw
    lfsr.io.fixed := config.lfsrFixed
    lfsr.io.fixedDraw := config.lfsrFixedDraw
    lfsr.io.seed << control.registers.io.seed
    admit.io.draw := lfsr.io.draw
    backlog.io.reserve := Vec(queueConfig.map(_.reserveCells))
    backlog.io.enter << admit.io.enter
    backlog.io.enters := admit.io.enters
    backlog.io.refund << admit.io.refund
    backlog.io.refunds := admit.io.refunds
    backlog.io.snapshot := control.registers.io.snapshot
    flowGroups match {
      case Some(unit) =>
        unit.io.config := Vec(queueConfig.map(_.merge))
        unit.io.l3 := config.jumboL3
        unit.io.tick := config.jumboTick
        // around an apply the queue decides nothing for longer than that cycle; of the match table a packet's epoch tells
        unit.io.applied := RegNext(control.registers.io.applied | B(c.queues bits, default -> control.registers.io.matchChanged)) init 0
        unit.io.look << admit.io.look
        unit.io.linked << admit.io.link
        unit.io.grant << schedule.io.grant
        queues.io.link << unit.io.link
        backlog.io.joined.valid := unit.io.link.valid && unit.io.link.joins && !unit.io.link.transit
        backlog.io.joined.payload := unit.io.link.queue
      case None =>
        queues.io.link << admit.io.link
        queues.io.append.valid := admit.io.link.valid
        queues.io.append.queue := admit.io.link.queue
        queues.io.append.id := admit.io.link.id
    }
    for (unit <- parking; groups <- flowGroups) {
      groups.io.nowNs := nowNs
      groups.io.parked := unit.io.parked
      groups.io.closing := unit.io.closing
      // told of the cycle of a link: the one before it came two cycles ago at least, so nothing is closed or put
      groups.io.leaving << unit.io.leaves
      unit.io.nowNs := nowNs
      unit.io.close << groups.io.close
      unit.io.park << groups.io.park
      unit.io.closeAll := groups.io.closeAll
      unit.io.demand := RegNext(trim.io.over & queues.io.empty) init 0
      unit.io.put << groups.io.put
      queues.io.append << unit.io.append
    }
    for (table <- flowTable; groups <- flowGroups) {
      table.io.word.valid := store.io.packet.fire
      table.io.word.payload := store.io.packet.payload
      table.io.end := store.io.end.valid
      table.io.arrival.valid := store.io.arrival.valid
      table.io.arrival.index := store.io.arrival.flow
      table.io.arrival.length := store.io.arrival.meta.length
      table.io.arrival.ipVersion := store.io.arrival.meta.ipVersion
      table.io.arrival.tags := store.io.arrival.meta.ipOffset
      table.io.arrival.exempt := store.io.arrival.meta.exempt
      table.io.arrival.queue := store.io.arrival.meta.queue
      table.io.arrival.classed := Vec(queueConfig.map(_.merge.classes))(store.io.arrival.meta.queue.resized)
      table.io.protocol := config.jumboProtocol
      table.io.matching := control.registers.io.matching
      table.io.matchChanged := control.registers.io.matchChanged
      groups.io.tag << table.io.tag
    }

    def retired: Flow[UInt] = {
      val flow = Flow(c.descriptorId)
      flow.valid := queues.io.departure.valid
      flow.payload := queues.io.departure.id
      flow
    }
  }

  /** Which engine serves a queue, which queues decide at departure. */
  val roles = new ClockingArea(domain) {
    private def runs(q: Int, policies: Iterable[Policy]): Bool =
      policies.toSeq.sortBy(_.id).map(queueConfig(q).policy === _.id).foldLeft(False: Bool)(_ || _)
    /** the words of a queue may have changed */
    private val renewed = RegNext(control.registers.io.config.valid) init True
    val engine = Vec(for (q <- 0 until c.queues) yield
      RegNextWhen(Cat(c.engines.map(e => runs(q, c.policies.filter(_.engine.contains(e))))), renewed))
    /** it runs a policy of the RED family */
    val family = Vec(for (q <- 0 until c.queues) yield
      RegNextWhen(runs(q, c.policies.filter(_.engine.contains(RedFamily))), renewed))
    val decides = RegNextWhen(B((0 until c.queues).map(q => runs(q, c.policies.filter(_.atDeparture)))), renewed)
  }

  val policies = new ClockingArea(domain) {
    private val registers = control.registers.io
    private val departure = queues.io.departure
    val left = Flow(QueueLeft(c))
    left.valid := departure.valid && departure.descriptor.counts
    left.queue := departure.queue
    left.nowNs := departure.grantNs
    for ((unit, n) <- units.zipWithIndex) {
      unit.io.nowNs := nowNs
      unit.io.config << registers.config
      unit.io.copying := registers.copying
      unit.io.applied := registers.applied
      unit.io.clear := registers.clear
      unit.io.selected := B((0 until c.queues).map(roles.engine(_)(n)))
      unit.io.unit := Vec(queueConfig.map(_.unit))
      unit.io.left << left
      unit.io.emptied := backlog.io.emptied
      unit.io.request.valid := admit.io.requestEngine(n)
      unit.io.request.payload := admit.io.request.payload
      unit.io.commit.valid := admit.io.commitEngine(n)
      unit.io.commit.payload := admit.io.commit.payload
      unit.io.commit.acts.allowOverride() := admit.io.commitActs(n)
      admit.io.verdicts(n) << unit.io.verdict
      unit.io.departure << release.io.asked(n)
      release.io.verdicts(n) << unit.io.departureVerdict
    }
    release.io.fill := backlog.io.fill
    release.io.engine := roles.engine
    release.io.decides := roles.decides
    release.io.grant << schedule.io.grant
    release.io.departure << queues.io.departure
    release.io.leaving << queues.io.leaving
    release.io.reading := queues.io.reading
    release.io.walking := queues.io.walking
    queues.io.hold := release.io.holding
    for (unit <- partial) {
      unit.io.config << control.registers.io.config
      unit.io.selection << admit.io.selection
      admit.io.mred := B((0 until c.queues).map(q => queueConfig(q).mred && roles.family(q)))
      admit.io.able := unit.io.able
      admit.io.partialRoom := unit.io.room
      for (groups <- flowGroups) unit.io.append << groups.io.whole
      val left = queues.io.departure
      unit.io.departs.valid := left.valid && left.first && left.descriptor.header
      unit.io.departs.queue := left.queue
      unit.io.departs.id := left.id
      schedule.io.partial := unit.io.wants
      unit.io.slot := schedule.io.slot
      queues.io.step << unit.io.step
      unit.io.found << queues.io.found
      queues.io.update << unit.io.update
      unit.io.heads := queues.io.heads
      unit.io.loaded << queues.io.loaded
    }
    if (partial.isEmpty) schedule.io.partial := False
    trim.io.config := queueConfig
    trim.io.link << flowGroups.map(_.io.passing).getOrElse(admit.io.link)
    if (c.jumbo) {
      trim.io.linking.valid := admit.io.link.valid && admit.io.link.descriptor.counts
      trim.io.linking.payload := admit.io.link.queue
    }
    trim.io.departure << queues.io.departure
    trim.io.leaving.valid := queues.io.leaving.valid && queues.io.leavesCounts
    trim.io.leaving.payload := queues.io.leaving.queue
  }

  val sending = new ClockingArea(domain) {
    schedule.io.strict := B(queueConfig.map(_.strict))
    schedule.io.quantum := Vec(queueConfig.map(_.quantum))
    schedule.io.ready := queues.io.ready
    schedule.io.empty := queues.io.empty
    schedule.io.linkUp := linkUp
    schedule.io.hold := control.reset.io.busy
    schedule.io.allowed := shape.io.allowed
    schedule.io.room := egress.io.room
    schedule.io.covered := egress.io.covered
    schedule.io.departure << release.io.released
    schedule.io.over := trim.io.over
    schedule.io.decides := roles.decides
    // a departure must not be decided with half a configuration
    // one that is granted in an apply's first cycle is on its way then: Release does not let the copy begin
    private val applies = if (c.policies.exists(_.atDeparture)) control.registers.io.apply else B(0, c.queues bits)
    schedule.io.held := (RegNext(applies) init 0) | partial.map(_.io.held).getOrElse(B(0, c.queues bits))
    queues.io.barred := applies | partial.map(_.io.holds).getOrElse(B(0, c.queues bits))
    schedule.io.candidates := queues.io.candidates
    schedule.io.walking := queues.io.walking
    queues.io.grant << schedule.io.grant
    queues.io.nowNs := nowNs

    shape.io.now := nowNs
    shape.io.cost := config.shaperCost
    shape.io.burst := config.shaperBurst
    shape.io.overhead := config.shaperOverhead
    shape.io.mpu := config.shaperMpu
    val cost = RegNext(config.shaperCost)
    val burst = RegNext(config.shaperBurst)
    val changed = RegNext(cost =/= config.shaperCost || burst =/= config.shaperBurst) init False
    shape.io.applied := changed
    shape.io.charge.valid := release.io.alone
    shape.io.charge.payload := release.io.released.descriptor.length
    if (c.jumbo) {
      schedule.io.sent << egress.io.sent
      when(egress.io.sent.valid) {
        shape.io.charge.valid := True
        shape.io.charge.payload := egress.io.sent.payload
      }
    } else schedule.io.sent.setIdle()

    egress.io.grant << schedule.io.grant
    egress.io.departure << release.io.released
    egress.io.kept := release.io.kept
    if (c.jumbo) egress.io.alone := release.io.alone
    cells.io.read << egress.io.read
    egress.io.word << cells.io.word
    freeList.io.lookup << egress.io.lookup
    egress.io.next << freeList.io.next
    /** what is being reset shows nothing; `ready` is no business of the reset */
    def unresetting[T <: Data](beat: Stream[T]): Stream[T] = {
      val shown = cloneOf(beat)
      shown.valid := beat.valid && !pathReset
      shown.payload := beat.payload
      beat.ready := shown.ready
      shown
    }
    for (unit <- rewrite) {
      unit.io.input << egress.io.beat
      closer.io.s_axis << unresetting(unit.io.m_axis)
    }
    for (unit <- pack) {
      unit.io.group << egress.io.group
      unit.io.entry << egress.io.entry.toStream
      unit.io.word << egress.io.packWord
      unit.io.config.etherType := config.jumboEtherType
      unit.io.config.protocol := config.jumboProtocol
      egress.io.left := unit.io.left
      egress.io.leaves := unit.io.leaves
      egress.io.grouped := backlog.io.grouped
      egress.io.entriesFit := unit.io.room
      egress.io.tick := config.jumboTick
      closer.io.s_axis << unresetting(unit.io.beat)
    }
    io.m_axis << closer.io.m_axis
    /** a frame is being turned into beats */
    val leaving = rewrite.map(_.io.busy).getOrElse(False) || pack.map(_.io.busy).getOrElse(False)

    control.reset.io.drained := !(egress.io.busy || leaving || closer.io.busy)
  }

  private def traced(queue: UInt) = config.traceEnable && config.traceQueues(queue.resized)

  /** What a departure leaves behind: an event, a trace record, a smaller queue. */
  val departing = new ClockingArea(domain) {
    private val packet = queues.io.departure
    backlog.io.leave.valid := packet.valid
    backlog.io.leave.queue := packet.queue
    backlog.io.leaves := queues.io.departs
    private val counts = packet.descriptor.counts
    backlog.io.leave.length := Mux(counts, packet.descriptor.length, U(0, c.lengthWidth bits))
    backlog.io.leave.cells := packet.descriptor.chain.cells.resized
    if (c.jumbo) {
      backlog.io.leave.packets := counts.asUInt.resized
      backlog.io.leaveFirst := (packet.first && !packet.dead) || packet.dies
    }
    /** q when it no longer holds the packet */
    val fill = c.trace generate {
      val queue = RegNext(RegNext(packet.queue))
      val shown = Delay(packet.valid, 2, init = False)
      RegNextWhen(backlog.io.fill(queue.resized), shown)
    }

    val departure = release.io.released
    val event = Reg(Flow(DepartureEvent(c)))
    event.valid init False
    event.valid := departure.valid && departure.descriptor.counts
    when(departure.valid) {
      event.queue := departure.queue
      event.length := departure.descriptor.length
      event.sojournNs := departure.grantNs - departure.descriptor.stampNs
      event.discard := departure.discard
      event.cause := departure.cause
      if (c.jumbo) event.merged := !(departure.first && departure.last)
      val selected = roles.decides(departure.queue.resized) &&
        (departure.cause === Cause.early || departure.cause === Cause.forced)
      event.marked := selected && departure.descriptor.mark
      event.alreadyCe := selected && departure.descriptor.ecn === Ecn.ce
      if (c.jumbo) when(departure.descriptor.mark && departure.cause === Cause.partial)(event.marked := True)
    }

    /** Departures are four cycles apart: these hold until the record has been made. */
    val last = c.trace generate RegNextWhen(departure.payload, departure.valid)
    val record = c.trace generate new Area {
      val valid = RegNext(RegNext(event.valid, init = False) && config.traceKinds(1) && traced(event.queue), init = False)
      val entry = DepartureRecord(c)
      entry.time := last.grantNs
      entry.sojournNs := event.sojournNs
      entry.queue := event.queue
      entry.discard := last.discard
      entry.cause := last.cause
      entry.packet(last.descriptor)
      entry.fill(fill)
    }
  }

  /** What a policy's tick leaves behind: a trace record. */
  val ticking = c.trace generate new ClockingArea(domain) {
    /** The last tick of an engine, until its record is on its way. */
    class Kept(source: Flow[PolicyTick]) extends Area {
      val waiting = RegInit(False)
      val tick = RegNextWhen(source.payload, source.valid)
      /** its record is asked for: told of each by itself, for whose turn it is comes late */
      val wanted = config.traceKinds(2) && traced(tick.queue)
      val goes = Bool()
      val lost = source.valid && waiting && !goes
      when(goes)(waiting := False)
      when(source.valid)(waiting := True)
    }
    /** Of the RED family a cycle later, for which it stands: an apply may make a tick void to the last, and tells so late. */
    private def later(tick: Flow[PolicyTick]): Flow[PolicyTick] = {
      val told = cloneOf(tick)
      told.valid := RegNext(tick.valid) init False
      told.payload := tick.payload
      told
    }
    val kept = units.zip(c.engines).map { case (u, engine) => new Kept(if (engine == RedFamily) later(u.io.tick) else u.io.tick) }
    val lost = kept.map(_.lost).foldLeft(False: Bool)(_ || _)
    /** whose turn it is */
    val first = kept.indices.map(n => kept.take(n).foldLeft(kept(n).waiting)(_ && !_.waiting))
    val tick = if (kept.isEmpty) PolicyTick(c).assignDontCare() else kept.init.foldRight(kept.last.tick)((k, later) => k.waiting ? k.tick | later)
    private val told = TraceRecord.build(TraceKind.Tick, "time_ns" -> tick.nowNs, "queue" -> tick.queue, "policy" -> tick.policy)
    val words = Vec(told.indices.map(n => if (TraceRecord.state.contains(n)) tick.words(n - TraceRecord.state.start) else told(n)))
    val record = Stream(Bits(TraceRecord.width bits))
    record.valid := first.zip(kept).map { case (turn, k) => turn && k.wanted }.foldLeft(False: Bool)(_ || _)
    record.payload := words.asBits
    for ((turn, k) <- first.zip(kept)) k.goes := turn && (record.ready || !k.wanted)
  }

  val observing = new Area {
    for (merge <- traceMerge; fifo <- traceFifo) {
      merge.io.arrival.valid := admit.io.traced
      merge.io.arrival.payload := admit.io.trace.payload
      merge.io.arrives := admit.io.trace.valid
      merge.io.departure.valid := departing.record.valid
      merge.io.departure.payload := departing.record.entry
      merge.io.tick << ticking.record
      // not what a reset of one cycle has not reached yet
      io.trace.valid := merge.io.record.valid && !pathReset
      io.trace.payload := merge.io.record.payload
      fifo.io.push << merge.io.record
      fifo.io.pop := control.registers.io.tracePop
      fifo.io.clear := pathReset
    }
    if (!c.trace) {
      io.trace.valid := False
      io.trace.payload := 0
    }

    counters.io.arrival << admit.io.event
    counters.io.departure << departing.event
    counters.io.ingress << store.io.event
    for (groups <- flowGroups) {
      counters.io.jumboOut << egress.io.sent
      counters.io.evicted := groups.io.evicted
      counters.io.hurried := spacing.get.io.early
    }
    counters.io.traceLost := traceFifo.map(_.io.lost || ticking.lost).getOrElse(False)
    counters.io.throttled := schedule.io.throttled && shape.io.settled && !pathReset
    counters.io.now := nowNs
    private val spaced = spacing.map(s => RegNext(s.io.held) init 0).getOrElse(U(0, 1 bits)).resize(c.countWidth)
    counters.io.queued := backlog.io.held
    counters.io.spaced := spaced
    control.registers.io.heldPackets := backlog.io.held + spaced
    counters.io.snapshot := control.registers.io.snapshot
    counters.io.clear := pathReset
    counters.io.bus <> control.registers.io.counters
  }

  val status = new Area {
    private val registers = control.registers.io
    for (fifo <- traceFifo) {
      registers.traceLevel := fifo.io.level.resized
      fifo.io.odd := registers.traceOdd
      registers.traceData := fifo.io.data
    }
    registers.statusLinkUp := linkUp
    registers.resetting := control.reset.io.busy
    registers.snapshotBusy := counters.io.snapshotBusy
    registers.now := nowNs
    registers.freeCells := freeList.io.count.resized
    val lowest = Reg(UInt(c.cellWidth bits)) init (c.cells - 1)
    when(freeList.io.count < lowest && !pathReset || registers.snapshot)(lowest := freeList.io.count)
    registers.freeCellsMin := lowest.resized
    for (q <- 0 until c.queues) {
      val live = registers.live(q)
      live.bytes := backlog.io.fill(q).bytes
      live.packets := backlog.io.fill(q).packets
      live.frames := backlog.io.fill(q).frames
      live.cells := backlog.io.fill(q).cells
      live.peakBytes := backlog.io.peakBytes(q)
      live.peakPackets := backlog.io.peakPackets(q)
      live.average := units.zipWithIndex.map { case (u, n) =>
        Mux(roles.engine(q)(n), u.io.live(q), U(0, 43 bits)) }.foldLeft(U(0, 43 bits))(_ | _)
    }
  }

  /** Nothing moves but time: every block has been idle for longer than any pipeline is. */
  val quietness = new Area {
    /** Whatever has a deadline: the shaper while it holds packets back, ticks. */
    private val deadlines: Seq[(Bool, UInt)] =
      (schedule.io.throttled, shape.io.wake) +: (units.map(u => (u.io.wake.valid, u.io.wake.payload)) ++
        parking.toSeq.flatMap(_.io.deadlines.map(d => (d.valid, d.payload))) ++ spacing.map(s => (s.io.wake.valid, s.io.wake.payload)))
    /** The earliest, looked for one after the other; the core is quiet long after the last one has moved. */
    val earliest = new Area {
      val turn = Counter(deadlines.size)
      turn.increment()
      val valid = RegNext(Vec(deadlines.map(_._1))(turn.value)) init False
      val time = RegNext(Vec(deadlines.map(_._2))(turn.value))
      val first = RegNext(turn.value === 0) init False
      val best = Reg(UInt(c.timeWidth bits))
      val found = RegInit(False)
      val better = valid && (first || !found || (time - best).msb)
      when(first)(found := valid)
      when(better) {
        best := time
        found := True
      }
      val limited = RegNextWhen(found, first) init False
      val wake = RegNextWhen(best, first)
    }
    val limited = if (units.isEmpty) RegNext(schedule.io.throttled) init False else earliest.limited
    /** the next deadline, or a time that has passed if there is none */
    val wake =
      if (units.isEmpty) RegNext(schedule.io.throttled ? shape.io.wake | (nowNs - 2)) init 0
      else RegNext(earliest.limited ? earliest.wake | (nowNs - 2)) init 0
    /** As of the cycle that `nowNs` is of. The deadline is so near, or so lately past, that its owner is about to act. It takes
      * some cycles to do so, in which `active` follows, so that there is no gap between this and the act.
      */
    val distance = RegNext(wake - io.now_ns) init 0
    val near = limited && (distance.msb || distance < 64)

    private val held = queues.io.ready.orR && !schedule.io.throttled
    /** one of them in the cycle before; a register each */
    private def active(causes: Bool*): Bool = causes.map(cause => RegNext(cause) init True).orR
    /** nothing for 32 cycles */
    private class Settled(active: Bool) extends Area {
      val idle = Reg(UInt(6 bits)) init 0
      when(active)(idle := 0) elsewhen (!idle.msb)(idle := idle + 1)
      val quiet = RegNext(idle.msb && !active) init False
    }
    // blocks that stand near each other together: what they tell has far to go
    val moving = active(
      Seq(io.s_axis.valid, ingress.io.busy, control.reset.io.busy, !freeList.io.swept, !shape.io.settled, RegNext(near) init False).orR,
      (Seq(store.io.busy) ++ unpack.map(_.io.busy) ++ batch.map(_.io.busy)).orR,
      (Seq(admit.io.busy) ++ spacing.map(_.io.busy)).orR,
      (Seq(held, schedule.io.busy, release.io.busy) ++ partial.map(_.io.busy)).orR,
      (Seq(egress.io.busy, sending.leaving, closer.io.busy)).orR,
      (flowTable.map(_.io.busy) ++ flowGroups.map(_.io.busy) ++ parking.map(_.io.busy) ++ units.map(_.io.busy)).toSeq.foldLeft(False: Bool)(_ || _))
    val accessed = active(control.front.io.busy, control.registers.io.busy, counters.io.busy)
    /** STATUS.QUIET: what the host does, which its read of it is part of, left out */
    private val path = new Settled(moving)
    control.registers.io.quiet := path.quiet && !near
    private val all = new Settled(moving || accessed)
    io.quiet := all.quiet && !near
    io.wake_ns := wake
  }

  /** What stirs units with a clock of their own. */
  val stirs = c.gated generate new Area {
    private val host = Seq(control.front.io.busy, control.registers.io.busy, control.reset.io.busy)
    private val sends = queues.io.ready.orR && (shape.io.allowed && egress.io.room || !linkUp)
    // the model adds what comes at the ports in the same cycle
    ingressGate.stir(ingress.io.busy)
    ingressGate.stir(host: _*)
    ingressGate.close()
    frontGate.stir(host: _*)
    frontGate.close()

    private val turning = units.map(_.io.turning).foldLeft(False: Bool)(_ || _)

    packetGate.stir(host: _*)
    packetGate.stir(counters.io.busy)
    for (fifo <- traceFifo) packetGate.stir(fifo.io.push.valid, ticking.lost)
    packetGate.stir(ingress.io.end.valid)
    packetGate.stir(store.io.end.valid, store.io.arrival.valid, store.io.event.valid)
    packetGate.stir(sends, schedule.io.busy, admit.io.busy, release.io.busy, turning, quietness.near)
    packetGate.stir(units.map(_.io.busy): _*)
    if (c.jumbo) packetGate.stir(egress.io.sent.valid)
    for (unit <- batch) packetGate.stir(unit.io.busy, store.io.commit, store.io.discard)
    for (unit <- spacing) packetGate.stir(unit.io.turning)
    for (unit <- flowGroups) packetGate.stir(unit.io.busy)
    // `near` knows of a new deadline only when its turn has come
    for (unit <- parking) packetGate.stir(unit.io.busy, unit.io.deadlines.map(_.valid).orR)
    for (unit <- partial) packetGate.stir(unit.io.busy)
    for (table <- flowTable) packetGate.stir(table.io.tag.valid)
    packetGate.close()

    for (unit <- unpack; table <- flowTable) {
      unpackGate.stir(host: _*)
      unpackGate.stir(ingress.io.word.valid, ingress.io.end.valid, unit.io.busy, table.io.busy, store.io.abort, store.io.arrival.valid)
      unpackGate.close()
    }
    egressGate.stir(packetGate.runs, egress.io.busy, sending.leaving, cells.io.word.valid)
    egressGate.close()
  }
}
