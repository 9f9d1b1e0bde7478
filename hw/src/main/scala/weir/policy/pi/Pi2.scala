package weir.policy.pi
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{PerQueue, SerialMultiplier, SparseDelay, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords, Register, Value}
import weir.control.registers.Registers._
import weir.control.trace.{TraceField, TracePart, TraceRecord}
import weir.policy.{Action, Cause, Ecn, Parameter, Parameters, Plot, Policy, PolicyEngine, PolicyUnit, PolicyVerdict}
import weir.policy.{QueueDelay, Span, TickTimer, TickWords}

/** PI2, and the coupled dual queue of RFC 9332. */
object Pi2Engine extends PolicyEngine("pi2") {
  def build(c: WeirConfig): PolicyUnit = new Pi2(c)

  object Pi2 extends Policy(8, "pi2", 5) {
    import Parameters._

    val help = "PI controller with a squared probability; with low_latency the L queue of DualPI2"
    val source = "RFC 9332; tc-dualpi2(8)"
    val acts = "arrival, tick, departure (step); pairs of queues"
    override val plot: Plot = Plot.Probability
    override val demo: Option[(String, String)] = Some((
      "limit 100KB target 200us tupdate 50us alpha 40 beta 40 ecn on",
      "PIE's controller with the square of its output (RFC 9332)."))
    override val bench = "target 50us tupdate 50us beta 40 ecn on"
    override val parameters: Seq[Parameter] = Seq(
      time("target", 1, "15ms", "RFC 9332 target, tc-dualpi2 target",
        "delay that the controller of the classic queue aims at", "RFC 9332 has 15ms"),
      time("tupdate", 10, "target, at most 33.333ms", "RFC 9332 min(target, RTT_max/3), tc-dualpi2 tupdate",
        "time from one update of the probability to the next",
        "RFC 9332 has the target, at most a third of the longest round trip"),
      number("alpha", "1/s", 0, 40, "10*tupdate in s", "RFC 9332 0.1*Tupdate/RTT_max^2, tc-dualpi2 alpha",
        "gain of the delay's distance from the target", "with tupdate 15ms RFC 9332 has 0.15"),
      number("beta", "1/s", 0, 40, "3", "RFC 9332 0.3/RTT_max, tc-dualpi2 beta", "gain of the delay's change",
        "RFC 9332 has 3"),
      time("step_thresh", 0, "1ms", "tc-dualpi2 step_thresh",
        "low-latency packets with a longer sojourn time are marked",
        "tc-dualpi2 has 1ms"),
      number("coupling_factor", "", 0, 15, "2", "RFC 9332 k, tc-dualpi2 coupling_factor",
        "k: low-latency packets are marked with k times the base probability", "RFC 9332 has 2"),
      number("p_cmax", "", 0, 1, "1/coupling_factor^2, at most 1", "RFC 9332 p_Cmax",
        "from this classic probability on the queue and its pair are overloaded: ECT packets are dropped too",
        "RFC 9332 has 1/k^2"),
      switch("ecn", "on", "RFC 9332 A.1", "the classic queue marks ECT packets instead of dropping them"),
      switch("low_latency", "off", "RFC 9332 L queue",
        "this is the low-latency queue of a pair; make it `strict`, with the lower number"),
      count("coupled", "", 0, 7, "0", "RFC 9332",
        "number of the other queue of the pair; the two name each other, a queue without a pair any",
        "name a queue of this core").copy(span = Span.Queues))
    val engine: Option[PolicyEngine] = Some(Pi2Engine)
    val registers: Seq[Register] = Seq(
      shadow("PI2_CTRL", 0x120, 32, Value(0), "role of the queue",
        flag("ECN", 0, "the classic queue marks ECT packets"), flag("LOW_LATENCY", 1, "this is the L queue of its pair"),
        bits("COUPLED", 7, 4, "the other queue of the pair; pairs name each other")),
      shadow("PI2_INTERVAL", 0x124, 32, Value(0), "Tupdate in ns; less than 4096 is taken as 4096"),
      shadow("PI2_TARGET", 0x128, 32, Value(0), "target delay in ns"),
      shadow("PI2_ALPHA", 0x12C, 32, Value(0), "alpha per ns, times 2^40", scaled: _*),
      shadow("PI2_BETA", 0x130, 32, Value(0), "beta per ns, times 2^40", scaled: _*),
      shadow("PI2_STEP", 0x134, 32, Value(0), "L packets with a longer sojourn are marked, ns; all ones is off"),
      shadow("PI2_COUPLING", 0x138, 16, Value(0), "k of the classic queue, UQ4.12"),
      shadow("PI2_MAX", 0x13C, 32, Value(0), "p_Cmax: from this p'^2 on the pair is overloaded, UQ0.32")
    )
    override def atDeparture: Boolean = true
    override val tickState: Seq[TraceField] = Seq(
      tick("base", "p' after the tick, UQ0.48", fraction = 48)(TracePart(4, 15, 0), TracePart(3, 31, 0)),
      tick("over_c", "p_C has reached PI2_MAX")(TracePart(4, 16, 16)),
      tick("over_l", "that, or p_CL has reached 1")(TracePart(4, 17, 17)),
      tick("asleep", "no tick comes until a packet does")(TracePart(4, 18, 18)),
      tick("delay_ns", "delay, ns: the greater of the pair")(TracePart(5, 31, 0)),
      tick("p_c", "p_C, UQ0.32", fraction = 32)(TracePart(6, 31, 0)))
    override val evidence: String =
      "`average` is p_C times 2^21, `count` the state (bit 0 L queue, 1 over_C, 2 over_L), `p` the one used"
  }
}

