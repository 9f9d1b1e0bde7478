package weir.policy.pi
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{PerQueue, SparseDelay, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords, Register, Value}
import weir.control.registers.Registers._
import weir.control.trace.{TraceField, TracePart, TraceRecord}
import weir.policy.{Action, Cause, Ecn, Parameter, Parameters, Plot, Policy, PolicyEngine, PolicyUnit, PolicyVerdict}
import weir.policy.{QueueDelay, TickTimer, TickWords}

/** PIE, RFC 8033. */
object PieEngine extends PolicyEngine("pie") {
  def build(c: WeirConfig): PolicyUnit = new Pie(c)

  object Pie extends Policy(6, "pie", 5) {
    import Parameters._

    private val perSecond = "it counts per second; tc-pie counts in sixteenths, its 2 and 20 are 0.125 and 1.25"
    val help = "proportional integral controller enhanced: a delay by a drop probability"
    val source = "RFC 8033; tc-pie(8)"
    val acts = "arrival; tick moves p"
    override val plot: Plot = Plot.Probability
    override val demo: Option[(String, String)] = Some((
      "limit 100KB target 200us tupdate 10us burst 0 alpha 1 beta 10 ecn on",
      "Holds the queueing delay at a target with a PI controller (RFC 8033). Its gains are cut " +
        "while p is small, so 8 ms of overload, a second of the recording, are nearly over before p counts."))
    override val bench = "target 50us tupdate 50us burst 0 beta 10 ecn on"
    override val parameters: Seq[Parameter] = Seq(
      time("target", 1, "15ms", "RFC 8033 QDELAY_REF, tc-pie target", "delay that the controller aims at",
        "RFC 8033 has 15ms"),
      time("tupdate", 10, "15ms", "RFC 8033 T_UPDATE, tc-pie tupdate",
        "time from one update of the probability to the next",
        "RFC 8033 has 15ms"),
      number("alpha", "1/s", 0, 1, "0.125", "RFC 8033 alpha (tc-pie: sixteenths)",
        "gain of the delay's distance from the target", perSecond),
      number("beta", "1/s", 0, 10, "1.25", "RFC 8033 beta (tc-pie: sixteenths)", "gain of the delay's change",
        perSecond),
      time("burst", 0, "150ms", "RFC 8033 MAX_BURST", "burst that passes an idle queue without drops",
        "RFC 8033 has 150ms"),
      number("mark_ecnth", "", 0, 1, "0.1", "RFC 8033 mark_ecnth",
        "probability above which ECT packets are dropped too",
        "RFC 8033 has 0.1"),
      held("bypass", "3000", "RFC 8033 2*MEAN_PKTSIZE", "no drop while the queue holds this or less",
        "give two packets of typical length").copy(whole = true),
      switch("ecn", "off", "tc-pie ecn", "mark ECT packets instead of dropping them"))
    val engine: Option[PolicyEngine] = Some(PieEngine)
    val registers: Seq[Register] = Seq(
      shadow("PIE_CTRL", 0x0B0, 32, Value(0), "variant of PIE", flag("ECN", 0, "mark ECT packets")),
      shadow("PIE_INTERVAL", 0x0B4, 32, Value(0), "T_UPDATE in ns; less than 4096 is taken as 4096"),
      shadow("PIE_TARGET", 0x0B8, 32, Value(0), "QDELAY_REF in ns"),
      shadow("PIE_ALPHA", 0x0BC, 32, Value(0), "alpha per ns, times 2^40", scaled: _*),
      shadow("PIE_BETA", 0x0C0, 32, Value(0), "beta per ns, times 2^40", scaled: _*),
      shadow("PIE_BURST", 0x0C4, 32, Value(0), "MAX_BURST in ns"),
      shadow("PIE_ECN_MAX", 0x0C8, 32, Value(0), "above this p ECT packets are dropped too, UQ0.32"),
      shadow("PIE_BYPASS", 0x0CC, 21, Value(0), "no drop while the queue holds this many bytes or fewer")
    )
    override val tickState: Seq[TraceField] = Seq(
      tick("p", "p after the tick, UQ0.48", fraction = 48)(TracePart(4, 15, 0), TracePart(3, 31, 0)),
      tick("calm", "p is small, and the delay less than half the target")(TracePart(4, 16, 16)),
      tick("asleep", "no tick comes until a packet does")(TracePart(4, 17, 17)),
      tick("delay_ns", "delay, ns")(TracePart(5, 31, 0)),
      tick("burst_ns", "burst allowance left, ns")(TracePart(6, 31, 0)))
    override val evidence: String =
      "`count` is what kept the packet from being selected: bit 0 burst allowance, 1 calm, 2 bypass"
  }
}

