package weir.policy.pi
import spinal.core._
import weir.WeirConfig
import weir.common.Multiply
import weir.control.registers.Scaled

/** One step of the PI controller of PIE and PI2, p + α·(delay − target) + β·(delay − old delay), with one adder and one
  * shift by a bit (docs/modules/pie.md, Tick).
  *
  * At `start` p and the delays are taken; target and gains are asked for when they are needed. Latency: at most 89
  * cycles, without `tuned` 63. `next` holds until the following start, which must come after `done`.
  *
  * @param tuned with the rules that PIE adds to the controller (RFC 8033, 4.2 and 5.5): gains scaled by the size of p, increments
  *              capped, more at 250 ms, decay of an idle queue
  */
class PiController(c: WeirConfig, tuned: Boolean) extends Component {
  import PiController._

  val io = new Bundle {
    val start = in Bool ()
    /** UQ0.48 */
    val probability = in(UInt(fraction bits))
    /** ns */
    val delay, oldDelay = in(UInt(32 bits))
    /** these are in `word` in the next cycle */
    val askTarget, askAlpha, askBeta = out Bool ()
    /** a target in ns, or a gain per ns, times 2^40 */
    val word = in(Bits(32 bits))
    val gain = in(Scaled())
    /** ns, from three cycles after `start` on */
    val target = out(UInt(32 bits))
    /** delay and old delay are 0; from two cycles after `start` on */
    val undelayed = out Bool ()
    val done = out Bool ()
    /** UQ0.48 */
    val next = out(UInt(fraction bits))
    /** it is below 0.2, in the cycle of `done`; of a tuned controller */
    val small = out Bool ()
  }
  noIoPrefix()

  object Step extends SpinalEnum {
    val idle, target, error, magnitude, multiply, shift, accumulate, tune, lower, cap, raise, restore, load, total,
      clip, most, keep, decay, fall, join, complement, settle = newElement()
  }

  val step = RegInit(Step.idle())
  /** the second term, β, is being computed */
  val second = Reg(Bool())
  val count = Reg(UInt(4 bits))
  /** places to shift */
  val left = Reg(UInt(6 bits))

  val operands = new Area {
    val probability = RegNextWhen(io.probability, io.start)
    val delay = RegNextWhen(io.delay, io.start)
    val oldDelay = RegNextWhen(io.oldDelay, io.start)
    val target = RegNextWhen(io.word.asUInt, step === Step.error && !second)
    val undelayed = RegNext(delay === 0 && oldDelay === 0)
  }
  io.askTarget := step === Step.target || step === Step.error
  io.askAlpha := step === Step.magnitude && !second
  io.askBeta := step === Step.magnitude && second
  io.target := operands.target
  io.undelayed := operands.undelayed

  /** One term: gain·error, a byte of the error a cycle, 48 fraction bits */
  val term = new Area {
    /** less 1 if it is negative: its complement is the magnitude */
    val error = Reg(SInt(33 bits))
    private val whole = step === Step.error
    private val subtrahend = ~Mux(second, operands.oldDelay, io.word.asUInt).resize(33)
    when(whole || step === Step.magnitude && error.msb) {
      error := (((operands.delay.resize(33) @@ True) + (subtrahend @@ whole)) >> 1).asSInt
    }
    val negative = error.msb
    private def signed(byte: UInt): UInt = byte ^ U(8 bits, default -> negative)

    val mantissa = RegNextWhen(io.gain.mantissa, step === Step.multiply && count === 0)
    /** in counts 1 to 4; its product comes two counts later */
    private val there = step === Step.multiply && count =/= 0 && count <= 4
    private val bytes = error(31 downto 0).asUInt.subdivideIn(8 bits)
    val byte = RegNext(Mux(there, signed(bytes((count - 1).resize(2))), U(0, 8 bits)))
    val product = Multiply(mantissa, byte)
    val carry = Reg(UInt(18 bits))
    val sum = product + carry
    carry := sum >> 8
    /** the product's bytes from the top, then shifted; the complement of a negative term */
    val value = Reg(UInt(64 bits))
    private val moves = step === Step.shift && left =/= 0
    private val fine = step === Step.shift && left(5 downto 3) === 0
    when(step === Step.multiply || moves) {
      value := Mux(fine, negative.asUInt @@ value(63 downto 1), signed(sum(7 downto 0)) @@ value(63 downto 8))
    }
  }

