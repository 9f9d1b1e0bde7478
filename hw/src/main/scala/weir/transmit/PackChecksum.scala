package weir.transmit
import spinal.core._
import weir.common.ValidPipeline

/** The checksum of an outer IPv4 header (RFC 791), three cycles after `start`, while its fields stand still for one.
  *
  * `length` and `identification` are added to the constants (version, IHL, DF) while `early` is high: two cycles before
  * `start` and until the end.
  */
class PackChecksum(
    start: Bool, early: Bool, length: UInt, identification: UInt, tos: Bits, ttl: Bits, protocol: Bits, source: Bits,
    destination: Bits
) extends Area {
  private def halves(address: Bits): UInt = address(31 downto 16).asUInt +^ address(15 downto 0).asUInt
  val steps = new ValidPipeline(start, 2)
  val fixed = RegNextWhen((length.resize(16) +^ identification).resize(18) + 0x8500, early)
  val service = RegNextWhen(tos.asUInt.resize(16) +^ (ttl ## protocol).asUInt, start)
  val from = RegNextWhen(halves(source), start)
  val to = RegNextWhen(halves(destination), start)
  val sum = RegNextWhen((fixed +^ service).resize(20) + (from +^ to), steps(1))
  val value = new Area {
    private val folded = sum(15 downto 0) +^ sum(19 downto 16)
    val checksum = RegNextWhen(~(folded(15 downto 0) + folded.msb.asUInt).asBits, steps(2))
  }
}