/** PI2's decisions, and the base probability p' of each classic queue that a tick unit brings up to date
  * (docs/modules/pi2.md).
  *
  * Latency: the verdict is valid `c.fastLatency` cycles after its request (it is made in four), the verdict of a departure two cycles after
  * it. Throughput: a request every 4 cycles. A tick takes at most 96 cycles. At reset, and when cleared, p' is 0.
  */
class Pi2(c: WeirConfig) extends PolicyUnit(c) {
  import PiController.fraction

  private val ofTicks = Seq("PI2_TARGET", "PI2_ALPHA", "PI2_BETA", "PI2_MAX")
  val words = new LiveWords(c,
    Pi2Engine.Pi2.registers.filterNot(r => r.name == "PI2_CTRL" || ofTicks.contains(r.name)), ConfigWrite.later(io.config))
  val delay = new QueueDelay(c, io.departure, io.request, io.emptied)
  private def of(bits: Bits, queue: UInt): Bool = PerQueue.bit(bits, queue)

  /** Roles; they change with the apply, pairs a cycle later. */
  val roles = new Area {
    private val register = Pi2Engine.Pi2.registers.head
    private def flag(name: String)(word: Bits) = word(register.field(name).low)
    val queues = for (q <- 0 until c.queues) yield new Area {
      val written = RegNextWhen(io.config.data, io.config.valid && io.config.queue === q && io.config.word === register.word)
      // no reset: a reset by register keeps the configuration, and every queue is applied after `rst`
      val word = RegNextWhen(written(7 downto 0), io.applied(q))
      val low = flag("LOW_LATENCY")(word)
      val ecn = flag("ECN")(word)
      val coupled = word(7 downto 4).asUInt
    }
    val low = B(queues.map(_.low))
    val ecn = B(queues.map(_.ecn))
    private def pair(q: Int, r: Int): Bool = if (q == r) False
    else queues(q).coupled === r && queues(r).coupled === q && queues(q).low =/= queues(r).low && io.selected(q) && io.selected(r)
    val matrix = Vec((0 until c.queues).map(q => RegNext(B((0 until c.queues).map(pair(q, _)))) init 0))
    val paired = B(matrix.map(_.orR))
    val partner = Vec(matrix.map(m => OHToUInt(m).resize(c.queueWidth)))
    /** whose probabilities a queue's arrivals meet: its own, or of an L queue its partner's; and it is an L queue without one */
    val source = Vec((0 until c.queues).map(q => RegNext(
      Mux(queues(q).low, OHToUInt((0 until c.queues).map(pair(q, _))).resize(c.queueWidth), U(q, c.queueWidth bits)))))
    val alone = B((0 until c.queues).map(q => RegNext(queues(q).low && !(0 until c.queues).map(pair(q, _)).orR)))
  }

