package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** What is different in a jumbo frame in transit whose first packets were dropped. */
case class PatchJob(c: WeirConfig) extends Bundle {
  /** packets that were dropped, and the bytes that the frame has become shorter by */
  val gone = UInt(c.memberWidth bits)
  val removed = c.length
  val tags = UInt(2 bits)
  /** there is an outer IPv4 header */
  val l3 = Bool()
}

/** Writes length 0 into the table entries of the packets that were dropped, and corrects the outer IPv4 header's total length and
  * checksum (RFC 1624, equation 3).
  *
  * Combinational, a beat a cycle. The packets that were dropped are the first that had a length: entries that had none are passed over.
  * Reset: idle.
  */
class TransitPatch(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** of the frame that begins with this beat; held as long as `opens` */
    val job = in(PatchJob(c))
    /** the beat is a frame's first */
    val opens = in Bool ()
    /** the beat is taken */
    val fire = in Bool ()
    val data = in(Bits(c.dataWidth bits))
    val patched = out(Bits(c.dataWidth bits))
  }
  noIoPrefix()

  /** the frame's beats are counted in quads, up to where nothing is changed any more */
  val place = new Area {
    val active = RegInit(False)
    val job = RegNextWhen(io.job, io.opens && io.fire)
    /** number of the beat's first quad; stands still from 512 on, behind the longest table, also when other frames follow */
    val quad = Reg(UInt(10 bits))
    val left = Reg(UInt(c.memberWidth bits))
    val one = left =/= 0
    val two = left > 1
    private val start = RegNextWhen(io.job.tags +^ (io.job.l3 ? U(10, 4 bits) | U(5, 4 bits)), io.opens && io.fire)
    private val ip = job.tags +^ U(3, 3 bits)
    /** of the frame whose beats are counted: the beat's lower and upper quad is an entry, the outer IPv4 header's total length, its checksum */
    val entry, total, sum = Reg(Bits(2 bits)) init 0
    /** what is added to them: `removed`, or its complement for a total length */
    val addends = Vec.fill(2)(Reg(UInt(16 bits)))
    private val low = quad + 2
    private val quads = Seq(low, low | 1)
    val totals = quads.map(active && job.l3 && _ === ip + 1).asBits()
    when(io.fire) {
      when(!quad.msb) {
        quad := low
        entry := quads.map(active && _ >= start).asBits()
        total := totals
        for ((addend, isTotal) <- addends.zip(totals.asBools)) addend := job.removed.resize(16) ^ U(16 bits, default -> isTotal)
        sum := quads.map(active && job.l3 && _ === ip + 3).asBits()
      }
      when(io.opens) {
        active := io.job.gone =/= 0
        quad := 2
        left := io.job.gone
        // all of them are behind its second beat
        entry := 0
        total := 0
        sum := 0
      }
    }
  }
  import place.{job, left}

  private def changed(upper: Int): (Bits, Bool) = {
    val bits = io.data(32 * upper, 32 bits)
    val field = (bits(7 downto 0) ## bits(15 downto 8)).asUInt
    val present = !io.opens && place.entry(upper) && field =/= 0
    val isTotal = !io.opens && place.total(upper)
    val isSum = !io.opens && place.sum(upper)
    val removed = job.removed.resize(16)
    // end-around carry; 0xFFFF is 0. A total length is corrected by the same adder: less is the complement, and one more
    val plain = field + removed
    val carried = ((field @@ True) +^ (place.addends(upper) @@ True)) >> 1
    val more = isTotal || isSum && carried.msb
    def where(enable: Bool, value: UInt) = value & U(16 bits, default -> enable)
    val result = where(more, carried(15 downto 0)) | where(isSum && !carried.msb, plain) | where(!isTotal && !isSum, field)
    (bits(31 downto 16) ## result(7 downto 0) ## result(15 downto 8), present)
  }
  private val (low, lowPresent) = changed(upper = 0)
  private val (high, highPresent) = changed(upper = 1)
  private val lowGone = lowPresent && place.one
  private val highGone = highPresent && (lowPresent ? place.two | place.one)
  private val keepLow = low(31 downto 16) ## (lowGone ? B(0, 16 bits) | low(15 downto 0))
  private val keepHigh = high(31 downto 16) ## (highGone ? B(0, 16 bits) | high(15 downto 0))
  io.patched := keepHigh ## keepLow
  // what is gone is known last, and is in no enable
  private def among(enable: Bool, value: UInt) = value & U(c.memberWidth bits, default -> enable)
  when(io.fire && !io.opens) {
    left := among(lowGone && highGone, left - 2) | among(lowGone ^ highGone, left - 1) | among(!lowGone && !highGone, left)
  }
}
