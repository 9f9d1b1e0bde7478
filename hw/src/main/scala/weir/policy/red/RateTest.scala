package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{Fixed, PartialProducts, PerQueue, ShiftSaturate, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords}
import weir.policy.PolicyRequest

/** What a queue's last arrival left behind. */
case class LastArrival(c: WeirConfig) extends Bundle {
  val nowNs = c.time
  val quantity = c.quantity
}

/** ISRED's test: does the average, or the queue, rise faster than a slope (docs/modules/isred.md)?
  * `rise·2^22 > (slope·Δt·2^10) >> k`, no divider.
  *
  * Latency: the answer is valid from the 7th cycle after the request on, `g` from the 6th on, for 4 cycles. Throughput: a request every 4
  * cycles. The first arrival of a queue after reset or `clear` has no rate, nor has one 2^36 ns or more after the last.
  */
case class RateTest(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val request = slave(Flow(PolicyRequest(c)))
    /** q in the queue's unit, with the request */
    val quantity = in(c.quantity)
    /** the queue has had no arrival yet */
    val clear = in(Bits(c.queues bits))
    /** κ, t3 */
    val kappa = in(Fixed.size())
    /** after and before the request, UQ21.22, t4 */
    val average, previous = in(Fixed.average())
    /** the average is between the thresholds, t4 */
    val between = in Bool ()
    /** the rise is rapid; the mode of edrop(): certain, or with `g` in place of RED's */
    val rapid, certain, gained = out Bool ()
    /** κ·gain, UQ16.20 */
    val g = out(Fixed.spread())
  }
  noIoPrefix()

  /** stage(n): a request is in tn */
  val stage = new ValidPipeline(io.request.valid, 6)

  private val words = new LiveWords(c, RedFamily.Isred.registers, io.config)
  private val memory = Mem(LastArrival(c), c.queues max 2)
  /** queues with a last arrival */
  val known = Reg(Bits(c.queues bits)) init 0

  /** t1 to t4 */
  val t1 = new Area {
    private val asked = io.request.policy === RedFamily.Isred.id
    private val control = words("ISRED_CTRL", io.request.queue)
    val mine = RegNextWhen(asked, stage(0))
    private val load = stage(0) && asked
    val queue = RegNextWhen(io.request.queue, load)
    val last = RegNextWhen(memory.readAsync(io.request.queue), load)
    val hasLast = RegNextWhen(PerQueue.bit(known, io.request.queue), load)
    val nowNs = RegNextWhen(io.request.nowNs, load)
    val quantity = RegNextWhen(io.quantity, load)
    val slope = RegNextWhen(RedFamily.scaled(words("ISRED_SLOPE", io.request.queue)), load)
    val gain = RegNextWhen(RedFamily.scaled(words("ISRED_GAIN", io.request.queue)), load)
    val mode = RegNextWhen(RedFamily.field(control, "ISRED_CTRL", "MODE").asUInt, load)
    val ofQueue = RegNextWhen(RedFamily.field(control, "ISRED_CTRL", "SOURCE").lsb, load)
    private val valid = stage(1) && mine
    private val now = LastArrival(c)
    now.nowNs := nowNs
    now.quantity := quantity
    memory.write(queue, now, valid)
    for (q <- 0 until c.queues) {
      when(valid && queue === q)(known(q) := True)
      when(io.clear(q))(known(q) := False)
    }
    /** modulo 2^48, so that wrapping time does no harm */
    val elapsed = nowNs - last.nowNs
    val rise = quantity.resize(22).asSInt - last.quantity.resize(22).asSInt
  }

  /** t2 to t5: Δt, the rise of q */
  val t2 = new Area {
    private val load = stage(1) && t1.mine
    val elapsed = RegNextWhen(t1.elapsed(35 downto 0), load)
    val measured = RegNextWhen(t1.hasLast && t1.elapsed(47 downto 36) === 0, load)
    val rise = RegNextWhen(t1.rise, load)
    val product = new PartialProducts(elapsed, t1.slope.mantissa)
  }

  /** slope·Δt, κ·gain */
  val t3 = new Area {
    private val load = stage(3) && t1.mine
    val limit = ShiftSaturate.coarse(t2.product.sum(54) << 10, t1.slope.exponent, Fixed.average.width).next(load)
    val gain = new PartialProducts(io.kappa, t1.gain.mantissa)
  }

  val t4 = new Area {
    private val load = stage(4) && t1.mine
    val limit = RegNextWhen(t3.limit.result, load)
    /** more than any rise */
    val beyond = RegNextWhen(t3.limit.overflow, load)
    val ofAverage = io.average.intoSInt - io.previous.intoSInt
    val rise = RegNextWhen(t1.ofQueue ? (t2.rise @@ S(0, 22 bits)) | ofAverage, load)
    val eligible = RegNextWhen(t1.mine && t2.measured && io.between, stage(4))
    val mode = RegNextWhen(t1.mode, load)
    val gain = ShiftSaturate.coarse(t3.gain.sum(50), t1.gain.exponent, Fixed.spread.width).next(load)
  }

  /** t6 to t9: the comparison, and whether it counts */
  val t5 = new Area {
    val steep = RegNextWhen(t4.rise(42 downto 0).asUInt > t4.limit, stage(5))
    val counts = RegNextWhen(t4.eligible && !t4.rise.msb && !t4.beyond, stage(5))
    val mode = RegNextWhen(t4.mode, stage(5))
    io.g := RegNextWhen(t4.gain.saturated, stage(5) && t4.eligible)
  }

  /** t7 to t10: the answer */
  val t6 = new Area {
    private val rapid = t5.steep && t5.counts
    io.rapid := RegNextWhen(rapid, stage(6))
    io.certain := RegNextWhen(rapid && t5.mode === 0, stage(6))
    io.gained := RegNextWhen(rapid && t5.mode.msb, stage(6))
  }
}
