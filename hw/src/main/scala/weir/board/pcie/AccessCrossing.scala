package weir.board.pcie
import spinal.core._
import spinal.lib._
import weir.control.registers.AxiLitePort

/** Takes accesses of the current clock to an AXI4-Lite bus of another one, one at a time.
  *
  * The host always gets an answer: when the bus has given none for 2^patienceWidth cycles (its clock may stand still), reads give
  * [[WordAccess.nobody]]. What was asked for stays asked for, and its answer is thrown away; until it comes, every
  * other access is answered at once, reads with [[WordAccess.nobody]], writes without effect. What the bus refuses reads as
  * [[WordAccess.nobody]] too. A reset on either side leaves no access behind that would be carried out again, nor one that is carried out
  * without having been asked for; the two sides may be reset at different times.
  *
  * @param bus clock of the AXI4-Lite bus
  */
class AccessCrossing(addressWidth: Int, patienceWidth: Int, bus: ClockDomain) extends Component {
  val access = slave(WordAccess(addressWidth))
  val axi = master(AxiLitePort(addressWidth))

  /** What crosses: a request is a change of `ask`. Not reset, or a reset would look like a request. */
  private val lasting = ClockDomain.current.withBootReset()
  val sent = new ClockingArea(lasting) {
    val ask = RegInit(False)
    val write = Reg(Bool()) init False
    val address = Reg(UInt(addressWidth bits)) init 0
    val strobe = Reg(Bits(4 bits)) init 0
    val wdata = Reg(Bits(32 bits)) init 0
  }

  val side = new ClockingArea(bus) {
    private val asked = BufferCC(sent.ask, init = False)
    /** after a reset: until `asked` is true again, whatever it shows has been done, or never will be */
    val fresh = Reg(UInt(3 bits)) init 7
    val answer = RegInit(False)
    val rdata = Reg(Bits(32 bits)) init WordAccess.nobody
    val open, awvalid, wvalid, arvalid = RegInit(False)
    private val write = sent.write.addTag(crossClockDomain)

    when(axi.awready)(awvalid := False)
    when(axi.wready)(wvalid := False)
    when(axi.arready)(arvalid := False)
    when(fresh =/= 0) {
      fresh := fresh - 1
      answer := asked
    } elsewhen (open) {
      when((axi.bvalid && axi.bready) || (axi.rvalid && axi.rready)) {
        open := False
        answer := !answer
        rdata := (axi.rvalid && !axi.rresp(1)) ? axi.rdata | B(WordAccess.nobody, 32 bits)
      }
    } elsewhen (asked =/= answer) {
      open := True
      awvalid := write
      wvalid := write
      arvalid := !write
    }
    axi.awvalid := awvalid
    axi.wvalid := wvalid
    axi.arvalid := arvalid
    axi.bready := open
    axi.rready := open
    axi.awaddr := sent.address.addTag(crossClockDomain)
    axi.araddr := sent.address.addTag(crossClockDomain)
    axi.wdata := sent.wdata.addTag(crossClockDomain)
    axi.wstrb := sent.strobe.addTag(crossClockDomain)
    axi.awprot := 0
    axi.arprot := 0
  }

  /** not reset either: what it forgot would look answered */
  val returned = new ClockingArea(lasting) {
    val answer = BufferCC(side.answer, init = False)
  }
  val host = new Area {
    val outstanding = returned.answer =/= sent.ask
    val waiting = RegInit(False)
    val patience = Reg(UInt(patienceWidth bits)) init 0
    access.ready := False
    access.rdata := WordAccess.nobody
    when(!waiting) {
      patience := 0
      when(access.valid && outstanding)(access.ready := True)
      when(access.valid && !outstanding) {
        waiting := True
        sent.ask := !sent.ask
        sent.write := access.write
        sent.address := access.address @@ U(0, 2 bits)
        sent.strobe := access.strobe
        sent.wdata := access.wdata
      }
    } otherwise {
      patience := patience + 1
      when(!outstanding)(access.rdata := side.rdata.addTag(crossClockDomain))
      when(!outstanding || patience.andR) {
        access.ready := True
        waiting := False
      }
    }
  }
}
