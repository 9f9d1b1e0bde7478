package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{CarrySave, Fixed, PartialProducts, PerQueue}
import weir.control.registers.{ConfigWrite, LiveWords}
import weir.policy.PolicyRequest

/** The exponentially weighted moving average of each queue, `avg ← avg + w·(q − avg)`, with its decay over idle time
  * (docs/modules/ewma.md).
  *
  * Latency: `average` and its differences to the thresholds are valid 4 cycles after the request. Throughput: a
  * request every 4 cycles, also of one queue; `idleSlots` relies on that distance. At reset the averages are 0.
  * A request that finds its queue empty comes with the factor of its idle time, from [[IdleDecay]].
  */
case class Ewma(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val request = slave(Flow(PolicyRequest(c)))
    /** with the request, if it found its queue empty */
    val factor = in(IdleFactor())
    /** q in the queue's unit, with the request */
    val quantity = in(c.quantity)
    val clear = in(Bits(c.queues bits))
    val average = out(Fixed.average())
    val belowMinimum = out(Fixed.distance)
    val belowMaximum = out(Fixed.distance)
    val belowDouble = out(Fixed.doubleDistance)
    val idleSlots = out(Fixed.slots())
    /** t4: the average before the request */
    val previous = out(Fixed.average())
    /** t3: that queue has another average from the next cycle on, as `live` tells */
    val stored = master(Flow(c.queueId))
    val live = out(Vec(Fixed.average(), c.queues))
  }
  noIoPrefix()

  val averages = Vec.fill(c.queues)(Reg(Fixed.average()) init 0)
  /** in t4: the result is the queue's average, and stored at the end of this cycle; the sum comes too late to be told to a queue in t3 */
  val storing = Reg(Bits(c.queues bits)) init 0

  private val words = new LiveWords(c, RedFamily.named("RED_WEIGHT_LO", "RED_WEIGHT_HI", "RED_MIN", "RED_MAX"),
    io.config)

  /** avg' = (retained·avg + kept + share·q + 2^36·base + 2^35) >> 36; no arithmetic in t0, operands come late:
    * normal: retained = 2^36 − 1 − W36, kept = avg, share = W36;  after m ≥ 1 idle slots: retained = A_idle;
    * w = 1: base = q, or nothing after idle slots. What is not named is 0.
    */
  val t0 = new Area {
    val queue = io.request.queue
    private val weightHigh = words("RED_WEIGHT_HI", queue)
    val unity = weightHigh(4)
    val idle = io.request.empty && io.factor.decays
    val average = PerQueue(io.live, queue)
    val weight = (weightHigh(3 downto 0) ## words("RED_WEIGHT_LO", queue)).asUInt
    val minimum = words("RED_MIN", queue).asUInt
    val maximum = words("RED_MAX", queue).asUInt
    val retained = unity ? Fixed.weight.zero | (idle ? io.factor.retained | ~weight)
    val share = (unity || idle) ? Fixed.weight.zero | weight
    val update = io.request.valid && !PerQueue.bit(io.clear, queue)
  }

  /** The products in parts of 18 × 18 bits */
  val t1 = new Area {
    val valid = RegNext(io.request.valid) init False
    val queue = RegNextWhen(t0.queue, io.request.valid)
    val slots = RegNextWhen(t0.idle ? io.factor.slots | U(0), io.request.valid)
    val update = RegNext(t0.update) init False
    val average = RegNextWhen(t0.average, io.request.valid)
    val quantity = RegNextWhen(io.quantity, io.request.valid)
    val retained = RegNextWhen(t0.retained, io.request.valid)
    val share = RegNextWhen(t0.share, io.request.valid)
    val unity = RegNextWhen(t0.unity, io.request.valid)
    val idle = RegNextWhen(t0.idle, io.request.valid)
    val minimum = RegNextWhen(t0.minimum, io.request.valid)
    val maximum = RegNextWhen(t0.maximum, io.request.valid)
    val past = new PartialProducts(retained, average)
    val present = new PartialProducts(share, quantity)
    val kept = RegNextWhen((unity || idle) ? Fixed.average.zero | average, valid)
  }

  /** Both products and the lower 36 bits of `kept`, but for that part of the first product that starts at 2^36; of their lower 36
    * bits, with the rounding, only the carries are needed. Base, with that part and the upper bits of `kept`, which is 0 unless it is, without and
    * with each threshold subtracted: 22 fraction bits, modulo 2^45.
    */
  val t2 = new Area {
    val valid = RegNext(t1.valid) init False
    val update = RegNext(t1.update && !PerQueue.bit(io.clear, t1.queue)) init False
    val past = CarrySave.sum(t1.past.parts.patch(Ewma.upperPart, Nil, 1), 81)
    val present =
      CarrySave.sum(t1.present.parts.map { case (p, offset) => p -> (offset + 22) } :+ (t1.kept(35 downto 0) -> 0), 81)
    val low = past(35 downto 0) +^ present(35 downto 0)
    private val base = ((t1.unity && !t1.idle) ? t1.quantity | U(0)) @@ U(0, 15 bits) @@ t1.kept(42 downto 36)
    private val thresholds = Seq(Seq(), Seq(t1.minimum -> 11), Seq(t1.maximum -> 11), Seq(t1.maximum -> 12))
    val bases = Vec(thresholds.map(t => CarrySave.difference(Seq(base, t1.past.terms(Ewma.upperPart)), t, 45)))
  }

  /** The last additions: what all have in common, then each base */
  val t3 = new Area {
    val valid = RegNext(t2.valid) init False
    val update = RegNext(t2.update && !PerQueue.bit(io.clear, t1.queue)) init False
    val past = RegNextWhen(t2.past >> 36, t2.valid)
    val present = RegNextWhen(t2.present >> 36, t2.valid)
    val carry = RegNextWhen(t2.low.msb, t2.valid)
    /** 2^35 more is one more where bit 35 is set */
    val rounding = RegNextWhen(t2.low(35), t2.valid)
    val bases = RegNextWhen(t2.bases, t2.valid)
    val common = CarrySave.sum(Seq(past -> 0, present -> 0), 45, carry)
    val results = Vec(bases.map(b => CarrySave.sum(Seq(common -> 0, b -> 0), 45, rounding)))
  }

  /** t4: the results */
  val t4 = new Area {
    val results = RegNextWhen(t3.results, t3.valid)
  }
  io.average := t4.results(0).resize(Fixed.average.width)
  io.belowMinimum := t4.results(1).asSInt.resize(Fixed.average.width + 1)
  io.belowMaximum := t4.results(2).asSInt.resize(Fixed.average.width + 1)
  io.belowDouble := t4.results(3).asSInt
  io.idleSlots := t1.slots
  io.previous := t1.average
  io.stored.valid := t3.valid
  io.stored.payload := t1.queue

  storing := PerQueue.select(c.queues, t3.update, t1.queue) & ~io.clear
  for (q <- 0 until c.queues) {
    io.live(q) := storing(q) ? io.average | averages(q)
    when(storing(q))(averages(q) := io.average)
    when(io.clear(q))(averages(q) := 0)
  }
}

object Ewma {
  /** which partial product is the lower limb of `retained` by the upper limb of the average */
  val upperPart = 2
}
