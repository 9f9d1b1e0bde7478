package weir.policy.codel
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{AgedTimestamps, PartialProducts, PerQueue, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords, Register, Value}
import weir.control.registers.Registers._
import weir.policy.{Action, Cause, Ecn, Parameter, Parameters, Plot, Policy, PolicyEngine, PolicyUnit}

/** CoDel, controlled delay (RFC 8289), with marking as in Linux' `codel` and `fq_codel` (docs/modules/codel.md). */
object Codel extends Policy(7, "codel", 1) {
  import Parameters._

  val help = "controlled delay: drops or marks at departure by the sojourn time"
  val source = "RFC 8289; tc-codel(8)"
  val acts = "departure, sojourn time"
  override val plot: Plot = Plot.Sojourn
  override val demo: Option[(String, String)] = Some((
    "limit 100KB target 100us interval 200us ecn on",
    "Marks or drops at the head when packets have waited too long for too long (RFC " +
      "8289)."))
  override val bench = "target 20us interval 200us ecn on"
  override val parameters: Seq[Parameter] = Seq(
    time("target", 1, "5ms", "RFC 8289 TARGET, tc-codel target", "sojourn time that may stand",
      "RFC 8289 has 5ms, 5 to 10 % of interval"),
    time("interval", 1, "100ms", "RFC 8289 INTERVAL, tc-codel interval",
      "time above target before the first drop: the longest usual round trip", "RFC 8289 has 100ms"),
    length("maxpacket", 0, "1514", "RFC 8289 MAXPACKET, Linux mtu",
      "no drop while the queue holds this or less: the longest usual frame, header included",
      "give the longest usual frame: an MTU of 1500 is 1514"),
    time("ce_threshold", 0, "off", "tc-codel ce_threshold", "ECT packets with a longer sojourn time are marked",
      "or off"),
    switch("ecn", "off", "tc-codel ecn", "mark ECT packets instead of dropping them"))
  val engine: Option[PolicyEngine] = Some(CodelEngine)
  override val atDeparture = true
  val registers: Seq[Register] = Seq(
    shadow("CODEL_CTRL", 0x0D8, 32, Value(0), "variant of CoDel", flag("ECN", 0, "mark ECT packets instead of dropping them")),
    shadow("CODEL_TARGET", 0x0DC, 32, Value(5000000), "sojourn time that may stand, ns"),
    shadow("CODEL_INTERVAL", 0x0E0, 32, Value(100000000), "time above the target before the first drop, ns"),
    shadow("CODEL_MTU", 0x0E4, 14, Value(1514), "no drop while the queue holds this many bytes or fewer"),
    shadow("CODEL_CE_THRESHOLD", 0x0E8, 32, Value((BigInt(1) << 32) - 1),
      "ECT packets with a longer sojourn are marked, ns; all ones is off")
  )
}

object CodelEngine extends PolicyEngine("codel") {
  def build(c: WeirConfig): PolicyUnit = new Codel(c)

  /** where the RFC's `deque()` of a queue stands when the next packet comes */
  object Phase {
    /** at its beginning */
    val begin = 0
    /** a drop has entered the dropping state: the next packet is returned whatever it is */
    val entered = 1
    /** in the `while` loop, after a drop */
    val loop = 2
  }
}

/** CoDel's decisions.
  *
  * Arrivals are accepted, with the other fast policies' latency. Departures: the verdict is valid one cycle after the departure;
  * the state is complete after six, and departures, of whatever queue, are at least six apart. At reset, and by `clear`, a
  * queue is below its target, not in the dropping state, with a count of 0.
  */
class Codel(c: WeirConfig) extends PolicyUnit(c) {
  import CodelEngine.Phase

  private val words = new LiveWords(c, Codel.registers, ConfigWrite.later(io.config))

  val accepted = Delay(io.request.valid, c.fastLatency, init = False)
  io.verdict.valid := accepted

  /** stage(n): a departure is in dn */
  val stage = new ValidPipeline(io.departure.valid, 5)

  val state = new Area {
    val dropping, above = Reg(Bits(c.queues bits)) init 0
    /** count and lastcount are 0 */
    val fresh = Reg(Bits(c.queues bits)) init B(c.queues bits, default -> True)
    val phase = Vec.fill(c.queues)(Reg(UInt(2 bits)) init Phase.begin)
    /** first_above_time, drop_next; drop_next before the drop that the loop is about to account for */
    val firstAbove, dropNext, dropBefore = new AgedTimestamps(c, io.nowNs)
    val count = Mem(UInt(16 bits), c.queues max 2)
    /** count − lastcount */
    val delta = Mem(UInt(16 bits), c.queues max 2)
    /** 1/√n for the next drop's n: mantissa, exponent */
    val inverse = Mem(UInt(21 bits), c.queues max 2)
  }

