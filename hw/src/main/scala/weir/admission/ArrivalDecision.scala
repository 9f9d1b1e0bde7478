package weir.admission
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Arrival
import weir.common.{PerQueue, ValidPipeline}
import weir.policy.{Action, Cause, Ecn, Policy, PolicyEngine, PolicyEvidence, PolicyRequest, PolicyVerdict}
import weir.receive.IpVersion

/** Puts every arrival before its queue's policy and the hard limits, and carries the verdict out.
  *
  * Cycle by cycle: s0 the oldest arrival may go, t0 `request`, t2 the limits' answer, with which it enters `q` or does
  * not, the latency later the verdict, one later `commit`, and with it the link or the refund. One request every four
  * cycles. Policies are in two classes of latency, `c.fastLatency` and `c.slowLatency`; each verdict of a class is
  * awaited for the same time, so that the decisions of a queue stay in order. An arrival waits at s0 if its commit
  * would come in the cycle of another's, or next to it, and while its queue's configuration is being replaced (`hold`).
  *
  * RED's family never selects an arrival that finds its queue empty. Such an arrival is accepted without asking: when a
  * verdict would have come, or at t2 if no decision is under way and its queue does not merge. Its policy brings
  * average and count up to date afterwards and answers `c.afterwards` cycles later than it else does. With that answer
  * come `commit` and the trace record. Fast arrivals that ask keep clear of the cycles in which the policy is at work
  * on it, and one that finds something in its queue waits until all before it are in the average.
  *
  * A jumbo frame in transit is one arrival: its header asks for all of it; its packets follow, each with a slot and a
  * descriptor of its own, but neither waiting nor asking, and share the header's verdict. The FIFO before s0 holds 32
  * arrivals; `room` falls three before that (with jumbo frames one before, the arrival on its way counted).
  */
class ArrivalDecision(c: WeirConfig) extends ArrivalDecisionPorts(c) {
  val interval = 4

  /** With jumbo frames an arrival is in a register before the FIFO: the choice between CommitFifo and Spacing is on the
    * critical path.
    */
  val coming = if (c.jumbo) {
    val flow = Flow(Arrival(c))
    flow.valid := RegNext(io.arrival.valid) init False
    flow.payload := RegNextWhen(io.arrival.payload, io.arrival.valid)
    flow
  } else io.arrival
  val waiting = new StreamFifo(Arrival(c), depth = 32, withAsyncRead = true, withBypass = true)
  waiting.io.push.valid := coming.valid
  waiting.io.push.payload := coming.payload
  io.roomNext := (if (c.jumbo) waiting.io.availability > 2 || waiting.io.availability === 2 && !coming.valid else waiting.io.availability > 3)
  io.room := RegNext(io.roomNext) init True

  /** The oldest arrival, in a register, so that what depends on its queue starts from flip-flops. The next one comes two cycles
    * after it has gone, soon enough for one in four cycles, and need not be told in the same.
    */
  val head = waiting.io.pop.halfPipe()

  private val engines = c.engines
  /** which policies an engine serves */
  private def serves(engine: PolicyEngine, policy: UInt): Bool =
    c.servedBy(engine).map(policy === _.id).orR
  private def engineOf(policy: UInt): Bits = Vec(engines.map(serves(_, policy))).asBits
  private def slow(policy: UInt): Bool =
    c.policies.toSeq.sortBy(_.id).filter(_.latency > Policy.fast).map(policy === _.id).orR
  /** it answers arrivals that find their queue empty later */
  private def defers(policy: UInt): Bool =
    c.policies.toSeq.sortBy(_.id).filter(_.engine.exists(_.afterwards > 0)).map(policy === _.id).orR

  /** Cycles from a request to the outcome of what is accepted without asking: the limits' answer. */
  val quick = 2

