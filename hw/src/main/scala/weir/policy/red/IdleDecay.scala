package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{CarrySave, Multiply, PartialProducts, PerQueue, ShiftSaturate, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords}
import weir.policy.{PolicyRequest, QueueLeft}

/** `A_idle ≈ (1−w)^(m+1)·2^36` for a request that finds its queue empty (docs/modules/ewma.md, Idle time).
  *
  * The queue has been idle since its last packet was granted, or since the last request that found it empty, whichever
  * came later. Latency: the factor of a request is valid [[IdleDecay.latency]] cycles later, in that cycle alone.
  * Throughput: one a cycle. Idle times are modulo 2^48 ns. At reset all queues are idle since time 0.
  */
case class IdleDecay(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val left = slave(Flow(QueueLeft(c)))
    val request = slave(Flow(PolicyRequest(c)))
    val factor = out(IdleFactor())
  }
  noIoPrefix()

  private val words = new LiveWords(c, RedFamily.named("RED_DECAY_LO", "RED_DECAY_HI", "RED_IDLE_RATE"), io.config)
  private val empty = io.request.valid && io.request.empty

  val idleSince = Vec.fill(c.queues)(Reg(c.time) init 0)
  for (q <- 0 until c.queues) {
    when(io.left.valid && io.left.queue === q)(idleSince(q) := io.left.nowNs)
    when(empty && io.request.queue === q)(idleSince(q) := io.request.nowNs)
  }

  /** a request is in cn */
  val moves = new ValidPipeline(empty, IdleDecay.latency - 1)

  /** i */
  val c0 = new Area {
    val idleNs = io.request.nowNs - PerQueue(idleSince, io.request.queue)
  }

  /** i·Rm, partial products */
  val c1 = new Area {
    val queue = RegNextWhen(io.request.queue, empty)
    val idleNs = RegNextWhen(c0.idleNs, empty)
    val rate = RedFamily.scaled(words("RED_IDLE_RATE", queue))
    val product = new PartialProducts(idleNs, rate.mantissa)
  }

  /** i·Rm */
  val c2 = new Area {
    val queue = RegNextWhen(c1.queue, moves(1))
    val exponent = RegNextWhen(c1.rate.exponent, moves(1))
    val product = c1.product.sum(66)
  }

  /** min((i·Rm) >> Re, 2^22 − 1); the bound is 2^22 − 2, corrected in c4 */
  val c3 = new Area {
    val queue = RegNextWhen(c2.queue, moves(2))
    val product = RegNextWhen(c2.product, moves(2))
    val exponent = RegNextWhen(c2.exponent, moves(2))
    val slots = ShiftSaturate(product, exponent, 22)
    val decay = (words("RED_DECAY_HI", queue) ## words("RED_DECAY_LO", queue)).asUInt
  }

  /** m·C, partial products. With all ones the bound was passed by one: then m + 1 is the number itself. */
  val c4 = new Area {
    val slots = RegNextWhen(c3.slots, moves(3))
    val decay = RegNextWhen(c3.decay, moves(3))
    val bounded = slots.andR
    val product = new PartialProducts(slots, decay)
  }

  /** y = (m+1)·C = m·C + C */
  val c5 = new Area {
    val slots = RegNextWhen(c4.slots & ~(c4.bounded.asUInt.resize(22)), moves(4))
    val once = RegNextWhen(c4.bounded ? U(0, 42 bits) | c4.decay, moves(4))
    val exponent = CarrySave.sum(c4.product.parts :+ (once -> 0), 64)
  }

  /** f_hi to the ROM; z = (f_lo·11629080) >> 15 = (f_lo·1453635) >> 12, 1453635 = 5·2^18 + 142915 */
  val c6 = new Area {
    val slots = RegNextWhen(c5.slots, moves(5))
    val exponent = RegNextWhen(c5.exponent, moves(5))
    val fractionHigh = exponent(35 downto 27)
    val fractionLow = exponent(26 downto 0)
    val rom = Exp2Rom()
    rom.io.fraction := fractionHigh
    val product = new PartialProducts(fractionLow, U(IdleDecay.ln2Low, 18 bits))
    val five = new PartialProducts(fractionLow, U(5, 3 bits))
  }

  /** z, 45 fraction bits; the shift I, at 40 and above 63 */
  val c7 = new Area {
    val slots = RegNextWhen(c6.slots, moves(6))
    val whole = RegNextWhen(c6.exponent(63 downto 36), moves(6))
    val shift = (whole >= 40) ? U(63, 6 bits) | whole.resize(6)
    val z = CarrySave.sum(c6.product.parts ++ c6.five.parts.map { case (term, offset) => term -> (offset + 18) }, 48)(47 downto 12)
  }

  /** T·z, and z²/2, whose upper 26 bits are zz */
  val c8 = new Area {
    val slots = RegNextWhen(c7.slots, moves(7))
    val shift = RegNextWhen(c7.shift, moves(7))
    val z = RegNextWhen(c7.z, moves(7))
    val power = c6.rom.io.value
    val product = new PartialProducts(power, z)
    val zTop = z(35 downto 18)
    val square = Multiply(zTop, zTop)
  }

  /** T − ((T·h) >> 45) with h = z − zz is ⌊(T·2^45 + 2^45 − 1 − T·z + T·zz) / 2^45⌋, and −T·z is ~(T·z) + 1: first T·z, and
    * T·zz in parts that leave a place for the rest
    */
  val c9 = new Area {
    val slots = RegNextWhen(c8.slots, moves(8))
    val shift = RegNextWhen(c8.shift, moves(8))
    val power = RegNextWhen(c8.power, moves(8))
    val zz = c8.square(35 downto 10)
    private val low = new PartialProducts(power, zz(7 downto 0))
    private val high = new PartialProducts(power, zz(25 downto 8))
    def square: Seq[(UInt, Int)] = low.parts ++ high.parts.map { case (term, offset) => term -> (offset + 8) }
    val linear = c8.product.sum(72)
  }

  /** 2^(−f), before >> I */
  val c10 = new Area {
    val slots = RegNextWhen(c9.slots, moves(9))
    val shift = RegNextWhen(c9.shift, moves(9))
    val power = RegNextWhen(c9.power, moves(9))
    val linear = RegNextWhen(c9.linear, moves(9))
    private val rest = Seq(~linear.resize(81) -> 0, power -> 45, U(1, 1 bit) -> 45)
    val mantissa = CarrySave.sum(c9.square ++ rest, 81)(80 downto 45)
  }

  /** A_idle */
  val c11 = new Area {
    val slots = RegNextWhen(c10.slots, moves(10))
    val shift = RegNextWhen(c10.shift, moves(10))
    val mantissa = RegNextWhen(c10.mantissa, moves(10))
    val retained = mantissa >> shift
  }

  /** c12 */
  io.factor.retained := RegNextWhen(c11.retained, moves(11))
  io.factor.slots := RegNextWhen(c11.slots, moves(11))
}

object IdleDecay {
  /** from a request to its factor */
  val latency = 12
  /** round(ln 2 · 2^24) / 8 without its upper three bits, which are 5 */
  val ln2Low = 11629080 / 8 - (5 << 18)
}