/** PIE's decision, and its drop probability that a tick unit brings up to date for one queue after the other
  * (docs/modules/pie.md).
  *
  * Latency: the verdict is valid `c.fastLatency` cycles after its request (it is made in three). Throughput: a
  * request every 4 cycles. A tick takes at most 95 cycles. At reset, and when cleared, a queue has p = 0 and its
  * whole burst allowance.
  */
class Pie(c: WeirConfig) extends PolicyUnit(c) {
  import PiController.fraction

  private val ofTicks = Seq("PIE_TARGET", "PIE_ALPHA", "PIE_BETA", "PIE_BURST")
  val words = new LiveWords(c, PieEngine.Pie.registers.filterNot(r => ofTicks.contains(r.name)), ConfigWrite.later(io.config))
  val delay = new QueueDelay(c, io.departure, io.request, io.emptied)

  /** What a tick leaves to the next one, and what it leaves to decisions. */
  case class TickState() extends Bundle {
    val low = UInt(fraction - 32 bits)
    val oldDelay, burst = UInt(32 bits)
  }
  case class DecisionState() extends Bundle {
    /** UQ0.32 */
    val probability = UInt(32 bits)
    val allowed, calm = Bool()
  }
  val tickStates = Mem(TickState(), c.queues max 2)
  val decisionStates = Mem(DecisionState(), c.queues max 2)
  /** no tick since the clear: p is 0, the burst allowance whole */
  val fresh = Vec.fill(c.queues)(RegInit(True))

  val timer = new TickTimer(c)
  timer.io.nowNs := io.nowNs
  timer.io.interval := words("PIE_INTERVAL", timer.io.turn).asUInt
  timer.io.selected := io.selected
  timer.io.restart := io.applied | io.clear
  timer.io.rouse := delay.appears
  io.wake << timer.io.wake

  /** The tick unit, for one queue. */
  val tick = new Area {
    val busy = RegInit(False)
    timer.io.due.ready := !busy
    val queue = RegNextWhen(timer.io.due.payload.queue, !busy)
    val begins = RegNext(timer.io.due.fire) init False
    val nowNs = RegNextWhen(timer.io.due.payload.nowNs, !busy)
    val period = RegNextWhen(timer.io.period, !busy)
    val delayNs = RegNextWhen(delay(timer.io.due.payload.queue), !busy)
    when(timer.io.due.fire)(busy := True)

    /** it has been configured or cleared meanwhile: nothing comes of the tick */
    val abandoned = Reg(Bool())
    private val disturbed = io.config.valid && io.config.queue === queue || PerQueue.bit(io.applied | io.clear, queue)
    when(disturbed)(abandoned := True)
    when(timer.io.due.fire) {
      abandoned := PerQueue.bit(io.applied | io.clear, timer.io.due.payload.queue) ||
        io.config.valid && io.config.queue === timer.io.due.payload.queue
    }

    val words = new TickWords(c, ofTicks.map(name => PieEngine.Pie.registers.find(_.name == name).get), io.config, queue)
    private val first = PerQueue.bit(fresh.asBits, queue)
    private val fromTick = tickStates.readAsync(queue.resized)
    private val fromDecision = decisionStates.readAsync(queue.resized)

    val controller = new PiController(c, tuned = true)
    controller.io.start := begins
    controller.io.probability := Mux(first, U(0, fraction bits), fromDecision.probability @@ fromTick.low)
    controller.io.delay := delayNs
    controller.io.oldDelay := Mux(first, U(0, 32 bits), fromTick.oldDelay)
    words.ask("PIE_TARGET", controller.io.askTarget)
    words.ask("PIE_ALPHA", controller.io.askAlpha)
    words.ask("PIE_BETA", controller.io.askBeta)
    controller.io.word := words.word
    controller.io.gain := words.scaled

    /** known before the controller is done; PIE_BURST is the word that nobody has to ask for */
    val oldDelay = RegNextWhen(controller.io.oldDelay, begins)
    val oldBurst = RegNextWhen(Mux(first, words.word.asUInt, fromTick.burst), RegNext(begins))
    val left = RegNext(oldBurst -^ period)
    private val target = controller.io.target
    val short = RegNext((delayNs << 1) < target.resize(33))
    val wasShort = RegNext((oldDelay << 1) < target.resize(33))

    /** after the controller */
    val t0 = controller.io.done
    val next = controller.io.next
    val none = RegNextWhen(next === 0, t0)
    val small = RegNextWhen(controller.io.small, t0)
    val t1 = RegNext(t0) init False
    val burst = RegNextWhen(Mux(none && short && wasShort, words.word.asUInt,
      Mux(left.msb, U(0, 32 bits), left(31 downto 0))), t1)
    val t2 = RegNext(t1) init False
    val still = RegNextWhen(burst === oldBurst, t2)
    val burstLeft = RegNextWhen(burst =/= 0, t2)
    val t3 = RegNext(t2) init False
    /** from a register: a word that comes in that very cycle, the first of an apply, is too late to make the tick void */
    private val takes = RegNext(t3 && !abandoned && !disturbed) init False
    /** the tick changed nothing, and the next will find the same */
    private val rests = none && still && controller.io.undelayed
    val t4 = RegNext(t3) init False
    when(t4)(busy := False)

    val tickState = TickState()
    tickState.low := next(fraction - 33 downto 0)
    tickState.oldDelay := delayNs
    tickState.burst := burst
    tickStates.write(queue.resized, tickState, takes)
    val decisionState = DecisionState()
    decisionState.probability := next(fraction - 1 downto fraction - 32)
    decisionState.allowed := burstLeft
    decisionState.calm := short && small
    decisionStates.write(queue.resized, decisionState, takes)
    for (q <- 0 until c.queues) when(takes && queue === q)(fresh(q) := False)
    private val sleeping = takes && rests && !PerQueue.bit(delay.some | delay.appears, queue)
    timer.io.sleep := PerQueue.select(c.queues, sleeping, queue)

    io.tick.valid := RegNext(takes) init False
    io.tick.queue := queue
    io.tick.policy := PieEngine.Pie.id
    io.tick.nowNs := nowNs
    private val record = RegNextWhen(TraceRecord.tickState(PieEngine.Pie, "p" -> next(fraction - 1 downto 0),
      "calm" -> decisionState.calm, "asleep" -> sleeping, "delay_ns" -> delayNs, "burst_ns" -> burst), t4)
    io.tick.words := record
  }
  for (q <- 0 until c.queues) when(io.clear(q))(fresh(q) := True)
  io.busy := timer.io.busy || tick.busy || io.tick.valid
  io.turning := True
  io.attentive := delay.some.orR