  /** Commits that are due, two cycles apart or more. Bit n: that of an arrival which would go now, with a verdict
    * after n cycles.
    */
  val commits = new Area {
    private val last = c.slowLatency max (c.fastLatency + c.afterwards)
    val due = Reg(Bits(last + 2 bits)) init 0
    private val further = due |>> 1
    due := further
    /** an arrival goes, with a verdict after so many cycles */
    def take(latency: Int): Unit = due(latency - 1) := True
    /** it would meet another's */
    def meet(latency: Int): Bool = due(latency - 1, 3 bits).orR
    /** no decision is under way: of a cycle before which none went, as is every one in which an arrival may go */
    val none = RegNext(further === 0) init True
  }

  /** Decisions that are made afterwards. */
  val afterwards = new Area {
    val went = False
    val history = new ValidPipeline(went, c.afterwards + interval - 1)
    /** It is as if another arrival went `c.afterwards` cycles later: those that ask stay the interval away. */
    val near =
      if (c.afterwards > 0) RegNext((-interval until interval - 1).map(n => history(c.afterwards + n)).orR) init False
      else False
    /** cycles for which an arrival that finds its queue not empty has to wait */
    val left = for (q <- 0 until c.queues) yield Reg(UInt(log2Up(c.afterwards + interval) bits)) init 0
    val pending = B(left.map(_ =/= 0))
  }

  /** Of the oldest arrival, looked up a cycle ahead, so that whether it goes depends on few registers: its queue, one bit each, and what that
    * queue's configuration says as it stood a cycle ago: it does not change but while the queue is on hold.
    */
  val oldest = new Area {
    /** of either, then chosen: the FIFO's memory is late */
    private def next[T <: Data](of: UInt => T): T =
      RegNext(Mux(waiting.io.pop.ready, of(waiting.io.pop.payload.meta.queue), of(head.payload.meta.queue)))
    val of = next(PerQueue.select(c.queues, True, _)) init 0
    val late = next(PerQueue.bit(B(io.config.map(config => slow(config.policy))), _))
    val defers = next(PerQueue.bit(B(io.config.map(config => ArrivalDecision.this.defers(config.policy))), _))
    /** packets of the queue may join others: how, is known later than the limits' answer */
    val merges =
      if (c.jumbo) next(PerQueue.bit(B(io.config.map(config => config.merge.flow || config.merge.classes)), _))
      else False
    val engine = next(PerQueue(Vec(io.config.map(config => engineOf(config.policy))), _))
  }

  /** The descriptor that an arrival takes. One that the limits refuse leaves it to the next. */
  val descriptor = new Area {
    val spare = RegInit(False)
    val left = Reg(c.descriptorId)
    val valid = spare || io.descriptor.valid
    val id = Mux(spare, left, io.descriptor.payload)
    /** the limits refused the jumbo frame in transit whose packets are going: they take none */
    val refused = c.jumbo generate RegInit(False)
  }

  /** s0: may the oldest arrival go? */
  val issue = new Area {
    val arrival = head
    val queue = arrival.meta.queue
    val fill = io.fill(queue.resized)
    /** a packet of a jumbo frame in transit whose header has gone */
    val member = if (c.jumbo) arrival.transit.member else False
    val pause = Reg(UInt(2 bits)) init 0
    val waits = io.hold | (afterwards.pending & ~io.empty)
    val late = oldest.late
    /** it is accepted, and decided about afterwards */
    val deferred = oldest.defers && (io.empty & oldest.of) =/= 0 && !member
    /** it goes unless it has to wait; what is loaded with `open` counts with `go` */
    val open = arrival.valid && pause === 0
    /** it overtakes nobody, and need not wait for a verdict, nor for its flow */
    val goesQuick = deferred && !oldest.merges && commits.none && !(if (c.jumbo) arrival.transit.header else False)
    val meets = Mux(late, commits.meet(c.slowLatency),
      commits.meet(c.fastLatency) || !deferred && afterwards.near)
    /** it came a cycle ago: its flow would not be known in time */
    val young = if (c.jumbo) RegNext(waiting.io.pop.fire, init = False) && !goesQuick else False
    val go = open && !young && (member || (waits & oldest.of) === 0) && !meets
    arrival.ready := go
    when(pause =/= 0)(pause := pause - 1)
    when(go)(pause := interval - 1)
    val takes = if (c.jumbo) go && !(member && descriptor.refused) else go
    io.descriptor.ready := takes && !descriptor.spare
    when(takes)(descriptor.spare := False)
    // a cycle later, from a register: the next arrival is four cycles away
    io.nextDraw := RegNext(go && !member) init False
    when(go) {
      when(late)(commits.take(c.slowLatency)) elsewhen (!goesQuick)(commits.take(c.fastLatency))
      if (c.afterwards > 0) when(deferred)(commits.take(c.fastLatency + c.afterwards))
    }
    afterwards.went setWhen (go && deferred)
    for ((left, q) <- afterwards.left.zipWithIndex) {
      when(left =/= 0)(left := left - 1)
      when(go && deferred && oldest.of(q))(left := c.afterwards + interval - 1)
    }
    /** counts a cycle later, likewise */
    val sequence = Reg(UInt(32 bits)) init 0
  }

