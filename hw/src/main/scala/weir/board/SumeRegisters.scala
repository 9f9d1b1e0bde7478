package weir.board
import spinal.core._
import spinal.lib._
import weir.control.registers.{AxiLiteFront, AxiLitePort, RegisterMap}
import weir.mac.MacStatistics

/** A port of the board as its registers show it. */
case class PortState() extends Bundle {
  /** the PCS has locked onto blocks */
  val locked = Bool()
  /** a module is plugged in */
  val present = Bool()
  /** the module sees light */
  val signal = Bool()
  /** the module's transmitter has failed */
  val fault = Bool()
}

/** Registers of the NetFPGA-SUME beside those of its cores: words of [[SumeRegisters]].
  *
  * CONTROL bit n: bypass of the pair of ports 2n and 2n + 1; `toggle` switches all off, or all on if none is. STATUS: four bits a port, those of
  * [[PortState]]. A write to SNAPSHOT copies the MACs' counters, a read shows in bit 0 whether the copy is still under way.
  */
class SumeRegisters(ports: Int) extends Component {
  private val width = RegisterMap.addressWidth
  val io = new Bundle {
    val csr = slave(AxiLitePort(width))
    val toggle = in Bool ()
    val bypass = out Bits (ports / 2 bits)
    val state = in(Vec(PortState(), ports))
    val statistics = Vec(slave(MacStatistics()), ports)
    val clockRefused = in UInt (8 bits)
  }
  noIoPrefix()
  val front = AxiLiteFront()
  front.io.csr <> io.csr
  private val bus = front.io.bus

  val bypass = Reg(Bits(ports / 2 bits)) init 0
  /** an access takes two cycles and acts in the second */
  val second = RegInit(False)
  second := bus.valid && !second
  private val written = second && bus.write
  val snapshot = RegNext(written && bus.address === SumeRegisters.snapshot / 4) init False
  when(written && bus.address === SumeRegisters.control / 4)(bypass := bus.wdata.resized)
  when(io.toggle)(bypass := bypass.orR ? bypass.getZero | ~bypass.getZero)
  io.bypass := bypass
  for (mac <- io.statistics) mac.snapshot := snapshot
  private val copying = snapshot || io.statistics.map(_.busy).reduce(_ || _)

  private val state = io.state.map(s => RegNext(s.fault ## s.signal ## s.present ## s.locked) init 0)
  private val fixed: Seq[(Int, Bits)] = Seq(
    SumeRegisters.id -> B(SumeRegisters.mark, 32 bits),
    SumeRegisters.ports -> B(ports, 32 bits),
    SumeRegisters.control -> bypass.resize(32 bits),
    SumeRegisters.status -> state.reverse.reduce(_ ## _).resize(32 bits),
    SumeRegisters.snapshot -> copying.asBits.resize(32 bits),
    SumeRegisters.clock -> io.clockRefused.asBits.resize(32 bits))
  private val counters: Seq[(Int, Bits)] = for ((mac, n) <- io.statistics.toList.zipWithIndex; (word, k) <- SumeRegisters.words(mac).zipWithIndex)
    yield (SumeRegisters.counters + n * SumeRegisters.stride + 4 * k, word)

  private val all = fixed ++ counters
  val known = RegNext(all.map { case (address, _) => bus.address === address / 4 }.reduce(_ || _)) init False
  val writable = RegNext(bus.address === SumeRegisters.control / 4 || bus.address === SumeRegisters.snapshot / 4) init False
  val word = Reg(Bits(32 bits))
  word := 0
  for ((address, value) <- all) when(bus.address === address / 4)(word := value)
  bus.ready := second
  bus.rdata := word
  bus.error := !(bus.write ? writable | known)
}

/** Byte addresses of the words. */
object SumeRegisters {
  val id = 0x00
  val ports = 0x04
  val control = 0x08
  val status = 0x0C
  val snapshot = 0x10
  val clock = 0x14
  val counters = 0x100
  val stride = 0x40
  /** "WSUM" */
  val mark: BigInt = BigInt("WSUM".map(_.toInt.formatted("%02x")).mkString, 16)

  /** A MAC's counters from its address on: received (six kinds, bytes low and high), sent (three kinds, bytes low and high). */
  def words(mac: MacStatistics): Seq[Bits] = {
    def halves(value: UInt): Seq[Bits] = Seq(value(31 downto 0).asBits, value(47 downto 32).asBits.resize(32 bits))
    mac.received.toList.map(_.asBits) ++ halves(mac.receivedBytes) ++ mac.sent.toList.map(_.asBits) ++ halves(mac.sentBytes)
  }
}