  /** What ticks leave, for each classic queue. */
  case class TickState() extends Bundle {
    /** p', UQ0.48 */
    val base = UInt(fraction bits)
    val oldDelay = UInt(32 bits)
  }
  case class DecisionState() extends Bundle {
    /** p_C, p_CL, and p_C + p_CL − p_C·p_CL, UQ0.32 */
    val classic, coupled, either = UInt(32 bits)
    /** p_C has reached p_Cmax; that, or p_CL has reached 1 */
    val overClassic, overCoupled = Bool()
  }
  val tickStates = Mem(TickState(), c.queues max 2)
  val decisionStates = Mem(DecisionState(), c.queues max 2)
  val fresh = Vec.fill(c.queues)(RegInit(True))

  val timer = new TickTimer(c)
  timer.io.nowNs := io.nowNs
  timer.io.interval := words("PI2_INTERVAL", timer.io.turn).asUInt
  timer.io.selected := io.selected & ~roles.low
  timer.io.restart := io.applied | io.clear
  // one queue at a time: of a pair the classic one
  timer.io.rouse := ~roles.low & B((0 until c.queues).map(q => delay.appears(q) || (roles.matrix(q) & delay.appears).orR))
  io.wake << timer.io.wake

  /** The tick unit, for one classic queue. */
  val tick = new Area {
    val busy = RegInit(False)
    timer.io.due.ready := !busy
    private val turn = timer.io.due.payload.queue
    val queue = RegNextWhen(turn, !busy)
    val nowNs = RegNextWhen(timer.io.due.payload.nowNs, !busy)
    val own = RegNextWhen(delay(turn), !busy)
    val others = RegNextWhen(Mux(of(roles.paired, turn), delay(PerQueue(roles.partner, turn)), U(0, 32 bits)), !busy)
    when(timer.io.due.fire)(busy := True)
    private val taken = RegNext(timer.io.due.fire) init False
    val delayNs = RegNextWhen(Mux(own < others, others, own), taken)
    val begins = RegNext(taken) init False

    val abandoned = Reg(Bool())
    private val anew = io.applied | io.clear
    private val disturbed = io.config.valid && io.config.queue === queue || of(anew, queue)
    when(disturbed)(abandoned := True)
    when(timer.io.due.fire)(abandoned := of(anew, turn) || io.config.valid && io.config.queue === turn)

    val old = tickStates.readAsync(queue.resized)
    private val first = of(fresh.asBits, queue)
    val oldDelay = RegNextWhen(Mux(first, U(0, 32 bits), old.oldDelay), taken)
    val oldBase = RegNextWhen(Mux(first, U(0, fraction bits), old.base), taken)

    val words = new TickWords(c, ofTicks.map(name => Pi2Engine.Pi2.registers.find(_.name == name).get), io.config, queue)
    val controller = new PiController(c, tuned = false)
    controller.io.start := begins
    controller.io.probability := oldBase
    controller.io.delay := delayNs
    controller.io.oldDelay := oldDelay
    words.ask("PI2_TARGET", controller.io.askTarget)
    words.ask("PI2_ALPHA", controller.io.askAlpha)
    words.ask("PI2_BETA", controller.io.askBeta)
    controller.io.word := words.word
    controller.io.gain := words.scaled

    /** 0: p'², 1: k·p', 2: p_C·p_CL */
    val work = Reg(UInt(2 bits))
    val base = controller.io.next
    val upper = base(fraction - 1 downto fraction - 36)
    private val coupling = Pi2.this.words("PI2_COUPLING", queue).asUInt
    val state = Reg(DecisionState())
    val multiplier = SerialMultiplier()
    val starts = RegInit(False)
    multiplier.io.start := starts
    multiplier.io.a := work.muxListDc(Seq(0 -> upper, 1 -> coupling.resize(36), 2 -> state.classic.resize(36)))
    multiplier.io.b := Mux(work.msb, state.coupled.resize(36), upper)
    private val product = multiplier.io.product

    starts := controller.io.done || multiplier.io.done && !work.msb
    when(controller.io.done)(work := 0)
    when(multiplier.io.done)(work := work + 1)
    private val full = product(51 downto 48) =/= 0
    when(multiplier.io.done && work === 0)(state.classic := product(71 downto 40))
    when(multiplier.io.done && work === 1) {
      state.coupled := product(47 downto 16)
      when(full)(state.coupled.setAll())
      state.overCoupled := full
    }
    val sum = RegNext(state.classic +^ state.coupled)
    /** PI2_MAX is the word that nobody has to ask for */
    val over = RegNext(state.classic >= words.word.asUInt)
    val t0 = multiplier.io.done && work === 2
    private val either = sum - product(63 downto 32).resize(33)
    when(t0) {
      state.either := either(31 downto 0)
      when(either.msb)(state.either.setAll())
      state.overClassic := over
      state.overCoupled := state.overCoupled || over
    }
    val none = RegNext(base === 0 && controller.io.undelayed)
    val t1 = RegNext(t0) init False
    /** from a register: a word that comes in that very cycle, the first of an apply, is too late to make the tick void */
    private val takes = RegNext(t1 && !abandoned && !disturbed) init False
    val t2 = RegNext(t1) init False
    when(t2)(busy := False)

    val tickState = TickState()
    tickState.base := base
    tickState.oldDelay := delayNs
    tickStates.write(queue.resized, tickState, takes)
    // a cycle later, as requests read it a cycle after they came; the queue and its state stand that long
    decisionStates.write(queue.resized, state, RegNext(takes) init False)
    for (q <- 0 until c.queues) when(takes && queue === q)(fresh(q) := False)
    private val delayed = delay.some | delay.appears
    private val sleeping = takes && none && !of(delayed, queue) && (PerQueue(roles.matrix, queue) & delayed) === 0
    timer.io.sleep := PerQueue.select(c.queues, sleeping, queue)

    io.tick.valid := RegNext(takes) init False
    io.tick.queue := queue
    io.tick.policy := Pi2Engine.Pi2.id
    io.tick.nowNs := nowNs
    io.tick.words := RegNextWhen(TraceRecord.tickState(Pi2Engine.Pi2, "base" -> base, "over_c" -> state.overClassic,
      "over_l" -> state.overCoupled, "asleep" -> sleeping, "delay_ns" -> delayNs, "p_c" -> state.classic), t2)
  }
  for (q <- 0 until c.queues) when(io.clear(q))(fresh(q) := True)
  io.busy := timer.io.busy || tick.busy || io.tick.valid
  io.turning := True
  io.attentive := delay.some.orR

