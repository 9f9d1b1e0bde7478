package weir.board.uart
import spinal.core._
import spinal.lib._
import weir.control.registers.{AxiLitePort, RegisterMap}

/** One access to a core. Held until a cycle with `ready`; `rdata`, `error` and `silent` are valid in that cycle. */
case class Access() extends Bundle with IMasterSlave {
  val valid = Bool()
  val write = Bool()
  val address = UInt(RegisterMap.addressWidth bits)
  val wdata = Bits(32 bits)
  val ready = Bool()
  val rdata = Bits(32 bits)
  /** the core refused */
  val error = Bool()
  /** the core has not answered in time */
  val silent = Bool()

  override def asMaster(): Unit = {
    out(valid, write, address, wdata)
    in(ready, rdata, error, silent)
  }
}

/** AXI4-Lite master: one access at a time, AW and W at once, all outputs from registers.
  *
  * An access ends in the cycle after its response, or `patience` cycles after it was asked for: then it is silent. AXI knows no way to
  * take a request back, so it stays on the bus, and what comes of it is thrown away; the next access waits for that, no
  * longer than `patience` cycles, and is silent too.
  */
class RegisterMaster(c: UartConfig) extends Component {
  val access = slave(Access())
  val axi = master(AxiLitePort(RegisterMap.addressWidth))

  /** on the bus: of `access`, or given up */
  val outstanding, wanted = RegInit(False)
  val address = Reg(UInt(RegisterMap.addressWidth bits))
  val wdata = Reg(Bits(32 bits))
  val awvalid, wvalid, bready, arvalid, rready = RegInit(False)

  val done = RegInit(False)
  val error, silent = Reg(Bool())
  val rdata = Reg(Bits(32 bits))
  val waited = Reg(UInt(log2Up(c.patience) bits)) init 0
  done := False
  waited := (access.valid && !done) ? (waited + 1) | U(0, widthOf(waited) bits)

  when(axi.awready)(awvalid := False)
  when(axi.wready)(wvalid := False)
  when(axi.arready)(arvalid := False)
  when(access.valid && !done && !outstanding) {
    outstanding := True
    wanted := True
    address := access.address
    wdata := access.wdata
    awvalid := access.write
    wvalid := access.write
    bready := access.write
    arvalid := !access.write
    rready := !access.write
  }

  val answers = (axi.bvalid && bready) || (axi.rvalid && rready)
  when(waited.andR && !done) {
    done := True
    silent := True
    wanted := False
  }
  when(answers) {
    outstanding := False
    wanted := False
    bready := False
    rready := False
    when(wanted) {
      done := True
      silent := False
    }
    error := bready ? axi.bresp(1) | axi.rresp(1)
    rdata := axi.rdata
  }

  access.ready := done
  access.rdata := rdata
  access.error := error
  access.silent := silent
  axi.awaddr := address
  axi.awprot := 0
  axi.awvalid := awvalid
  axi.wdata := wdata
  axi.wstrb := 0xF
  axi.wvalid := wvalid
  axi.bready := bready
  axi.araddr := address
  axi.arprot := 0
  axi.arvalid := arvalid
  axi.rready := rready
}