  /** The jumbo frame in transit whose packets are going. */
  val together = c.jumbo generate new Area {
    val left = Reg(UInt(c.memberWidth bits)) init 0
    val queue = Reg(c.queueId)
    val sequence = Reg(UInt(32 bits))
    val nowNs = Reg(c.time)
    val last = left === 1
    private val transit = issue.arrival.transit
    when(issue.go && issue.member)(left := left - 1)
    when(issue.go && transit.header)(left := transit.packets)
    /** a cycle after the header has gone; its first packet goes four after it */
    def headed(header: Context): Unit = {
      queue := header.request.queue
      sequence := header.sequence
      nowNs := header.request.nowNs
    }
    /** a descriptor for each packet and one for what is before them */
    val described = io.descriptors +^ descriptor.spare.asUInt > transit.packets
    def underWay(q: Int): Bool = left =/= 0 && queue === q
  }

  /** All that is known of a decision while it is being made. */
  case class Context() extends Bundle {
    val arrival = Arrival(c)
    val request = PolicyRequest(c)
    val engine = Bits(engines.size bits)
    /** decided about afterwards; the outcome is that of the limits, at once */
    val deferred, quick = Bool()
    val unit = UInt(2 bits)
    val descriptor = c.descriptorId
    val sequence = UInt(32 bits)
    /** last packet of a jumbo frame in transit */
    val last = c.jumbo generate Bool()

    def header: Bool = if (c.jumbo) arrival.transit.header else False
    def member: Bool = if (c.jumbo) arrival.transit.member else False
    def packets: UInt = if (c.jumbo) arrival.transit.packets else U(1, 1 bits)
    def cells: UInt = if (c.jumbo) arrival.transit.cells else arrival.chain.cells
  }

