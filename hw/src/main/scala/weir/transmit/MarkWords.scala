package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.receive.IpVersion

/** A word of a frame on its way out. */
case class MarkWord(c: WeirConfig) extends Bundle {
  val data = Bits(c.wordWidth bits)
  val first = Bool()
  /** of the frame; stands still while its words come */
  val info = RewriteInfo()
}

/** [[Rewrite]] for words of 16 bytes: writes Congestion Experienced into marked frames and corrects the IPv4 header
  * checksum (RFC 1624). Latency 1 cycle, a word a cycle.
  */
class MarkWords(c: WeirConfig) extends Component {
  val io = new Bundle {
    val word = slave(Flow(MarkWord(c)))
    val marked = master(Flow(Bits(c.wordWidth bits)))
  }
  noIoPrefix()

  private val info = io.word.info
  /** number of the word, up to 3 */
  val place = new Area {
    val next = Reg(UInt(2 bits))
    val number = io.word.first ? U(0, 2 bits) | next
    when(io.word.valid)(next := number + (number =/= 3).asUInt)
  }
  import place.number

  private val v4 = info.ipVersion === IpVersion.v4
  private val ce = v4 ? B"8'h03" | B"8'h30"

  /** The checksum at that byte of the word, corrected. */
  private class Corrected(at: Int) extends Area {
    val checksum = (io.word.data(8 * at, 8 bits) ## io.word.data(8 * at + 8, 8 bits)).asUInt
    val value = new CeChecksum(checksum, info.ecn).corrected.asBits
    val bytes = value(7 downto 0) ## value(15 downto 8)
  }

  /** where things stand behind so many tags: the traffic class in word and byte, the checksum in word and byte */
  private val places = Seq((0, (0, 15), (1, 8)), (1, (1, 3), (1, 12)), (2, (1, 7), (2, 0)))
  private val corrected = places.map { case (tags, _, (_, at)) => new Corrected(at).setName(s"corrected_$tags") }

  private val data = Bits(c.wordWidth bits)
  data := io.word.data
  when(info.changes) {
    for ((tags, (trafficWord, trafficByte), (sumWord, sumByte)) <- places) {
      when(info.ipOffset === tags) {
        when(number === trafficWord)(data(8 * trafficByte, 8 bits) := io.word.data(8 * trafficByte, 8 bits) | ce)
        when(number === sumWord && v4)(data(8 * sumByte, 16 bits) := corrected(tags).bytes)
      }
    }
  }
  io.marked.valid := RegNext(io.word.valid) init False
  io.marked.payload := RegNextWhen(data, io.word.valid)
}
