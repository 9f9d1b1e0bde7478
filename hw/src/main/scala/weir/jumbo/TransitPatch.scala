package weir.jumbo

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
    when(io.fire) {
      when(!quad.msb)(quad := quad + 2)
      when(io.opens) {
        active := io.job.gone =/= 0
        quad := 2
        left := io.job.gone
      }
    }
  }
  import place.{active, job, left, quad}

  private val start = RegNextWhen(io.job.tags +^ (io.job.l3 ? U(10, 4 bits) | U(5, 4 bits)), io.opens && io.fire)
  private val ip = job.tags +^ U(3, 3 bits)

  private def changed(upper: Boolean): (Bits, Bool) = {
    val bits = io.data(if (upper) 32 else 0, 32 bits)
    val number = if (upper) quad | 1 else quad
    val field = (bits(7 downto 0) ## bits(15 downto 8)).asUInt
    val isEntry = active && number >= start
    val present = isEntry && field =/= 0
    val isTotal = active && job.l3 && number === ip + 1
    val isSum = active && job.l3 && number === ip + 3
    val total = field - job.removed.resize(16)
    // end-around carry; 0xFFFF is 0
    val sum = field +^ job.removed.resize(16)
    val carried = field +^ job.removed.resize(16) + 1
    val corrected = carried.msb ? carried(15 downto 0) | sum(15 downto 0)
    val result = UInt(16 bits)
    result := field
    when(isTotal)(result := total)
    when(isSum)(result := corrected)
    (bits(31 downto 16) ## result(7 downto 0) ## result(15 downto 8), present)
  }
  private val (low, lowPresent) = changed(upper = false)
  private val (high, highPresent) = changed(upper = true)
  private val lowGone = lowPresent && place.one
  private val highGone = highPresent && (lowPresent ? place.two | place.one)
  private val keepLow = low(31 downto 16) ## (lowGone ? B(0, 16 bits) | low(15 downto 0))
  private val keepHigh = high(31 downto 16) ## (highGone ? B(0, 16 bits) | high(15 downto 0))
  io.patched := (active && !io.opens) ? (keepHigh ## keepLow) | io.data
  when(io.fire && active && !io.opens)(left := left - (lowGone.asUInt +^ highGone.asUInt).resized)
}