  /** t0 */
  val request = new Area {
    val valid = RegNext(issue.go) init False
    val next = Context()
    val config = io.config(issue.queue.resized)
    val limitBytes = RegNextWhen(config.limitBytes, issue.open)
    val limitPackets = RegNextWhen(config.limitPackets, issue.open)
    val reserve = RegNextWhen(config.reserveCells, issue.open)
    val front = RegNextWhen(config.dropFront, issue.open)
    val cells = RegNextWhen(issue.fill.cells, issue.open)
    /** its queue, one bit each */
    val of = RegNextWhen(oldest.of, issue.open)
    /** it has taken a descriptor; there is one, for a jumbo frame in transit also for each packet */
    val taken = RegNextWhen(descriptor.valid, issue.open)
    val described = if (c.jumbo) taken && RegNextWhen(!issue.arrival.transit.header || together.described, issue.open) else taken
    next.arrival := issue.arrival.payload
    next.request.queue := issue.queue
    next.request.policy := config.policy
    next.request.nowNs := io.nowNs
    next.request.length := issue.arrival.meta.length
    next.request.bytes := issue.fill.bytes
    next.request.packets := issue.fill.packets
    next.request.frames := issue.fill.frames
    next.request.empty := PerQueue.bit(io.empty, issue.queue)
    next.request.ecn := issue.arrival.meta.ecn
    next.request.draw := io.draw
    next.engine := oldest.engine
    next.deferred := issue.deferred
    next.quick := issue.goesQuick
    next.unit := config.unit
    next.descriptor := descriptor.id
    next.sequence := issue.sequence
    if (c.jumbo) {
      next.last := together.last
      when(issue.member) {
        next.sequence := together.sequence
        next.request.nowNs := together.nowNs
      }
    }
    val context = RegNextWhen(next, issue.open)
    val word = context.asBits

    val late = RegNextWhen(issue.late, issue.open)
    if (c.jumbo) when(valid && context.header)(together.headed(context))
    private val goes = issue.go && !issue.member
    val asks = RegNext(goes) init False
    when(asks)(issue.sequence := issue.sequence + 1)
    io.request.valid := asks
    io.request.payload := context.request
    io.requestEngine := RegNext(next.engine & B(engines.size bits, default -> goes)) init 0
  }

  private val terms = LimitTerms(c)
  terms.limitBytes := request.limitBytes
  terms.limitPackets := request.limitPackets
  terms.reserve := request.reserve
  terms.front := request.front
  terms.bytes := request.context.request.bytes
  terms.packets := request.context.request.packets
  terms.cells := request.cells
  terms.length := request.context.request.length
  terms.count := request.context.packets.resized
  terms.needed := request.context.cells.resized
  terms.described := request.described

  /** What they refuse the next request, at t4, does not see. */
  val limits = new HardLimits(c, terms, request.asks, io.sharedCells, io.sharedUsed) {
    val answers = new ValidPipeline(refused, c.slowLatency.max(c.fastLatency + c.afterwards) - quick)
    def exceeded(latency: Int): Bool = answers(latency - quick)
    when(judged && refused && request.taken) {
      descriptor.spare := True
      descriptor.left := request.context.descriptor
    }
    if (c.jumbo) when(judged && request.context.header)(descriptor.refused := refused)

    io.enter.valid := RegNext(passes) init False
    io.enters := RegNext(request.of & B(c.queues bits, default -> passes)) init 0
    if (c.jumbo) io.enter.packets := request.context.packets
    io.enter.queue := request.context.request.queue
    io.enter.length := request.context.request.length
    io.enter.cells := request.context.cells.resized
  }

  /** Decisions of one class in flight, by the time from request to verdict. */
  class Flight(val latency: Int, mine: Bool) extends Area {
    val stage = new ValidPipeline(request.valid && mine, latency)
    val due = stage(latency)
    /** so many cycles before the verdict */
    def before(cycles: Int): Bool = stage(latency - cycles)
    val exceeded = limits.exceeded(latency)
  }

  /** The same, and each decision is carried out. */
  class Outcomes(latency: Int, mine: Bool) extends Flight(latency, mine) {
    /** what was decided about the jumbo frame in transit whose packets follow */
    val whole = c.jumbo generate new Area {
      val action = Reg(UInt(2 bits))
      val cause = Reg(UInt(3 bits))
      val dropped = Reg(Bool())
      /** its header, and what was linked last */
      val head, before = Reg(c.descriptorId)
    }
  }
  val fast = new Outcomes(c.fastLatency, !request.late && !request.context.quick)
  private val outcomes = if (c.slowLatency == c.fastLatency) Seq(fast)
  else Seq(fast, new Outcomes(c.slowLatency, request.late))
  /** the verdict of what was accepted without asking */
  val verdicts =
    Option.when(c.afterwards > 0)(new Flight(c.fastLatency + c.afterwards, request.context.deferred))
  private val flights = outcomes ++ verdicts
  /** the limits' answer to what goes without a verdict: `request.context` is still its own */
  val accepted = new Flight(quick, request.context.quick)

