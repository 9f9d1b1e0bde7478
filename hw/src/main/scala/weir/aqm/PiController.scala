package weir.aqm

import spinal.core._
import weir.WeirConfig
import weir.csr.Scaled

/** One step of the PI controller of PIE and PI2, p + α·(delay − target) + β·(delay − old delay), done serially
  * (docs/modules/pie.md, Tick).
  *
  * At `start` the operands are taken, but for the target and the gains, which must hold until `done`. Latency: at most
  * 52 cycles. `next` holds until the following start, which must come after `done`.
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
    val delay, oldDelay, target = in(UInt(32 bits))
    /** per ns, times 2^40 */
    val alpha, beta = in(Scaled())
    val done = out Bool ()
    /** UQ0.48 */
    val next = out(UInt(fraction bits))
    /** the multiplier is free from `done` to the next start */
    val multiply = out Bool ()
    val factor = out(UInt(18 bits))
    val magnitude = out(UInt(32 bits))
    val product = in(UInt(72 bits))
    val multiplied = in Bool ()
  }
  noIoPrefix()

  object Step extends SpinalEnum {
    val idle, error, magnitude, multiply, shift, add, compare, tune, cap, late, total, bound, decay = newElement()
  }

  val step = RegInit(Step.idle())
  /** the second term, β, is being computed */
  val second = Reg(Bool())
  /** shifts done, or thresholds compared */
  val count = Reg(UInt(3 bits))
  val done = RegNext(False) init False

  val operands = new Area {
    val probability = RegNextWhen(io.probability, io.start)
    val delay = RegNextWhen(io.delay, io.start)
    val oldDelay = RegNextWhen(io.oldDelay, io.start)
  }

  /** One term: gain·error, as sign and magnitude, 48 fraction bits */
  val term = new Area {
    val gain = Mux(second, io.beta, io.alpha)
    val error = Reg(SInt(33 bits))
    val negative = Reg(Bool())
    val magnitude = Reg(UInt(32 bits))
    val value = Reg(UInt(termWidth bits))
    when(step === Step.error) {
      error := operands.delay.resize(33).asSInt - Mux(second, operands.oldDelay, io.target).resize(33).asSInt
    }
    when(step === Step.magnitude) {
      negative := error.msb
      magnitude := error.abs.resize(32)
    }
    when(io.multiplied)(value := io.product(49 downto 0) @@ U(0, 8 bits))
    when(step === Step.shift) {
      for (n <- 0 until 6) when(count === n && gain.exponent(n))(value := value |>> (1 << n))
    }
  }
  io.multiply := RegNext(step === Step.magnitude) init False
  io.factor := term.gain.mantissa
  io.magnitude := term.magnitude

  /** Σ terms, then what PIE makes of it, then p */
  val change = new Area {
    val sum = Reg(SInt(sumWidth bits))
    val signed = term.value.resize(sumWidth).asSInt
    when(io.start)(sum := 0)
    when(step === Step.add)(sum := Mux(term.negative, sum - signed, sum + signed))
    val next = Reg(UInt(fraction bits))
    when(step === Step.bound) {
      next := sum(fraction - 1 downto 0).asUInt
      when(sum(sumWidth - 2 downto fraction) =/= 0)(next.setAll())
      when(sum.msb)(next := 0)
    }
    when(step === Step.total)(sum := sum + operands.probability.resize(sumWidth).asSInt)
  }

  val tuning = if (tuned) new Area {
    /** p is below 0.1, 0.01, … */
    val below = RegNext(operands.probability < Vec(scales.map(U(_, fraction bits)))(count))
    val above = Reg(Bool())
    val large = RegNext(change.sum > S(increment, sumWidth bits))
    val late = RegNext(operands.delay > 250000000)
    val idle = RegNext(operands.delay === 0 && operands.oldDelay === 0)
    when(step === Step.tune) {
      when(count === 0)(above := !below)
      when(below)(change.sum := Mux(count === 0, change.sum |>> 1, change.sum |>> 2))
    }
    when(step === Step.cap && above && large)(change.sum := increment)
    when(step === Step.late && late)(change.sum := change.sum + increment)
    when(step === Step.decay && idle)(change.next := change.next - ((change.next +^ 63) >> 6).resize(fraction))
  } else null

  private val finish = if (tuned) Step.decay else Step.bound
  when(step =/= Step.idle) {
    switch(step) {
      is(Step.error)(step := Step.magnitude)
      is(Step.magnitude)(step := Step.multiply)
      is(Step.multiply) {
        count := 0
        when(io.multiplied)(step := Step.shift)
      }
      is(Step.shift) {
        count := count + 1
        when(count === 5)(step := Step.add)
      }
      is(Step.add) {
        second := True
        count := 0
        step := Mux(second, if (tuned) Step.compare() else Step.total(), Step.error())
      }
      is(Step.compare)(step := Step.tune)
      is(Step.tune) {
        count := count + 1
        step := Step.compare
        if (tuned) when(!tuning.below || count === scales.size - 1)(step := Step.cap)
      }
      // `large` is that of the sum a cycle ago
      is(Step.cap)(step := Step.late)
      is(Step.late)(step := Step.total)
      is(Step.total)(step := Step.bound)
      is(Step.bound)(step := (if (tuned) Step.decay() else Step.idle()))
      is(Step.decay)(step := Step.idle)
      default(step := Step.idle)
    }
  }
  when(step === finish)(done := True)
  when(io.start) {
    step := Step.error
    second := False
    done := False
  }
  io.done := done
  io.next := change.next
}

object PiController {
  /** fraction bits of p */
  val fraction = 48
  val one: BigInt = BigInt(1) << fraction
  /** a gain's mantissa by an error, 8 fraction bits more */
  val termWidth = 58
  val sumWidth = 62
  /** 2 %: the largest increment of a p above 10 %, and what is added at more than 250 ms */
  val increment: BigInt = one / 50
  /** p < scales(n) is p < 10^−(n+1) */
  val scales: Seq[BigInt] = (1 to 6).map(n => { val d = BigInt(10).pow(n); (one + d - 1) / d })
  /** p < fifth is p < 0.2 */
  val fifth: BigInt = (one + 4) / 5
}