  /** Everything is compared with time and configuration. */
  val d0 = new Area {
    val queue = io.departure.queue
    val nowNs = io.departure.nowNs
    val interval = words("CODEL_INTERVAL", queue).asUInt
    val threshold = words("CODEL_CE_THRESHOLD", queue).asUInt
    val below = io.departure.sojournNs < words("CODEL_TARGET", queue).asUInt.resize(48)
    val few = io.departure.bytes <= words("CODEL_MTU", queue).asUInt.resize(c.quantityWidth)
    val late = io.departure.sojournNs > threshold.resize(48) && !threshold.andR
    val sinceAbove = nowNs - state.firstAbove.read(queue)
    val due = !sinceAbove.msb || PerQueue.bit(state.firstAbove.old, queue)
    val dropNext = state.dropNext.read(queue)
    val delta = PerQueue.bit(state.fresh, queue) ? U(0, 16 bits) | state.delta.readAsync(queue.resized)
    val ecn = io.departure.ecn
  }

  /** The verdict. The state's flags follow at once, the numbers in the cycles after it. */
  val d1 = new Area {
    private def held[T <: Data](value: T): T = RegNextWhen(value, stage(0))
    val queue = held(d0.queue)
    val nowNs = held(d0.nowNs)
    val interval = held(d0.interval)
    val ce = held(d0.ecn === Ecn.ce)
    private val isEct = d0.ecn =/= Ecn.notEct
    /** what is chosen is marked */
    val marking = held(words.flag("CODEL_CTRL", "ECN", d0.queue) && isEct)
    /** it is marked after the threshold */
    val markable = held(!io.departure.exempt && isEct)
    val late = held(d0.late)
    /** not below: as the carry comes, without a LUT behind it */
    val reaches = held(!d0.below)
    val few = held(d0.few)
    val wasAbove = held(PerQueue.bit(state.above, d0.queue))
    val due = held(d0.due)
    val dropping = held(PerQueue.bit(state.dropping, d0.queue))
    val phase = held(PerQueue(state.phase, d0.queue))
    /** nothing but time and the queue's size keeps it from being chosen */
    val eligible = held(PerQueue.bit(state.above, d0.queue) && !io.departure.exempt && PerQueue(state.phase, d0.queue) =/= Phase.entered)
    val dropNext = held(d0.dropNext)
    val dropOld = held(PerQueue.bit(state.dropNext.old, d0.queue))
    val age = held(d0.nowNs - d0.dropNext)
    /** it is not chosen before `dropNext` */
    val waits = held(PerQueue.bit(state.dropping, d0.queue) && !PerQueue.bit(state.dropNext.old, d0.queue))
    val before = held(state.dropBefore.read(d0.queue))
    val count = held(state.count.readAsync(d0.queue.resized))
    val delta = held(d0.delta)
    val inverse = held(state.inverse.readAsync(d0.queue.resized))

    val above = reaches && !few
    val ok = above && wasAbove && due
    val chosen = above && due && eligible && !(waits && age.msb)
    val marks = chosen && marking
    val drops = chosen && !marking
    val steps = late && markable && !drops
    val enters = chosen && !dropping
    val advances = chosen && dropping
    val reverts = phase === Phase.loop && !ok
    val nextDropping = enters || dropping && (ok || phase === Phase.entered)
    val nextPhase = UInt(2 bits)
    nextPhase := Phase.begin
    when(drops)(nextPhase := dropping ? U(Phase.loop, 2 bits) | U(Phase.entered, 2 bits))

    val recent = !dropOld && (age.msb || age < (interval << 4).resize(48))
    val full = count.andR
    val countUp = count + (!full).asUInt
    val countUpTwice = (count(15 downto 1).andR) ? U(65535, 16 bits) | (count + 2)
    val deltaUp = delta + 1
    val scaled = new PartialProducts(inverse(17 downto 0), interval)

    io.departureVerdict.valid := stage(1)
    io.departureVerdict.action := Action.accept
    io.departureVerdict.cause := Cause.none
    when((marks || steps) && !ce)(io.departureVerdict.action := Action.mark)
    when(drops)(io.departureVerdict.action := Action.drop)
    when(chosen || late && markable)(io.departureVerdict.cause := Cause.forced)
  }