  /** What is known of the decisions in flight: written at t0, read in the third and in the second cycle before the
    * verdict. Its place is the request's time, in steps of the interval. Verdicts are two cycles apart or more: one
    * register holds what is read for all.
    */
  val known = new Area {
    val places: Int = 1 << log2Up(flights.map(_.latency).max / interval + 1)
    /** it stands while no decision is under way */
    val clock = Reg(UInt(log2Up(places * interval) bits)) init 0
    def placeOf(ago: Int): UInt = (clock - ago)(widthOf(clock) - 1 downto log2Up(interval))
    val memory = Mem(Bits(widthOf(request.word) bits), places)
    memory.write(placeOf(0), request.word, request.valid)
    private val at = Reg(UInt(log2Up(places) bits))
    for (flight <- flights) when(flight.before(4))(at := placeOf(flight.latency - 4))
    val found = Context()
    found.assignFromBits(memory.readAsync(at))
    /** from the cycle before the verdict to that of the verdict */
    val context = RegNextWhen(found, flights.map(_.before(2)).orR)
    /** nobody is asked about what is decided about afterwards */
    private val asked = verdicts.map(_.before(1) || !context.deferred).getOrElse(True)
    val engine = RegNext(context.engine & B(engines.size bits, default -> asked))
    /** with the outcome: the policy has been asked */
    val told = RegNext(asked)
    val exempt = RegNext(context.arrival.meta.exempt)
    val member = c.jumbo generate RegNext(context.member)
    /** a jumbo frame with more than one entry, of a queue in which others may pay for it */
    val spared = c.jumbo generate {
      val meta = context.arrival.meta
      val one = U(24, 6 bits) +^ (meta.ipOffset @@ U(0, 2 bits)) +^ ((meta.ipVersion === IpVersion.none) ? U(0, 5 bits) | U(20, 5 bits))
      RegNext(context.header && context.arrival.transit.bytes > one && PerQueue.bit(io.mred & io.able, context.request.queue))
    }
  }

  if (c.jumbo) {
    val context = known.found
    io.look.valid := outcomes.map(_.before(3)).orR
    io.look.index := context.arrival.flow
    io.look.held := context.arrival.held
    io.look.queue := context.request.queue
    io.look.length := context.request.length
    io.look.tags := context.arrival.meta.ipOffset
    io.look.nowNs := context.request.nowNs
  }

