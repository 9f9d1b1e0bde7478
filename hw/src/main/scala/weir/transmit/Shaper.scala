package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{Multiply, ValidPipeline}

/** Shaper: GCRA, the leaky bucket as a meter (ITU-T I.371).
  *
  * The theoretical arrival time TAT is kept as `ahead` = max(0, TAT − now): it falls with the time that passes and
  * rises by the price of every charged frame, max(0, max(length, mpu) + overhead) · cost. A frame may go while
  * `ahead` ≤ burst.
  * Only differences of `now` between two samples are used: a time that wraps or jumps far is no special case, as long
  * as two cycles together advance it by less than 2^48 ns. Fractions (2^-19 ns) are kept: no drift.
  *
  * Latency: `allowed` follows the time by 4 cycles. After a charge in cycle t it is low from t+1 to t+4 and valid again
  * at t+5; `settled` is low from t+1 to t+5, and `wake` is valid when it rises. Throughput: a charge every 4 cycles.
  * Limits: `ahead` saturates below 2^34 ns; a legal charge never gets there (burst < 2^32, cost < 2^33).
  * Reset, and `applied`: the bucket starts anew, `ahead` = 0.
  */
case class Shaper(c: WeirConfig) extends Component {
  val io = new Bundle {
    val now = in(c.time)
    /** ns per byte, UQ17.19; 0 is off: always allowed */
    val cost = in(UInt(36 bits))
    /** burst tolerance in ns */
    val burst = in(UInt(32 bits))
    /** bytes a frame takes on the wire beyond its length */
    val overhead = in(SInt(16 bits))
    /** least length that is charged: a line pads shorter frames */
    val mpu = in(c.length)
    /** pulse: the parameters have changed */
    val applied = in(Bool())
    /** a frame was granted; its length */
    val charge = slave(Flow(c.length))
    val allowed = out(Bool())
    val settled = out(Bool())
    /** while settled and not allowed: the first ns at which the frame may go */
    val wake = out(c.time)
  }

  private val fraction = 19
  private val aheadWidth = 34 + fraction

  val off = RegNext(io.cost === 0) init True

  /** Cycle t+1…t+3: which step of its way a charge has reached. */
  val step = new Area {
    val charge = new ValidPipeline(io.charge.valid, 5)
    val charge1 = charge(1)
    val charge2 = charge(2)
    val charge3 = charge(3)
  }

  /** max(0, max(length, mpu) + overhead) · cost, from two 18 x 16 products. Valid with `step.charge3`. */
  val price = new Area {
    private def withOverhead(length: UInt) = length.resize(17).asSInt + io.overhead.resize(17)
    /** two sums and a choice: a comparison before one sum would be two carry chains in a cycle */
    val signedBytes = (io.charge.payload < io.mpu) ? withOverhead(io.mpu) | withOverhead(io.charge.payload)
    val bytes = RegNextWhen(signedBytes(15 downto 0).asUInt, io.charge.valid)
    /** less than none: no price, which is told from a register for `total` */
    val none = RegNextWhen(signedBytes.msb, io.charge.valid)
    private val free = RegNextWhen(none, step.charge1)
    val low = Multiply(io.cost(17 downto 0), bytes)
    val high = Multiply(io.cost(35 downto 18), bytes)
    val total = RegNextWhen(free ? U(0, 52 bits) | (high @@ U(0, 18 bits)) + low.resize(52), step.charge2)
  }

  /** Time that has passed between two samples. None is taken while a charge stands before its addition, so that
    * max(now, TAT) is the one of the charge's own cycle.
    */
  val time = new Area {
    val now = RegNext(io.now)
    val sample = Reg(c.time) init 0
    val passed = Reg(c.time) init 0
    when(!step.charge2) {
      passed := now - sample
      sample := now
    }
    /** the time that `ahead` is relative to */
    val reference = RegNext(sample)
  }

  val bucket = new Area {
    val ahead = Reg(UInt(aheadWidth bits)) init 0
    /** time comes in whole ns */
    val left = ((ahead >> fraction).resize(49) - time.passed.resize(49)) @@ ahead(fraction - 1 downto 0)
    val sum = ahead +^ price.total.resize(aheadWidth)
    when(step.charge3) {
      ahead := sum.msb ? ahead.getAllTrue | sum.resize(aheadWidth)
    } otherwise {
      ahead := left.msb ? ahead.getZero | left.resize(aheadWidth)
    }
    when(io.applied) { ahead := 0 }
  }

  val verdict = new Area {
    /** burst − ahead; the frame may go when it is not negative */
    val slack = (io.burst @@ U(0, fraction bits)).resize(aheadWidth + 1).asSInt -
      bucket.ahead.resize(aheadWidth + 1).asSInt
    val slackNs = RegNext(slack >> fraction)
    val reference = RegNext(time.reference)
    val wake = RegNext((reference.asSInt - slackNs.resize(c.timeWidth)).asUInt)
    val charging = io.charge.valid || step.charge1 || step.charge2 || step.charge3
    val open = RegNext(off || (!slack.msb && !charging)) init False
  }

  io.allowed := verdict.open
  io.wake := verdict.wake
  io.settled := !step.charge.passed.orR
}
