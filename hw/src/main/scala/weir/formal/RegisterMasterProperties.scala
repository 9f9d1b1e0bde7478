package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.board.uart.{Access, RegisterMaster, UartConfig}
import weir.control.registers.RegisterMap

/** RegisterMaster keeps the rules of an AXI4-Lite master: what it offers stands still until it is taken; one request at a
  * time; nothing is asked again before its response. An access ends within its patience, with what was answered to it and not to
  * one that was given up before, or silent.
  *
  * @param leak None, or `early`: the core may answer what has not been taken yet; or `hasty`: an access is changed while it waits
  */
class RegisterMasterProperties(leak: Option[String]) extends Properties(resets = true) {
  private val c = UartConfig(clockHz = 8000000, baud = 1000000, patience = 8)
  val dut = new RegisterMaster(c)
  val access = dut.access
  val axi = dut.axi
  access.valid := any(Bool())
  access.write := any(Bool())
  access.address := any(UInt(RegisterMap.addressWidth bits))
  access.wdata := any(Bits(32 bits))
  for (signal <- Seq(axi.awready, axi.wready, axi.arready, axi.bvalid, axi.rvalid)) signal := any(Bool())
  axi.bresp := any(Bits(2 bits))
  axi.rresp := any(Bits(2 bits))
  axi.rdata := any(Bits(32 bits))

  /** taken, and without a response */
  case class Open(valid: Bool, ready: Bool, answered: Bool) extends Area {
    val is = RegInit(False)
    when(valid && ready)(is := True) elsewhen (answered)(is := False)
  }
  val aw = Open(axi.awvalid, axi.awready, axi.bvalid && axi.bready)
  val w = Open(axi.wvalid, axi.wready, axi.bvalid && axi.bready)
  val ar = Open(axi.arvalid, axi.arready, axi.rvalid && axi.rready)
  if (!leak.contains("early")) {
    assume(!axi.bvalid || (aw.is && w.is))
    assume(!axi.rvalid || ar.is)
  }

  private def asked(a: Access) = a.write ## a.address ## a.wdata
  val waits = RegNext(access.valid && !access.ready) init False
  val askedBefore = RegNext(asked(access))
  if (!leak.contains("hasty")) assume(!(settled && waits) || (access.valid && asked(access) === askedBefore))

  private def stands(valid: Bool, ready: Bool, payload: Bits): Unit = {
    val waits = RegNext(valid && !ready)
    val past = RegNext(payload)
    when(settled && waits)(assert(valid && payload === past))
  }
  stands(axi.awvalid, axi.awready, axi.awaddr.asBits)
  stands(axi.wvalid, axi.wready, axi.wdata ## axi.wstrb)
  stands(axi.arvalid, axi.arready, axi.araddr.asBits)

  val outstanding = inner[Bool](dut, "outstanding")
  val wanted = inner[Bool](dut, "wanted")
  val waited = inner[UInt](dut, "waited")
  /** cycles that the access has waited, as the bench counts them */
  val patience = Reg(UInt(5 bits)) init 0
  patience := (access.valid && !access.ready) ? (patience + 1) | U(0, 5 bits)
  /** the last response */
  val answer = Reg(Bits(33 bits))
  when(axi.bvalid && axi.bready)(answer := axi.bresp(1) ## B(0, 32 bits))
  when(axi.rvalid && axi.rready)(answer := axi.rresp(1) ## axi.rdata)
  /** it answered a request that nobody waited for any more */
  val lateCame = RegInit(False)
  when(!wanted && ((axi.bvalid && axi.bready) || (axi.rvalid && axi.rready)))(lateCame := True)

  when(running && settled) {
    // one request at a time, and only its own response is taken
    assert(!(axi.bready && axi.rready))
    assert(outstanding === (axi.bready || axi.rready))
    assert(axi.bready === (aw.is ^ axi.awvalid) && axi.bready === (w.is ^ axi.wvalid) && !(aw.is && axi.awvalid) && !(w.is && axi.wvalid))
    assert(axi.rready === (ar.is ^ axi.arvalid) && !(ar.is && axi.arvalid))
    assert(axi.wstrb === 0xF)

    // what is on the bus is what was asked, and so is what is answered
    val isAsked = axi.awaddr === access.address && axi.bready === access.write && (!access.write || axi.wdata === access.wdata)
    when(wanted)(assert(outstanding && access.valid && !access.ready && isAsked))
    when(access.ready && !access.silent) {
      assert(access.valid && !outstanding && axi.awaddr === access.address)
      assert(access.error === answer(32) && (access.write || access.rdata === answer(31 downto 0)))
    }
    // in time; the last cycle of patience may bring the answer
    assert(waited === patience.resized || access.ready)
    assert(patience <= c.patience)
    when(access.ready && access.silent)(assert(patience === c.patience))

    cover(access.ready && !access.silent && !access.error && access.write && lateCame)
    cover(access.ready && access.silent && !before(access.ready) && !outstanding)
    cover(access.ready && !access.silent && patience === c.patience)
    cover(aw.is && axi.wvalid)
    cover(w.is && axi.awvalid && !wanted)
  }
}