  /** The verdict becomes an outcome, registered: the cycle after it. */
  val commit = new Area {
    private val atOnce = if (c.afterwards > 0) accepted.due else False
    private val carriesOut = outcomes.map(_.due).orR || atOnce
    private val due = flights.map(_.due).orR || atOnce
    private def chosen[T <: Data, F <: Flight](from: Seq[F], of: F => T): T =
      from.tail.foldLeft(of(from.head))((other, f) => Mux(f.due, of(f), other))
    private val exceeded = Mux(atOnce, accepted.exceeded, chosen(flights, (f: Flight) => f.exceeded))
    private val now = Mux(atOnce, request.context, known.context)
    private val engine = known.engine & B(engines.size bits, default -> !atOnce)
    private val told = !atOnce && known.told
    private val member = if (c.jumbo) !atOnce && known.member else False
    import known.exempt
    private val verdict = PolicyVerdict(c)
    verdict.assignFromBits((0 until engines.size)
      .map(n => io.verdicts(n).payload.asBits & B(widthOf(verdict) bits, default -> engine(n)))
      .foldLeft(B(0, widthOf(verdict) bits))(_ | _))

    /** the policy wants to drop or mark a jumbo frame, and the queue has one that packets can be dropped from */
    private val spares = if (c.jumbo) !atOnce && known.spared && !exempt && !exceeded &&
      verdict.action =/= Action.accept && io.partialRoom else False
    val spared = if (c.jumbo) RegNextWhen(spares, due) else False
    val forced = RegNextWhen(verdict.cause === Cause.forced, due)
    val valid = RegNext(carriesOut) init False
    /** the queue whose policy has decided, one bit each */
    val of = RegNext(PerQueue.select(c.queues, due && told, now.request.queue)) init 0
    val context = RegNextWhen(now, due)
    private val turnsAway = !exceeded && !exempt && verdict.action === Action.drop
    private val drops = exceeded || turnsAway
    /** the queue whose policy has dropped what asked by itself */
    val refunds = RegNext(PerQueue.select(c.queues, carriesOut && !member, now.request.queue) &
      B(c.queues bits, default -> (turnsAway && !spares))) init 0
    val action = Reg(UInt(2 bits))
    val cause = Reg(UInt(3 bits))
    val evidence = Reg(PolicyEvidence(c))
    val dropped = Reg(Bool())

    when(due) {
      action := Action.accept
      cause := Cause.none
      dropped := drops
      evidence := verdict.evidence
      when(!exempt) {
        action := verdict.action
        cause := verdict.cause
      }
      when(exceeded) {
        action := Action.drop
        cause := Cause.overflow
      }
      if (c.jumbo) when(spares) {
        action := Action.accept
        cause := Cause.partial
        dropped := False
      }
      if (c.jumbo) when(member) {
        action := chosen(outcomes, (f: Outcomes) => f.whole.action)
        cause := chosen(outcomes, (f: Outcomes) => f.whole.cause)
        dropped := chosen(outcomes, (f: Outcomes) => f.whole.dropped)
      }
    }
    val slow = if (outcomes.size == 1) False else RegNextWhen(outcomes.last.due, carriesOut)
    if (c.jumbo) {
      for (flight <- outcomes) {
        val mine = if (outcomes.size == 1) True else slow === Bool(flight eq outcomes.last)
        when(valid && mine && !context.quick) {
          when(context.header) {
            flight.whole.action := action
            flight.whole.cause := cause
            flight.whole.dropped := dropped
            flight.whole.head := context.descriptor
          }
          flight.whole.before := context.descriptor
        }
      }
    }
    /** of the class of the arrival that is committed */
    def ofClass[T <: Data](of: Outcomes => T): T =
      if (outcomes.size == 1) of(fast) else Mux(slow, of(outcomes.last), of(fast))
    /** the policy's selection stands, even if a limit made the drop its own, or there is a drop */
    private val acting = exceeded || !exempt && (verdict.cause =/= Cause.none || verdict.action === Action.drop)
    private val tells = due && told && !member
    val acts = B(engines.indices.map(n => RegNext(tells && acting && engine(n)) init False))
    val ofEngine = RegNext(engine & B(engines.size bits, default -> tells)) init 0
    /** not of a packet that shares its header's verdict */
    val own = RegNext(tells) init False
    val traced = RegNext(tells && PerQueue.bit(io.traces, now.request.queue)) init False
  }

  /** Decisions of each queue between s0 and the commit. */
  val deciding = for (q <- 0 until c.queues) yield new Area {
    val count = Reg(UInt(4 bits)) init 0
    val entered = issue.go && oldest.of(q)
    val decided = commit.of(q)
    when(entered =/= decided)(count := decided ? (count - 1) | (count + 1))
    io.settled(q) := count === 0 && (if (c.jumbo) !together.underWay(q) else True)
  }
  when(issue.go || deciding.map(_.count =/= 0).orR)(known.clock := known.clock + 1)

