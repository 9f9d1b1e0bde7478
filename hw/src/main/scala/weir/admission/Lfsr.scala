package weir.admission
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.ValidPipeline

/** The random source: a 64-bit Fibonacci LFSR with a primitive polynomial of 17 terms, advanced 32 steps a draw
  * (docs/modules/lfsr.md).
  *
  * Latency 0: `draw` is valid whenever the first one after reset or a seed has been computed, four cycles after the latter. Throughput:
  * one draw a cycle. State 0 cannot be reached; reset starts from [[Lfsr.resetState]].
  */
case class Lfsr(c: WeirConfig) extends Component {
  val io = new Bundle {
    val seed = slave(Flow(Bits(64 bits)))
    /** answer `fixedDraw`; the state advances nevertheless */
    val fixed = in(Bool())
    val fixedDraw = in(UInt(c.drawWidth bits))
    /** a draw is taken in this cycle */
    val next = in(Bool())
    val draw = out(UInt(c.drawWidth bits))
  }
  noIoPrefix()

  /** the state after the draw that is on offer: always one leap ahead */
  val state = Reg(Bits(64 bits)) init Lfsr.leap(Lfsr.resetState)
  /** a seed has been loaded and not been advanced yet */
  val seeded = RegInit(False)

  /** a seed on its way: whether it is 0, then the state that it becomes */
  val loading = new ValidPipeline(io.seed.valid, 2)
  private val seed = RegNextWhen(io.seed.payload, io.seed.valid)
  private val none = RegNext(seed === 0)

  seeded := loading(2)
  when(io.next || seeded)(state := Lfsr.leap(state))
  // of seeds in successive cycles the last counts: `none` speaks of the cycle before
  when(loading(2) && !loading(1))(state := (none ? B(Lfsr.resetState, 64 bits) | seed))

  val drawn = state(31 downto 32 - c.drawWidth).asUInt
  io.draw := io.fixed ? io.fixedDraw | drawn
}

object Lfsr {
  /** 2^64 / golden ratio */
  val resetState = BigInt("9E3779B97F4A7C15", 16)
  /** steps a draw */
  val steps = 32

  /** the bits whose parity a step shifts in */
  val taps = BigInt("9E37803700000000", 16)
  private val tapBits = (0 until 64).filter(taps.testBit)

  /** The state 32 steps on. A step is `state ← (state << 1) | parity(state & taps)`; as no tap is below bit 32, the 32
    * new bits depend on old bits only, 16 each.
    */
  def leap(state: Bits): Bits = {
    val fresh = Bits(steps bits)
    for (k <- 0 until steps) // the bit of step k ends at position 31 - k
      fresh(steps - 1 - k) := tapBits.map(i => state(i - k)).reduceBalancedTree(_ ^ _)
    state(31 downto 0) ## fresh
  }

  /** The same on a constant. */
  def leap(state: BigInt): BigInt = (0 until steps).foldLeft(state) { (s, _) =>
    ((s << 1) & ((BigInt(1) << 64) - 1)) | ((s & taps).bitCount & 1)
  }
}
