package weir.aqm

import spinal.core._
import spinal.lib._
import weir.{Policy, PolicyEngine, Steps, WeirConfig}
import weir.csr._
import weir.csr.Registers._

/** PIE, RFC 8033. */
object PieEngine extends PolicyEngine("pie") {
  def build(c: WeirConfig): PolicyUnit = new Pie(c)

  object Pie extends Policy(6, "pie", 5) {
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
  }
}

/** PIE's decision, and its drop probability that a tick unit brings up to date for one queue after the other
  * (docs/modules/pie.md).
  *
  * Latency: the verdict is valid `c.fastLatency` cycles after its request (it is made in three). Throughput: a
  * request every 4 cycles. A tick takes at most 62 cycles. At reset, and when cleared, a queue has p = 0 and its
  * whole burst allowance.
  */
class Pie(c: WeirConfig) extends PolicyUnit(c) {
  import PiController.{fifth, fraction}

  val words = new LiveWords(c, PieEngine.Pie.registers, io.config)
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

    private val target = words("PIE_TARGET", queue).asUInt
    private val interval = words("PIE_INTERVAL", queue).asUInt
    private val allowance = words("PIE_BURST", queue).asUInt
    val old = new Area {
      private val fromTick = tickStates.readAsync(queue.resized)
      private val fromDecision = decisionStates.readAsync(queue.resized)
      private val first = PerQueue.bit(fresh.asBits, queue)
      private def unless[T <: UInt](none: UInt, value: UInt) = Mux(first, none, value)
      val probability = unless(U(0, fraction bits), fromDecision.probability @@ fromTick.low)
      val delayNs = unless(U(0, 32 bits), fromTick.oldDelay)
      val burst = unless(allowance, fromTick.burst)
    }

    val multiplier = SerialMultiplier()
    val controller = new PiController(c, tuned = true)
    controller.io.start := begins
    controller.io.probability := old.probability
    controller.io.delay := delayNs
    controller.io.oldDelay := old.delayNs
    controller.io.target := target
    controller.io.alpha := words.scaled("PIE_ALPHA", queue)
    controller.io.beta := words.scaled("PIE_BETA", queue)
    multiplier.io.start := controller.io.multiply
    multiplier.io.a := controller.io.factor.resized
    multiplier.io.b := controller.io.magnitude.resized
    controller.io.product := multiplier.io.product
    controller.io.multiplied := multiplier.io.done

    /** known before the controller is done */
    val period = RegNextWhen(Mux(interval < TickTimer.least, U(TickTimer.least, 32 bits), interval), begins)
    val oldBurst = RegNextWhen(old.burst, begins)
    val oldDelay = RegNextWhen(old.delayNs, begins)
    val whole = RegNext(allowance)
    val left = RegNext(oldBurst - period)
    val spent = RegNext(oldBurst < period)
    val short = RegNext((delayNs << 1) < target.resize(33))
    val undelayed = RegNext(delayNs === 0 && oldDelay === 0)
    val wasShort = RegNext((oldDelay << 1) < target.resize(33))

    /** after the controller */
    val t0 = controller.io.done
    val next = controller.io.next
    val none = RegNextWhen(next === 0, t0)
    val small = RegNextWhen(next < fifth, t0)
    val t1 = RegNext(t0) init False
    val burst = RegNextWhen(Mux(none && short && wasShort, whole, Mux(spent, U(0, 32 bits), left)), t1)
    val t2 = RegNext(t1) init False
    val still = RegNextWhen(burst === oldBurst, t2)
    val burstLeft = RegNextWhen(burst =/= 0, t2)
    val t3 = RegNext(t2) init False
    private val takes = t3 && !abandoned && !disturbed
    /** the tick changed nothing, and the next will find the same */
    private val rests = none && still && undelayed
    when(t3)(busy := False)

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
    private val record = RegNextWhen(Vec(
      next(fraction - 1 downto fraction - 32).asBits,
      (sleeping ## decisionState.calm ## next(fraction - 33 downto 0)).resize(32),
      delayNs.asBits,
      burst.asBits
    ), takes)
    io.tick.words := record
  }
  for (q <- 0 until c.queues) when(io.clear(q))(fresh(q) := True)
  io.busy := timer.io.busy || tick.busy || io.tick.valid
  io.turning := True
  io.attentive := delay.some.orR

  /** The decision. */
  val stage = new Steps(io.request.valid, c.fastLatency)

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
  io.verdict.payload := Aligned(t3.verdict, stage, 3, c.fastLatency)
}