  val outcome = new Area {
    val arrival = commit.context.arrival
    val queue = commit.context.request.queue
    val accepted = commit.valid && !commit.dropped
    val rejected = commit.valid && commit.dropped

    io.commit.valid := commit.own
    io.commit.queue := queue
    io.commit.length := arrival.meta.length
    io.commit.acts := commit.acts.orR
    io.commitEngine := commit.ofEngine
    io.commitActs := commit.acts

    io.link.valid := accepted
    io.link.queue := queue
    io.link.id := commit.context.descriptor
    io.link.descriptor.chain := arrival.chain
    io.link.descriptor.length := (if (c.jumbo) Mux(commit.context.header, arrival.transit.bytes, arrival.meta.length) else arrival.meta.length)
    io.link.descriptor.ecn := arrival.meta.ecn
    io.link.descriptor.exempt := arrival.meta.exempt
    io.link.descriptor.mark := commit.action === Action.mark
    io.link.descriptor.ipVersion := arrival.meta.ipVersion
    io.link.descriptor.ipOffset := arrival.meta.ipOffset
    io.link.descriptor.stampNs := commit.context.request.nowNs
    io.link.descriptor.sequence := commit.context.sequence
    if (c.jumbo) {
      val (header, member) = (commit.context.header, commit.context.member)
      io.link.joins := member
      io.link.transit := header || member
      io.link.last := commit.context.last
      io.link.alone := commit.context.quick
      io.link.pays := commit.action =/= Action.mark
      io.link.head := Mux(member, commit.ofClass(_.whole.head), commit.context.descriptor)
      io.link.before := Mux(member, commit.ofClass(_.whole.before), commit.context.descriptor)
      io.link.descriptor.header := header
      io.link.descriptor.member := member
      // a packet that is not ECT stays as it is in a jumbo frame that is
      when(member && (arrival.meta.ecn === Ecn.notEct || arrival.meta.ecn === Ecn.ce))(io.link.descriptor.mark := False)
      io.link.group.packets := arrival.transit.packets
      io.link.group.transit := header || member
      io.link.group.front := 0
      io.link.group.removed := 0
      io.link.group.bytes := arrival.meta.length
      io.link.group.ect := arrival.meta.ecn === Ecn.ect0 || arrival.meta.ecn === Ecn.ect1
      io.link.group.ce := arrival.meta.ecn === Ecn.ce
      io.link.group.notEct := arrival.meta.ecn === Ecn.notEct
      io.link.group.l3 := False
    }

    /** the limits refused it: it is not in `q`, and its descriptor is left to another */
    private val refused = commit.cause === Cause.overflow
    private val refunded = (if (c.jumbo) commit.dropped && !commit.context.member else commit.dropped)
    io.refund.valid := commit.valid && refunded && !refused
    io.refunds := commit.refunds
    if (c.jumbo) io.refund.packets := commit.context.packets
    io.refund.queue := queue
    io.refund.length := arrival.meta.length
    io.refund.cells := commit.context.cells.resized
    io.free.valid := rejected
    io.free.payload := arrival.chain
    io.giveDescriptor.valid := rejected && !refused
    io.giveDescriptor.payload := commit.context.descriptor

    if (c.jumbo) {
      io.selection.valid := commit.valid && commit.spared
      io.selection.queue := queue
      io.selection.average := commit.evidence.average(42 downto 11)
      io.selection.forced := commit.forced
    }

    io.event.valid := commit.valid && !commit.context.header
    io.event.queue := queue
    io.event.length := arrival.meta.length
    io.event.ecn := arrival.meta.ecn
    io.event.action := commit.action
    io.event.cause := commit.cause
    if (c.jumbo) when(commit.context.member && !commit.dropped) {
      when(arrival.meta.ecn === Ecn.notEct)(io.event.cause := Cause.none)
      when(!io.link.descriptor.mark)(io.event.action := Action.accept)
    }
  }

  val trace = new Area {
    io.trace.valid := commit.own
    io.traced := commit.traced
    io.trace.payload := ArrivalRecord(commit.context.request, commit.action, commit.cause, commit.evidence,
      commit.context.arrival.meta.exempt, commit.context.unit, commit.context.sequence,
      if (c.jumbo) Some(commit.context.header ? commit.context.packets | U(0, c.memberWidth bits)) else None)
  }

  io.busy := waiting.io.occupancy =/= 0 || head.valid || deciding.map(_.count =/= 0).orR || io.arrival.valid || (if (c.jumbo) coming.valid else False)
}