  /** The decision. */
  val stage = new ValidPipeline(io.request.valid, c.fastLatency)

  /** What the queue is; t1 to t4. */
  val t1 = new Area {
    private val queue = io.request.queue
    val source = RegNextWhen(PerQueue(roles.source, queue), stage(0))
    val alone = RegNextWhen(of(roles.alone, queue), stage(0))
    val lowLatency = RegNextWhen(of(roles.low, queue), stage(0))
    val draw = RegNextWhen(io.request.draw << 8, stage(0))
    val ecn = RegNextWhen(io.request.ecn, stage(0))
    val ecnOn = RegNextWhen(of(roles.ecn, queue), stage(0))
    val capable = ecn =/= Ecn.notEct
  }

  /** Its probabilities as they stood with the request; t2 to t5. */
  val t2 = new Area {
    private val state = decisionStates.readAsync(t1.source.resized)
    private val none = of(RegNext(fresh.asBits), t1.source) || t1.alone
    private def unless(value: UInt) = RegNextWhen(Mux(none, U(0, 32 bits), value), stage(1))
    val classic = unless(state.classic)
    val coupled = unless(state.coupled)
    val either = unless(state.either)
    val overClassic = RegNextWhen(!none && state.overClassic, stage(1))
    val overCoupled = RegNextWhen(!none && state.overCoupled, stage(1))
  }

