package weir.control.registers
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Which of four rules match a value of one of a half's eight groups of four address bits: what
  * [[weir.receive.MatchLookup]] looks up.
  */
case class MatchColumn(c: WeirConfig) extends Bundle {
  /** of every rule and both halves */
  val all = Bool()
  /** rules 4·group and on */
  val group = UInt(log2Up(c.matchRules / 4) bits)
  /** the address's second half */
  val lower = Bool()
  /** the value */
  val digit = UInt(4 bits)
  /** a bit a rule, for each of the eight, the lowest first */
  val hits = Vec(Bits(4 bits), 8)
}

/** Makes of the match table's values and masks, 64 words of 32 bits, what a lookup reads: for each of 16 groups of four address bits, and each of the
  * 16 values that they may have, the rules that match it.
  *
  * A word that is written has the columns of its four rules made anew, for its half of the address: 128 cycles and some more, one half at a time. A rule is
  * `off` meanwhile, from the cycle after the write. After reset all words are 0, and all rules match; that takes 64 cycles.
  */
class MatchTable(c: WeirConfig) extends Component {
  private val groups = c.matchRules / 4
  val io = new Bundle {
    /** a word: rule, mask or value, half; not in the first 64 cycles after reset */
    val write = slave(Flow(MatchWord(c)))
    val column = master(Flow(MatchColumn(c)))
    /** rules that do not count */
    val off = out Bits (c.matchRules bits)
    /** pulse: these are no longer off from the next cycle on */
    val returns = out Bits (c.matchRules bits)
    /** some column is to be made */
    val busy = out Bool ()
  }
  noIoPrefix()

  private val words = Mem(Bits(32 bits), 4 * c.matchRules)

  val clearing = new Area {
    val place = Reg(UInt(log2Up(4 * c.matchRules) bits)) init 0
    val done = RegInit(False)
    when(!done)(place := place + 1)
    when(place.andR)(done := True)
  }
  words.write(
    Mux(clearing.done, io.write.place, clearing.place),
    Mux(clearing.done, io.write.data, B(0, 32 bits)),
    io.write.valid || !clearing.done)

  /** a bit for each group and half of it, to be made */
  val due = Reg(Bits(2 * groups bits)) init 0
  val off = Reg(Bits(c.matchRules bits)) init 0
  io.off := off

  /** A read of each of four rules' value and mask, for each value of four bits. */
  val making = new Area {
    val active = RegInit(False)
    val group = Reg(UInt(log2Up(groups) bits))
    val lower = Reg(Bool())
    val digit = Reg(UInt(4 bits))
    val rule = Reg(UInt(2 bits))
    val isMask = Reg(Bool())
    private val step = digit @@ rule @@ isMask
    val last = step.andR
    when(active) {
      val next = step + 1
      digit := next(6 downto 3)
      rule := next(2 downto 1)
      isMask := next(0)
      when(last)(active := False)
    }

    /** one cycle later out of the RAM, two cycles later in `word` */
    val valid = History(active, 1 to 2, init = False)
    val word = RegNext(words.readSync(group @@ rule @@ isMask @@ lower, active))
    private def later[T <: Data](value: T): T = RegNext(RegNext(value))
    private val ofMask = later(isMask)
    private val ofDigit = later(digit)
    private val ofRule = later(rule)
    val value = RegNextWhen(word, !ofMask)
    val hits = Vec.fill(8)(Reg(Bits(4 bits)))
    when(ofMask) {
      for ((hit, n) <- hits.zipWithIndex) {
        def four(bits: Bits) = bits(4 * n, 4 bits)
        hit := (((ofDigit.asBits ^ four(value)) & four(word)) === 0) ## hit(3 downto 1)
      }
    }
    val made = RegNext(valid.last && ofMask && ofRule.andR) init False
    val madeDigit = RegNext(ofDigit)
    val goes = active || valid.orR || made
  }
  import making._

  io.column.valid := made || !clearing.done
  io.column.all := !clearing.done
  io.column.group := group
  io.column.lower := lower
  io.column.digit := Mux(clearing.done, madeDigit, clearing.place.resize(4))
  io.column.hits := hits
  when(!clearing.done)(io.column.hits.foreach(_.setAll()))

  private val next = OHToUInt(OHMasking.first(due))
  when(!goes && due.orR) {
    active := True
    group := next >> 1
    lower := next.lsb
    digit := 0
    rule := 0
    isMask := False
    due(next) := False
  }
  private val written = io.write.place >> 2
  private val open = for (g <- 0 until groups) yield due(2 * g) || due(2 * g + 1) || goes && group === g
  for (r <- 0 until c.matchRules) {
    io.returns(r) := off(r) && !open(r / 4)
    when(io.returns(r))(off(r) := False)
    when(io.write.valid && written === r)(off(r) := True)
  }
  when(io.write.valid)(due((written >> 2) @@ io.write.place.lsb) := True)
  /** some rule is off: so it is as long as columns are due or made. Of sixteen flip-flops and what they wait for, a cycle ahead */
  val some = RegNext(io.write.valid || open.zipWithIndex.map { case (waits, g) => waits && off(4 * g, 4 bits).orR }.orR) init False
  io.busy := some || !clearing.done
}

/** A word of the match table as the host writes it. */
case class MatchWord(c: WeirConfig) extends Bundle {
  /** rule, mask or value, half: the order of the registers */
  val place = UInt(log2Up(4 * c.matchRules) bits)
  val data = Bits(32 bits)
}
