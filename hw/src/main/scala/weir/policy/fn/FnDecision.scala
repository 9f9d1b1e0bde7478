package weir.policy.fn
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{Fixed, Multiplier, PartialProducts, PerQueue, ShiftRight, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords}
import weir.policy.{Action, Cause, Ecn, PolicyCommit, PolicyVerdict}

/** FN's decision from numerator and denominator of P: the count, the spreading and the draw (docs/modules/fn.md).
  *
  * Latency: from the numerator at t13 to the verdict at t20. Throughput: a request every 4 cycles. At reset and after
  * `clear` a queue's count is 0.
  */
case class FnDecision(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    /** a request is in t9 */
    val arriving = in Bool ()
    /** t9 to t12 */
    val arrival = in(FnArrival(c))
    /** it has an interval before it; t10 to t13 */
    val entered = in Bool ()
    val fill = in(UInt(13 bits))
    /** K ≤ 0; t12 to t15, as is `quadratic` */
    val full, quadratic = in Bool ()
    /** D and Nn, t13 to t16; D counts only where Nn is positive */
    val denominator = in(UInt(37 bits))
    val numerator = in(UInt(39 bits))
    /** Nn > 0, likewise */
    val positive = in Bool ()
    /** for the record; t12 to t15 */
    val average = in(Fixed.average())
    val commit = slave(Flow(PolicyCommit(c)))
    val clear = in(Bits(c.queues bits))
    val verdict = master(Flow(PolicyVerdict(c)))
  }
  noIoPrefix()

  private val live = new LiveWords(c, Seq(Fn.control, Fn.mean), io.config)
  /** stage(n): a request is in tn, n from 9 */
  private val stages = new ValidPipeline(io.arriving, 11)
  private def stage(n: Int): Bool = stages(n - 9)

  /** t13 to t16 and t17 to t20 */
  val held = new Area {
    val t13 = RegNextWhen(io.arrival, stage(12))
    val t17 = RegNextWhen(t13, stage(16))
    private def flag(name: String) = live.flag("FN_CTRL", name, io.arrival.queue)
    val uniform = RegNextWhen(flag("UNIFORM"), stage(12))
    val ecn = RegNextWhen(RegNextWhen(flag("ECN"), stage(12)), stage(16))
    val average = RegNextWhen(RegNextWhen(io.average, stage(13)), stage(17))
    val fill = RegNextWhen(RegNextWhen(io.fill, stage(13)), stage(17))
  }

  /** Multipliers by the stages that use them, no two of which a request is in at once. */
  val multipliers = new Area {
    val t10t13 = new Multiplier
    val t15t17 = Seq.fill(4)(new Multiplier)
    val t17t18 = Seq.fill(2)(new Multiplier)
  }

  /** κ = min(1, L/MaxPacketSize), 20 fraction bits; t15 to t18 */
  val size = new Area {
    val factor = RegNextWhen(live.scaled("FN_MEAN", io.arrival.queue), stage(9))
    val byBytes = RegNextWhen(live.flag("FN_CTRL", "BYTE_MODE", io.arrival.queue), stage(9))
    val product = multipliers.t10t13(io.arrival.length, factor.mantissa, stage(10))
    val product12 = RegNextWhen(product.resize(36), stage(11))
    val byBytes13 = RegNextWhen(byBytes, stage(12))
    val ratio = RegNextWhen(new ShiftRight(product12, factor.exponent, stage(12)).result, stage(13))
    val least = !byBytes13 || (ratio >> 20) =/= 0
    val kappa = RegNextWhen(least ? U(1 << 20, 21 bits) | ratio.resize(21), stage(14))
  }

  /** P is 0 or 1 without a comparison */
  val t13 = new Area {
    /** whatever Nn is */
    val always = RegNextWhen(io.entered && io.full && !io.quadratic, stage(12))
    val inBand = always || io.entered && io.positive
    val certain = io.full && inBand
    val inBand14 = RegNextWhen(inBand, stage(13))
    val certain14 = RegNextWhen(certain, stage(13))
    val certain17 = RegNextWhen(certain14, stage(16))
  }

  /** Packets since the last action or since P was 0, for each queue. A request reads it at t12 and counts at t13. */
  val count = new Area {
    val restarts = io.commit.acts
    /** of the request in t14 to t17: the only one that has counted and is younger than the one committed */
    val younger = RegNextWhen(held.t13.queue, stage(13))
    /** A commit is that of the request in t21: its queue is known here, and only whether it restarts comes late. */
    val committed = new Area {
      /** t21 to t24 */
      val queue = RegNextWhen(held.t17.queue, stage(20))
      val of = RegNextWhen(PerQueue.select(c.queues, True, held.t17.queue), stage(20)) init 0
      private val next = stage(20) ? held.t17.queue | queue
      /** the request in t13 is of it; there is a younger one, of it */
      val counting = RegNext(next === (stage(12) ? io.arrival.queue | held.t13.queue))
      val counted = RegNext(Seq(13, 14, 15, 16).map(stage).orR && next === (stage(13) ? held.t13.queue | younger)) init False
    }
    private val one = committed.counted && t13.inBand14
    val values = Vec.fill(c.queues)(Reg(UInt(16 bits)) init 0)
    val used = RegNextWhen(PerQueue(values, io.arrival.queue), stage(12))
    /** what has become of it in t12 */
    val anew = new Area {
      private val cleared = PerQueue.bit(io.clear, io.arrival.queue)
      val found = RegNextWhen(restarts && committed.queue === io.arrival.queue || cleared, stage(12))
      val one12 = RegNextWhen(one && !cleared, stage(12))
    }
    private val last = anew.found ? anew.one12.asUInt.resize(16) | used
    private val restarted = restarts && committed.counting
    val next = t13.inBand ? (restarted ? (one.asUInt +^ U(1, 1 bit)).resize(16) | (last +| 1)) | U(0, 16 bits)
    private val counting = RegNext(PerQueue.select(c.queues, stage(12), io.arrival.queue)) init 0
    for ((value, q) <- values.zipWithIndex) {
      val counts = counting(q)
      val begins = restarts && committed.of(q) && !counts
      when(counts)(value := next)
      when(begins)(value.lsb := one)
      when(begins || io.clear(q))(value(15 downto 1) := 0)
      when(io.clear(q))(value.lsb := False)
    }
    val used17 = RegNextWhen(t13.inBand14 ? used | U(0, 16 bits), stage(16))
  }

  /** g = κ·(1 + u·count), UQ16.20, at t17 */
  val weight = new Area {
    val product = new PartialProducts(held.t13.draw, count.used, Multiplier.at(stage(13), Seq(multipliers.t10t13, new Multiplier)))
    val spread = (product.sum(40) >> 4).resize(36) + U(1 << 20, 36 bits)
    val one = RegNextWhen(held.uniform ? spread | U(1 << 20, 36 bits), stage(14))
    val scaled = new PartialProducts(size.kappa, one, Multiplier.at(stage(15), multipliers.t15t17))
    val g = RegNextWhen((scaled.sum(57) >> 20).resize(36), stage(16))
  }

  /** d, 18 bits with the top bit set, and n, P = n/(d·2^18); t16 to t19 */
  val ratio = new Area {
    val normaliser = new FnNormaliser(io.denominator, io.numerator(36 downto 0), Seq(stage(13), stage(14), stage(15)))
    val d = Reg(UInt(18 bits))
    val n = Reg(UInt(36 bits))
    when(stage(15)) {
      d := normaliser.lastValue(36 downto 19)
      n := normaliser.lastCompanion(36 downto 1)
    }
    // 2^17 and 2^35 for P = 1, 0 for no P
    when(stage(15) && t13.certain14) {
      d := 0
      d.msb := True
    }
    when(stage(15) && (t13.certain14 || !t13.inBand14)) {
      n := 0
      n.msb := t13.inBand14
    }
  }

  /** u·D against Nn·g */
  val comparison = new Area {
    val left = new PartialProducts(held.t17.draw, ratio.d, Multiplier.at(stage(17), multipliers.t17t18))
    val right = new PartialProducts(ratio.n, weight.g, Multiplier.at(stage(17), multipliers.t15t17))
    val leftSum = RegNextWhen(left.sum(42), stage(18))
    val rightSum = RegNextWhen(right.sum(72), stage(18))
    val less = (leftSum << 14).resize(72) < rightSum
  }

  /** P for the record */
  val probability = new Area {
    val reciprocal = FnReciprocal.read(FnReciprocal.rom(), ratio.d, stage(16), stage(17))
    val product = new PartialProducts(ratio.n, reciprocal, Multiplier.at(stage(18), multipliers.t17t18))
    val sum = (product.sum(54) >> 21).resize(33)
    private val one = sum.msb || t13.certain17
    /** an AND, for that it is 1 comes late */
    val value = one.asUInt @@ (sum.resize(32) & U(32 bits, default -> !one))
  }

  val answer = new Area {
    val verdict = Reg(PolicyVerdict(c))
    when(stage(19)) {
      verdict.action := Action.accept
      verdict.cause := Cause.none
      when(comparison.less) {
        verdict.cause := t13.certain17 ? U(Cause.forced, 3 bits) | U(Cause.early, 3 bits)
        verdict.action := Action.drop
        when(held.ecn) {
          when(held.t17.ecn === Ecn.ce)(verdict.action := Action.accept)
          when(held.t17.ecn === Ecn.ect0 || held.t17.ecn === Ecn.ect1)(verdict.action := Action.mark)
        }
      }
      verdict.evidence.average := held.average
      verdict.evidence.count := count.used17
      verdict.evidence.probability := probability.value
      verdict.evidence.idleSlots := held.fill.resized
    }
    io.verdict.valid := stage(20)
    io.verdict.payload := verdict
  }
}
