package weir.board.netfpga
import spinal.core._
import spinal.lib._
import weir.control.registers.AxiLitePort

/** One AXI4-Lite slave in front of several blocks of 64 KiB, and read-only words of its own behind them.
  *
  * The bits above 15 choose the block; block `blocks` is the own one (none if `own` is 0), word k at 4·k. What is not there, and a write to an own
  * word, is answered with SLVERR. One read and one write at a time; two cycles more than the block's own answer takes.
  */
class AxiLiteDemux(blocks: Int, own: Int) extends Component {
  private val inner = 16
  private val width = AxiLiteDemux.addressWidth(blocks)
  val io = new Bundle {
    val up = slave(AxiLitePort(width))
    val down = Vec(master(AxiLitePort(inner)), blocks)
    val words = (own > 0) generate in(Vec(Bits(32 bits), own))
  }
  noIoPrefix()
  private def block(address: UInt): UInt = address(width - 1 downto inner)

  val read = new Area {
    val open, asked = RegInit(False)
    val address = Reg(UInt(width bits))
    val prot = Reg(Bits(3 bits))
    val chosen = block(address)
    val outside = chosen >= blocks
    val index = address(inner - 1 downto 2)
    val mine = chosen === blocks && index < own && address(1 downto 0) === 0
    /** taken once: an answer that waits does not change */
    val word = RegNextWhen(if (own > 0) io.words.read(index.resized) else B(0, 32 bits), !asked)
    val known = RegNextWhen(mine, !asked) init False
    val valid = Bool()
    val data = Bits(32 bits)
    val response = Bits(2 bits)
    valid := outside && asked
    data := known ? word | B(0, 32 bits)
    response := known ? B(AxiLitePort.okay, 2 bits) | B(AxiLitePort.slvErr, 2 bits)
    for ((port, n) <- io.down.zipWithIndex) {
      val here = open && chosen === n
      port.arvalid := here && !asked
      port.araddr := address.resize(inner bits)
      port.arprot := prot
      port.rready := here && asked && io.up.rready
      when(here) {
        valid := asked && port.rvalid
        data := port.rdata
        response := port.rresp
      }
    }
    io.up.arready := !open
    io.up.rvalid := open && valid
    io.up.rdata := data
    io.up.rresp := response
    when(open && (outside || Vec(io.down.map(p => p.arvalid && p.arready)).reduce(_ || _)))(asked := True)
    when(!open && io.up.arvalid) {
      open := True
      asked := False
      address := io.up.araddr
      prot := io.up.arprot
    }
    when(io.up.rvalid && io.up.rready)(open := False)
  }

  val write = new Area {
    val addressed, filled, addressSent, dataSent = RegInit(False)
    val address = Reg(UInt(width bits))
    val prot = Reg(Bits(3 bits))
    val data = Reg(Bits(32 bits))
    val strobe = Reg(Bits(4 bits))
    val chosen = block(address)
    val both = addressed && filled
    val valid = Bool()
    val response = Bits(2 bits)
    valid := both && chosen >= blocks
    response := AxiLitePort.slvErr
    for ((port, n) <- io.down.zipWithIndex) {
      val here = both && chosen === n
      port.awvalid := here && !addressSent
      port.awaddr := address.resize(inner bits)
      port.awprot := prot
      port.wvalid := here && !dataSent
      port.wdata := data
      port.wstrb := strobe
      port.bready := here && addressSent && dataSent && io.up.bready
      when(here) {
        valid := addressSent && dataSent && port.bvalid
        response := port.bresp
        when(port.awvalid && port.awready)(addressSent := True)
        when(port.wvalid && port.wready)(dataSent := True)
      }
    }
    io.up.awready := !addressed
    io.up.wready := !filled
    io.up.bvalid := valid
    io.up.bresp := response
    when(io.up.awvalid && !addressed) {
      addressed := True
      address := io.up.awaddr
      prot := io.up.awprot
    }
    when(io.up.wvalid && !filled) {
      filled := True
      data := io.up.wdata
      strobe := io.up.wstrb
    }
    when(io.up.bvalid && io.up.bready) {
      for (flag <- Seq(addressed, filled, addressSent, dataSent)) flag := False
    }
  }
}

object AxiLiteDemux {
  /** Address bits for so many blocks and the own one. */
  def addressWidth(blocks: Int): Int = 16 + log2Up(blocks + 1)
}