  /** The decision. */
  val stage = new ValidPipeline(io.request.valid, c.fastLatency)

  val t1 = new Area {
    private val queue = io.request.queue
    private val state = decisionStates.readAsync(queue.resized)
    private val first = PerQueue.bit(fresh.asBits, queue)
    val probability = RegNextWhen(Mux(first, U(0, 32 bits), state.probability), stage(0))
    /** no burst allowance is left */
    val active = RegNextWhen(!first && !state.allowed, stage(0))
    val calm = RegNextWhen(first || state.calm, stage(0))
    val draw = RegNextWhen(io.request.draw, stage(0))
    val bytes = RegNextWhen(io.request.bytes, stage(0))
    val ecn = RegNextWhen(io.request.ecn, stage(0))
    val bypass = RegNextWhen(words("PIE_BYPASS", queue).asUInt, stage(0))
    val ecnMax = RegNextWhen(words("PIE_ECN_MAX", queue).asUInt, stage(0))
    val ecnOn = RegNextWhen(words.flag("PIE_CTRL", "ECN", queue), stage(0))
  }

  val t2 = new Area {
    val hit = RegNextWhen((t1.draw << 8) < t1.probability, stage(1))
    val few = RegNextWhen(t1.bytes <= t1.bypass, stage(1))
    val marks = RegNextWhen(t1.ecnOn && t1.probability <= t1.ecnMax, stage(1))
  }

  val t3 = new Area {
    private val next = PolicyVerdict(c)
    private val selected = t2.hit && t1.active && !t1.calm && !t2.few
    next.action := Action.accept
    next.cause := Cause.none
    when(selected) {
      next.cause := Cause.early
      next.action := Action.drop
      when(t2.marks) {
        when(t1.ecn === Ecn.ect0 || t1.ecn === Ecn.ect1)(next.action := Action.mark)
        when(t1.ecn === Ecn.ce)(next.action := Action.accept)
      }
    }
    next.evidence.average := 0
    next.evidence.count := (t2.few ## t1.calm ## !t1.active).asUInt.resized
    next.evidence.probability := t1.probability.resized
    next.evidence.idleSlots := 0
    val verdict = RegNextWhen(next, stage(2))
  }
  io.verdict.valid := stage(c.fastLatency)
  io.verdict.payload := SparseDelay(t3.verdict, stage, 3, c.fastLatency)
}
