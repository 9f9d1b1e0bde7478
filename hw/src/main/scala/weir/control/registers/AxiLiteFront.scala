package weir.control.registers
import spinal.core._
import spinal.lib._

/** AXI4-Lite slave in front of the register bus.
  *
  * Each request channel has one holding register, so that the order and the distance of AW and W do not matter.
  * One access at a time goes to the bus. A response waits in its own register, so a stalled BREADY does not hold up
  * reads, nor RREADY writes. Writes go first, but not while their response register is full, as it is when the
  * choice after a write is made: reads and writes take turns when both wait.
  *
  * From the handshake of a request the bus sees it 2 cycles later, the host the response 1 cycle after the bus has
  * answered. All outputs but `busy` are registers; responses stand still until their handshake. A misaligned address
  * or WSTRB other than 0xF answers SLVERR and does not reach the bus. In reset every READY and VALID is low.
  */
case class AxiLiteFront() extends Component {
  val io = new Bundle {
    val csr = slave(AxiLitePort(RegisterMap.addressWidth))
    val bus = master(CsrBus(RegisterMap.addressWidth - 2))
    /** a request is held, carried out, or its response waits */
    val busy = out Bool()
  }

  /** One request, from its handshake until `take`. */
  private class Hold[T <: Data](valid: Bool, ready: Bool, payload: T) extends Area {
    val take = False
    val open, full = RegInit(False)
    val data = RegNextWhen(payload, valid && open)
    val fullNext = (full || valid && open) && !take
    full := fullNext
    open := !fullNext
    ready := open
  }

  /** One response, from `set` until its handshake. */
  private class Response(valid: Bool, ready: Bool, resp: Bits) extends Area {
    val waiting = RegInit(False)
    val code = Reg(Bits(2 bits)) init AxiLitePort.okay
    valid := waiting
    resp := code
    when(ready)(waiting := False)
    def set(error: Bool): Unit = {
      waiting := True
      code := Mux(error, B(AxiLitePort.slvErr, 2 bits), B(AxiLitePort.okay, 2 bits))
    }
  }

  private val aw = new Hold(io.csr.awvalid, io.csr.awready, io.csr.awaddr)
  private val w = new Hold(io.csr.wvalid, io.csr.wready, io.csr.wdata)
  private val wstrb = RegNextWhen(io.csr.wstrb, io.csr.wvalid && w.open)
  private val ar = new Hold(io.csr.arvalid, io.csr.arready, io.csr.araddr)
  private val b = new Response(io.csr.bvalid, io.csr.bready, io.csr.bresp)
  private val r = new Response(io.csr.rvalid, io.csr.rready, io.csr.rresp)
  private val rdata = Reg(Bits(32 bits)) init 0
  io.csr.rdata := rdata

  private val choice = new Area {
    val writeWaits = aw.full && w.full && !b.waiting
    val readWaits = ar.full && !r.waiting
    val legal = Mux(writeWaits, aw.data(1 downto 0) === 0 && wstrb === 0xF, ar.data(1 downto 0) === 0)
  }

  private val access = new Area {
    val valid = RegInit(False)
    val write = Reg(Bool())
    val address = Reg(UInt(RegisterMap.addressWidth - 2 bits))
    io.bus.valid := valid
    io.bus.write := write
    io.bus.address := address
    io.bus.wdata := w.data

    def finish(write: Bool, error: Bool): Unit = {
      when(write) {
        aw.take := True
        w.take := True
        b.set(error)
      } otherwise {
        ar.take := True
        r.set(error)
      }
    }

    /* enabled by a register alone: the value of the last cycle before RVALID stays */
    when(!r.waiting)(rdata := Mux(valid && !io.bus.error, io.bus.rdata, B(0, 32 bits)))
    when(valid) {
      when(io.bus.ready) {
        valid := False
        finish(write, io.bus.error)
      }
    } elsewhen (choice.writeWaits || choice.readWaits) {
      write := choice.writeWaits
      address := Mux(choice.writeWaits, aw.data, ar.data)(RegisterMap.addressWidth - 1 downto 2)
      valid := choice.legal
      when(!choice.legal)(finish(choice.writeWaits, True))
    }
  }

  io.busy := aw.full || w.full || ar.full || b.waiting || r.waiting
}