  val t3 = new Area {
    val classic = RegNextWhen(t1.draw < t2.classic, stage(2))
    /** the probability of what may happen to the packet */
    val used = RegNextWhen(Mux(!t1.lowLatency || !t2.overCoupled && !t1.capable, t2.classic,
      Mux(t2.overCoupled, t2.either, t2.coupled)), stage(2))
    val coupled = RegNextWhen(t1.draw < t2.coupled, stage(2))
    val either = RegNextWhen(t1.draw < t2.either, stage(2))
  }

  val t4 = new Area {
    private val drop, mark = False
    when(t1.lowLatency) {
      drop := t3.classic && (t2.overCoupled || !t1.capable)
      mark := Mux(t2.overCoupled, t3.either, t3.coupled) && t1.capable
    } otherwise {
      drop := t3.classic
      mark := t3.classic && t1.ecnOn && !t2.overClassic && t1.capable
      when(mark)(drop := False)
    }
    private val next = PolicyVerdict(c)
    next.action := Action.accept
    when(mark && t1.ecn =/= Ecn.ce)(next.action := Action.mark)
    when(drop)(next.action := Action.drop)
    next.cause := Mux(drop || mark, U(Cause.early, 3 bits), U(Cause.none, 3 bits))
    next.evidence.average := t2.classic @@ U(0, 11 bits)
    next.evidence.count := (t2.overCoupled ## t2.overClassic ## t1.lowLatency).asUInt.resized
    next.evidence.probability := t3.used.resized
    next.evidence.idleSlots := 0
    val verdict = RegNextWhen(next, stage(3))
  }
  io.verdict.valid := stage(c.fastLatency)
  io.verdict.payload := SparseDelay(t4.verdict, stage, 4, c.fastLatency)

  /** The step, at the departure. */
  val leaving = new Area {
    private val queue = io.departure.queue
    private val long = io.departure.sojournNs(47 downto 32) =/= 0
    private val step = words("PI2_STEP", queue).asUInt
    val valid = RegNext(io.departure.valid) init False
    val late = RegNextWhen(long || io.departure.sojournNs(31 downto 0) > step, io.departure.valid)
    val on = RegNextWhen(step =/= step.getAllTrue, io.departure.valid)
    val able = RegNextWhen(of(roles.low, queue) && io.departure.packets =/= 0 && io.departure.ecn =/= Ecn.notEct,
      io.departure.valid)
    val ce = RegNextWhen(io.departure.ecn === Ecn.ce, io.departure.valid)
    val selected = RegNextWhen(late && on && able, valid)
    val marks = RegNextWhen(late && on && able && !ce, valid)
  }
  io.departureVerdict.valid := RegNext(leaving.valid) init False
  io.departureVerdict.action := Mux(leaving.marks, U(Action.mark, 2 bits), U(Action.accept, 2 bits))
  io.departureVerdict.cause := Mux(leaving.selected, U(Cause.forced, 3 bits), U(Cause.none, 3 bits))
}