  /** Σ terms, then what PIE makes of it, then p */
  val change = new Area {
    /** what can be added in the next cycle: a constant, p, or the term */
    val constant = S(0, sumWidth bits)
    val isConstant, isProbability = False
    def take(value: BigInt): Unit = {
      isConstant := True
      constant := value
    }
    // a bit of it is a function of four
    private val choice = Mux(isConstant, constant.asBits, B(sumWidth bits, default -> isProbability))
    private val p = operands.probability.resize(sumWidth)
    val operand = RegNext(Vec((0 until sumWidth).map { n =>
      Mux(isConstant, choice(n), Mux(choice(n), p(n), term.value(n)))
    }).asBits)

    val adds, halves, clears = False
    val sum = Reg(SInt(sumWidth bits))
    /** the operand is the complement of a term */
    private val carry = RegNext(!isConstant && !isProbability && term.negative)
    when(adds)(sum := ((sum.asBits ## carry).asSInt + (operand ## carry).asSInt) >> 1)
    when(halves)(sum := sum |>> 1)
    when(clears || io.start)(sum := 0)
    /** above the largest p */
    val above = !sum.msb && sum(sumWidth - 2 downto fraction) =/= 0
    def result: UInt = sum(fraction - 1 downto 0).asUInt
  }
  import change.{adds, clears, halves, isProbability, sum}

  /** The comparisons are made beside the terms. */
  val tuning = if (tuned) new Area {
    /** p < scales(n) for each n below it; in the end, 0.2 */
    val index = Reg(UInt(3 bits))
    private val limits = scales :+ fifth :+ fifth
    val limit = RegNext(Vec(limits.map(U(_, fraction bits)))(index))
    val below = RegNext(operands.probability < limit)
    /** how many of `limit` and `below` are of `index` */
    val compared = Reg(Bits(2 bits))
    compared := compared.lsb ## True
    /** `index` is 0 */
    val above = Reg(Bool())
    when(compared.msb && below && index =/= scales.size) {
      index := index + 1
      above := False
      compared := 0
    }
    when(io.start) {
      index := 0
      above := True
      compared := 0
    }
    val late = RegNext(operands.delay > 250000000)
  } else null
  io.small := (if (tuned) tuning.below else False)
  io.next := (if (tuned) operands.probability else change.result)

  private def next(following: SpinalEnumElement[Step.type]): Unit = step := following
  switch(step) {
    is(Step.target)(next(Step.error))
    is(Step.error)(next(Step.magnitude))
    is(Step.magnitude) {
      count := 0
      next(Step.multiply)
    }
    is(Step.multiply) {
      count := count + 1
      left := io.gain.exponent
      when(count =/= 0)(left := left)
      when(count === 9)(next(Step.shift))
    }
    is(Step.shift) {
      when(left(5 downto 3) =/= 0)(left := left - 8) otherwise (left := left - 1)
      when(left === 0)(next(Step.accumulate))
    }
    is(Step.accumulate) {
      adds := True
      second := True
      step := Mux(second, if (tuned) Step.tune() else Step.load(), Step.target())
      // each scale but the first is worth two places
      if (tuned) left := Mux(tuning.above, U(0, 6 bits), ((tuning.index << 1) - 1).resize(6))
    }
    if (tuned) {
      is(Step.tune) {
        halves := left =/= 0
        left := left - 1
        when(left === 0)(step := Mux(tuning.above, Step.lower(), Step.raise()))
      }
      // min(sum, increment) = min(sum − increment, 0) + increment
      is(Step.lower) {
        change.take(-increment)
        next(Step.cap)
      }
      is(Step.cap) {
        adds := True
        next(Step.raise)
      }
      is(Step.raise) {
        clears := tuning.above && !sum.msb
        change.take(increment)
        next(Step.restore)
      }
      is(Step.restore) {
        adds := tuning.above
        change.take(increment)
        next(Step.load)
      }
    }
    is(Step.load) {
      if (tuned) adds := tuning.late
      isProbability := True
      next(Step.total)
    }
    is(Step.total) {
      adds := True
      next(Step.clip)
    }
    is(Step.clip) {
      clears := sum.msb || change.above
      change.take(one - 1)
      next(Step.most)
    }
    is(Step.most) {
      adds := RegNext(change.above)
      step := (if (tuned) Step.keep() else Step.idle())
    }
    if (tuned) {
      // p − ⌈p/64⌉ is the complement of the complement of p, and ⌈p/64⌉; or 0, without decay
      is(Step.keep) {
        operands.probability := ~change.result
        change.take(63)
        next(Step.decay)
      }
      is(Step.decay) {
        tuning.index := scales.size
        adds := operands.undelayed
        clears := !operands.undelayed
        left := Mux(operands.undelayed, U(6, 6 bits), U(0, 6 bits))
        next(Step.fall)
      }
      is(Step.fall) {
        halves := left =/= 0
        left := left - 1
        isProbability := True
        when(left === 0)(next(Step.join))
      }
      is(Step.join) {
        adds := True
        next(Step.complement)
      }
      is(Step.complement) {
        operands.probability := ~change.result
        next(Step.settle)
      }
      is(Step.settle)(next(Step.idle))
    }
    default(next(Step.idle))
  }
  io.done := RegNext(step === (if (tuned) Step.settle else Step.most)) init False
  when(io.start) {
    next(Step.target)
    second := False
  }
}

object PiController {
  /** fraction bits of p */
  val fraction = 48
  val one: BigInt = BigInt(1) << fraction
  /** Two terms of 58 bits, p, and the sign */
  val sumWidth = 61
  /** 2 %: the largest increment of a p above 10 %, and what is added at more than 250 ms */
  val increment: BigInt = one / 50
  /** p < scales(n) is p < 10^−(n+1) */
  val scales: Seq[BigInt] = (1 to 6).map(n => { val d = BigInt(10).pow(n); (one + d - 1) / d })
  /** p < fifth is p < 0.2 */
  val fifth: BigInt = (one + 4) / 5
}
