package weir.board.netfpga
import spinal.core._
import spinal.lib._

/** One beat of a NetFPGA pipeline: 256 bits of an Ethernet frame without FCS, and 128 bits about it.
  *
  * As the reference projects of NetFPGA-10G and SUME have it: `tuser` is valid with the first beat; the length in bytes is in
  * bits 15:0, the source port in 23:16, the destination ports in 31:24, both one bit a port: 0, 2, 4, 6 are the Ethernet ports 0 to
  * 3, the odd ones the host's queue.
  */
case class NetFpgaWord() extends Bundle {
  val tdata = Bits(NetFpga.dataWidth bits)
  val tkeep = Bits(NetFpga.keepWidth bits)
  val tuser = Bits(NetFpga.userWidth bits)
  val tlast = Bool()
}

object NetFpga {
  val dataWidth = 256
  val keepWidth = 32
  val userWidth = 128
  /** Ethernet ports 0 to 3, and the host */
  val ports = 5
  val host = 4
  val lengthBits = 15 downto 0
  val destinationBits = 31 downto 24

  /** Which outputs a destination field asks for. */
  def outputs(destination: Bits): Bits =
    B(Seq.tabulate(host)(port => destination(2 * port)) :+ Seq.tabulate(host)(port => destination(2 * port + 1)).reduce(_ || _))
  /** The destination field of a frame that leaves through one output. */
  def destination(output: Int): Int = if (output == host) 0x02 else 1 << (2 * output)

  /** Gives a stream's signals the names of the AXI4-Stream standard. */
  def name(stream: Stream[NetFpgaWord], prefix: String): Unit = {
    stream.valid.setName(s"${prefix}_tvalid")
    stream.ready.setName(s"${prefix}_tready")
    for ((signal, name) <- Seq(stream.tdata -> "tdata", stream.tkeep -> "tkeep", stream.tuser -> "tuser", stream.tlast -> "tlast"))
      signal.setName(s"${prefix}_$name")
  }
}