  /** count, and n of the next drop; drop_next's addends */
  val d2 = new Area {
    private def held[T <: Data](value: T): T = RegNextWhen(value, stage(1))
    val enters = held(d1.enters)
    val advances = held(d1.advances)
    val reverts = held(d1.reverts)
    val dropping = held(d1.nextDropping)
    /** the count of the last dropping state is a good beginning */
    val resumes = held(d1.recent && d1.delta > 1)
    val firstAbove = held(d1.nowNs + d1.interval)
    val setsAbove = held(d1.above && !d1.wasAbove)
    val base = held(d1.enters ? d1.nowNs | d1.dropNext)
    val countUp = held(d1.countUp)
    val countUpTwice = held(d1.countUpTwice)
    val deltaUp = held(d1.deltaUp)
    val deltaNext = held(d1.full ? d1.delta | d1.deltaUp)

    val begins = enters && !resumes
    val count = enters ? (resumes ? d1.delta | U(1, 16 bits)) | countUp
    val counts = stage(2) && (enters || advances)
    state.count.write(d1.queue.resized, count, counts)
    state.delta.write(d1.queue.resized, enters ? U(0, 16 bits) | deltaNext, counts)
    state.firstAbove.write(stage(2) && setsAbove, d1.queue, firstAbove, False)
    state.dropBefore.write(stage(2) && advances, d1.queue, d1.dropNext, d1.dropOld)

    val n = UInt(16 bits)
    n := dropping ? countUp | d1.delta
    when(enters)(n := resumes ? deltaUp | U(2, 16 bits))
    when(advances)(n := countUpTwice)
    val product = d1.scaled.sum(50)
  }

  /** interval·2^−e/√m; n as m·4^e */
  val d3 = new Area {
    val n = RegNextWhen(d2.n, stage(2))
    val product = RegNextWhen(d2.product, stage(2))
    val whole = RegNextWhen(d2.begins, stage(2))
    val step = whole ? d1.interval | ((product >> 18) >> d1.inverse(20 downto 18))

    /** bit e: the pair of bits e of n is not 0 */
    val pairs = Vec((0 until 8).map(e => n(2 * e + 1 downto 2 * e) =/= 0))
    val exponent = UInt(3 bits)
    val mantissa = UInt(16 bits)
    exponent := 0
    mantissa := (n << 14).resize(16)
    for (e <- 1 until 8) when(pairs(e)) {
      exponent := e
      mantissa := (n << (14 - 2 * e)).resize(16)
    }
    val rom = InverseSqrtRom()
    rom.io.enable := stage(3)
    rom.io.address := mantissa(15 downto 6)
  }

  val d4 = new Area {
    val step = RegNextWhen(d3.step, stage(3))
    val exponent = RegNextWhen(d3.exponent, stage(3))
    val dropNext = d2.reverts ? d1.before | (d2.base + step)
  }

  val d5 = new Area {
    val dropNext = RegNextWhen(d4.dropNext, stage(4))
    val old = d2.reverts ? PerQueue.bit(state.dropBefore.old, d1.queue) | (d1.dropOld && !d2.enters)
    state.dropNext.write(stage(5) && (d2.enters || d2.advances || d2.reverts), d1.queue, dropNext, old)
    state.inverse.write(d1.queue.resized, d4.exponent @@ d3.rom.io.value, stage(5))
  }

  for (q <- 0 until c.queues) {
    when(io.emptied(q))(state.above(q) := False)
    when(stage(1) && d1.queue === q) {
      state.dropping(q) := d1.nextDropping
      state.above(q) := d1.above
      state.phase(q) := d1.nextPhase
      when(d1.enters)(state.fresh(q) := False)
    }
    when(io.clear(q)) {
      state.dropping(q) := False
      state.above(q) := False
      state.phase(q) := Phase.begin
      state.fresh(q) := True
    }
  }

  // a queue that is cleared sets its times before it uses them
  for (times <- Seq(state.firstAbove, state.dropNext, state.dropBefore)) times.forget(io.clear)
  io.wake.valid := Seq(state.firstAbove, state.dropNext, state.dropBefore).map(_.ages).orR
  io.wake.payload := state.dropNext.wake
  io.busy := stage.passed.orR
  io.turning := True
}
