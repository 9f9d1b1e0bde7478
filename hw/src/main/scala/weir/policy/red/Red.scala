package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{CarrySave, Fixed, Multiply, PartialProducts, ShiftSaturate, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords}
import weir.policy.{Action, Ecn, Policy, PolicyCommit, PolicyEvidence, PolicyRequest, PolicyVerdict}

/** RED's decision, given the average (docs/modules/red.md): `u·ω·2^28 < p·g`, no divider. Where ISRED's
  * [[RateTest]] finds a rapid rise, the test that its mode prescribes.
  *
  * Latency: the verdict is valid 10 cycles after the request (t10); `Ewma` answers at t4. Throughput: a request every
  * 4 cycles; values that are needed for longer than a cycle are held in registers that rely on that distance. The
  * commit of a request comes at t11. Parameters are sampled at t0 and t2.
  */
case class Red(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val request = slave(Flow(PolicyRequest(c)))
    /** q in the queue's unit, with the request */
    val quantity = c.has(Policy.Isred) generate in(c.quantity)
    /** max_p and slopes that ticks have set, of the queue of t1 to t4 */
    val adapted = c.has(Policy.Ared) generate slave(Flow(Slopes()))
    val adaptedQueue = c.has(Policy.Ared) generate out(c.queueId)
    /** from [[Ewma]], t4 */
    val average = in(Fixed.average())
    /** the average before the request, t4 */
    val previous = c.has(Policy.Isred) generate in(Fixed.average())
    val belowMinimum, belowMaximum = in(Fixed.distance)
    val belowDouble = in(Fixed.doubleDistance)
    val idleSlots = in(Fixed.slots())
    val commit = slave(Flow(PolicyCommit(c)))
    /** the queue's count starts anew */
    val clear = in(Bits(c.queues bits))
    val verdict = master(Flow(PolicyVerdict(c)))
  }
  noIoPrefix()

  /** stage(n): a request is in tn */
  val stage = new ValidPipeline(io.request.valid, 9)

  private val words = new LiveWords(c,
    RedFamily.named("RED_FLAGS", "RED_SLOPE", "RED_GENTLE_SLOPE", "RED_MAXP", "RED_MEAN"), io.config)
  private def flag(word: Bits, name: String): Bits = RedFamily.field(word, "RED_FLAGS", name)

  /** t1 to t4 */
  val arrival = new Area {
    private val flags = words("RED_FLAGS", io.request.queue)
    val queue = RegNextWhen(io.request.queue, stage(0))
    val length = RegNextWhen(io.request.length, stage(0))
    val draw = RegNextWhen(io.request.draw, stage(0))
    val ecn = RegNextWhen(io.request.ecn, stage(0))
    val few = RegNextWhen(io.request.packets <= 1, stage(0))
    val mean = RegNextWhen(RedFamily.scaled(words("RED_MEAN", io.request.queue)), stage(0))
    val byteMode = RegNextWhen(flag(flags, "BYTE_MODE").asUInt, stage(0))
    val spread = RegNextWhen(flag(flags, "SPREAD").asUInt, stage(0))
    val exemptFirst = RegNextWhen(flag(flags, "EXEMPT_FIRST").lsb, stage(0))
  }

  /** t3 to t6 */
  val parameters = new Area {
    private val flags = words("RED_FLAGS", arrival.queue)
    private val written = Slopes()
    written.maxP := words("RED_MAXP", arrival.queue).asUInt
    written.slope := RedFamily.scaled(words("RED_SLOPE", arrival.queue))
    written.gentleSlope := RedFamily.scaled(words("RED_GENTLE_SLOPE", arrival.queue))
    private val used =
      if (c.has(Policy.Ared)) io.adapted.valid ? io.adapted.payload | written else written
    val slope = RegNextWhen(used.slope, stage(2))
    val gentleSlope = RegNextWhen(used.gentleSlope, stage(2))
    val maxP = RegNextWhen(used.maxP, stage(2))
    val gentle = RegNextWhen(flag(flags, "GENTLE").lsb, stage(2))
    val ecn = RegNextWhen(flag(flags, "ECN").lsb, stage(2))
    val hardDrop = RegNextWhen(flag(flags, "HARDDROP").lsb, stage(2))
    val noDrop = RegNextWhen(flag(flags, "NODROP").lsb, stage(2))
  }
  if (c.has(Policy.Ared)) io.adaptedQueue := arrival.queue

  val count = RedCount(c)
  count.io.request << io.request
  count.io.exemptFirst := arrival.exemptFirst
  count.io.commit << io.commit
  count.io.clear := io.clear

  /** κ = 1 or L/mean, UQ12.20; product t2, κ t3 to t6 */
  val size = new Area {
    val byBytes = arrival.byteMode =/= 0
    val product = Multiply(arrival.length, arrival.mean.mantissa)
    val kappa = RegNextWhen(byBytes ? (product >> arrival.mean.exponent) | Fixed.size.one, stage(2))
  }

  /** h for both counts that are possible, UQ16.20. `kept` needs t2 to t4; `restarted` is small and done at t3. */
  val spreading = new Area {
    val after = arrival.byteMode === 1
    val before = arrival.byteMode(1)
    private val mean = arrival.mean
    val keptBytes = new PartialProducts(count.io.kept.bytes, mean.mantissa)
    val keptMeans = ShiftSaturate.coarse(keptBytes.sum(42), mean.exponent, 36).next(stage(3))
    val keptSizes = new PartialProducts(size.kappa, count.io.kept.packets)
    val keptPackets = count.io.kept.packets

    val restartedBytes = Multiply(count.io.restarted.bytes, mean.mantissa)
    val restarted = Reg(Fixed.spread())
    when(stage(3)) {
      restarted := (count.io.restarted.packets @@ U(0, 20 bits)).resize(Fixed.spread.width)
      when(after)(restarted := (restartedBytes >> mean.exponent).resize(Fixed.spread.width))
      when(before)(restarted :=
        (count.io.restarted.packets(1) ? (size.kappa << 1) | size.kappa.resize(33)).resize(Fixed.spread.width))
      when(before && count.io.restarted.packets === 0)(restarted := 0)
    }
  }

  /** Region, h, slope products */
  val t4 = new Area {
    val outside = io.belowMinimum.msb
    val upper = !io.belowMaximum.msb
    val forced = !outside && (!io.belowDouble.msb || upper && !parameters.gentle)
    count.io.outside := outside
    count.io.forced := forced

    /** count·κ, the latest of all to come. That it saturates is seen at the upper of its terms, so not after the sum but
      * from 3/4 of the range on.
      */
    private val Seq(lower, upperTerm) = spreading.keptSizes.terms
    private val sizes = (lower +^ (upperTerm(17 downto 0) << 18)).resize(Fixed.spread.width)
    private val saturated = upperTerm(29 downto 18) =/= 0 || upperTerm(17 downto 16).andR
    private val spreads = arrival.spread =/= 0
    private val usesSizes = spreads && spreading.before && !count.io.restart
    /** h of all other cases, or all ones */
    private val others = Fixed.spread()
    others.assignDontCare()
    when(stage(4)) {
      others := 0
      when(spreads) {
        when(count.io.restart) {
          others := spreading.restarted
        } elsewhen (spreading.after) {
          others := spreading.keptMeans.saturated
        } elsewhen (!spreading.before) {
          others := spreading.keptPackets @@ U(0, 20 bits)
        } elsewhen (saturated) {
          others := (BigInt(1) << 36) - 1
        }
      }
    }
    /** 0 for geometric */
    val h = others | (usesSizes ? sizes | U(0))

    /** slope·(avg − threshold) of the region */
    private val excess = (upper ? io.belowMaximum | io.belowMinimum)(42 downto 7).asUInt
    val product = new PartialProducts(upper ? parameters.gentleSlope.mantissa | parameters.slope.mantissa, excess)
  }

  /** t5 to t8 */
  val middle = new Area {
    val draw = RegNextWhen(arrival.draw, stage(4))
    val waits = RegNextWhen(arrival.spread.msb, stage(4))
    val h = RegNextWhen(t4.h, stage(4))
    val upper = RegNextWhen(t4.upper, stage(4))
    val inBand = RegNextWhen(!t4.outside && !t4.forced, stage(4))
    val forced = RegNextWhen(t4.forced, stage(4))
    val few = RegNextWhen(arrival.few, stage(4))
    val exempt = RegNextWhen(count.io.fresh && arrival.exemptFirst, stage(4))
    val used = RegNextWhen(count.io.used, stage(4))
    val exponent = RegNextWhen(t4.upper ? parameters.gentleSlope.exponent | parameters.slope.exponent, stage(4))
    val average = RegNextWhen(io.average, stage(4))
    val idleSlots = RegNextWhen(io.idleSlots, stage(4))
    val action = RegNextWhen(selectedAction(arrival.ecn, t4.forced), stage(4))
  }

  /** What selection means for a packet */
  private def selectedAction(ecn: UInt, forced: Bool): UInt = {
    val action = UInt(2 bits)
    action := Action.drop
    when(parameters.ecn && !(forced && parameters.hardDrop)) {
      when(parameters.noDrop || ecn === Ecn.ce)(action := Action.accept)
      when(ecn === Ecn.ect0 || ecn === Ecn.ect1)(action := Action.mark)
    }
    action
  }

  /** ISRED's test, if it is built; t7 to t10 */
  val rate = c.has(Policy.Isred) generate RateTest(c)
  if (c.has(Policy.Isred)) {
    rate.io.config << io.config
    rate.io.request << io.request
    rate.io.quantity := io.quantity
    rate.io.clear := io.clear
    rate.io.kappa := size.kappa
    rate.io.average := io.average
    rate.io.previous := io.previous
    rate.io.between := !t4.outside && !t4.upper
  }
  private def rapid: Bool = if (c.has(Policy.Isred)) rate.io.rapid else False
  private def certainly: Bool = if (c.has(Policy.Isred)) rate.io.certain else False

  /** u·h; slope·(avg − threshold) */
  val t5 = new Area {
    val spread = new PartialProducts(middle.draw, middle.h)
    val product = t4.product.sum(54)
    val slope = ShiftSaturate.coarse(product, middle.exponent, 32)
    val maxP = middle.upper ? parameters.maxP | U(0)
  }

  /** RED's g = κ + spread·((u·h) >> 24), saturation left to t7; p but for its bound: overflow, found in two ways, makes it one */
  val t6 = new Area {
    /** two bits more than g has, and the upper one of them is never set: u·h is less than 2^60, κ less than 2^32 */
    val gExact = CarrySave.sum(t5.spread.parts :+ (size.kappa -> 24), 62) >> 24
    val g = RegNextWhen(gExact.resize(Fixed.spread.width), stage(6))
    val gSaturated = RegNextWhen(gExact(36), stage(6))
    val slope = t5.slope.next(stage(5))
    val maxP = RegNextWhen(t5.maxP, stage(5))
    val sum = slope.result +^ maxP
  }

  /** p·g, p·h */
  val t7 = new Area {
    val fraction = RegNextWhen(t6.sum.resize(32), stage(6))
    val overflow = RegNextWhen(t6.slope.overflow, stage(6))
    private val carry = RegNextWhen(t6.sum.msb, stage(6))
    val one = overflow || carry
    /** ISRED's, or RED's; the largest is 2^36 − 1. A LUT before multipliers, and no more. */
    val g = CombInit(t6.gSaturated ? U(t6.g.maxValue, 36 bits) | t6.g)
    if (c.has(Policy.Isred)) when(rate.io.gained)(g := rate.io.g)
    val decision = new PartialProducts(fraction, g)
    val waiting = new PartialProducts(fraction, middle.h)
    val waits = middle.waits && !rapid
    val scaledDraw = waits ? (middle.draw << 1) | middle.draw.resize(25)
  }

  /** Sums; the same tests for p = 1, which need no product */
  val t8 = new Area {
    val one = RegNextWhen(t7.one, stage(7))
    val fraction = RegNextWhen(t7.fraction, stage(7))
    val waits = RegNextWhen(t7.waits, stage(7))
    val scaledDraw = RegNextWhen(t7.scaledDraw, stage(7))
    val g = RegNextWhen(t7.g, stage(7))
    val decision = t7.decision.sum(68)
    val waiting = t7.waiting.sum(68)
    val decisionOne = scaledDraw < (g << 4)
    val waitingOne = (middle.h >> 20) =/= 0
  }

  /** t9 to t12 */
  val late = new Area {
    val one = RegNextWhen(t8.one, stage(8))
    val scaledDraw = RegNextWhen(t8.scaledDraw, stage(8))
    val decision = RegNextWhen(t8.decision, stage(8))
    val waiting = RegNextWhen(t8.waiting, stage(8))
    val decisionOne = RegNextWhen(t8.decisionOne, stage(8))
    val waitingOne = RegNextWhen(t8.waitingOne || !t8.waits, stage(8))
    val waits = RegNextWhen(t8.waits, stage(8))
    val possible = RegNextWhen(middle.inBand && !middle.few && (!middle.exempt || rapid), stage(8))
    val certain = RegNextWhen(certainly && middle.inBand && !middle.few, stage(8))
    val forced = RegNextWhen(middle.forced && !middle.few, stage(8))
    val action = RegNextWhen(middle.action, stage(8))
    val evidence = Reg(PolicyEvidence(c))
    when(stage(8)) {
      evidence.average := middle.average
      evidence.count := middle.used
      evidence.idleSlots := middle.idleSlots
      evidence.probability := t8.fraction.resize(33)
      when(t8.one || certainly)(evidence.probability := Fixed.probability.one)
      when(!middle.inBand)(evidence.probability := 0)
      when(middle.forced)(evidence.probability := Fixed.probability.one)
    }
  }

  /** The comparison, of the upper bits alone, and of them with what is below: it comes late, and is the last to choose. */
  val t9 = new Area {
    private val scaled = late.decision(52 downto 28)
    private val less = late.decision(67 downto 53) =/= 0 || late.scaledDraw < scaled ||
      late.scaledDraw === scaled && late.decision(27 downto 0) =/= 0
    private val waited = late.waiting(67 downto 52) =/= 0 || !late.waits
    /** selected by what is known since t8, or by the comparison */
    private val sure = late.certain || late.possible && late.one && late.decisionOne && late.waitingOne
    private val open = late.possible && !late.one && waited
    val early = sure || open && less
    val verdict = PolicyVerdict(c)
    verdict.action := late.action & U(2 bits, default -> (early || late.forced))
    // no more than one of them
    verdict.cause := (late.forced ## early).asUInt.resized
    verdict.evidence := late.evidence
  }

  val answered = RegNext(stage(9)) init False
  val verdict = RegNextWhen(t9.verdict, stage(9))
  io.verdict.valid := answered
  io.verdict.payload := verdict
}
