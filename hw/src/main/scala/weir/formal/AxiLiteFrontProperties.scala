package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.control.registers.{AxiLiteFront, AxiLitePort, RegisterMap}

/** AxiLiteFront keeps the rules of AXI4-Lite, has one access at a time on the bus, which stands still until it is
  * answered, passes on what the host asked and answers what the bus answered. It never hangs if the bus answers
  * within three cycles.
  *
  * @param leak None, or `hang`: the bus need not answer; or `stable`: read data come from the bus, held or not
  */
class AxiLiteFrontProperties(leak: Option[String]) extends Properties(resets = true) {
  private val slow = 3
  val dut = AxiLiteFront()
  val host = AxiLitePort(RegisterMap.addressWidth)
  val csr = dut.io.csr
  val bus = dut.io.bus
  for (signal <- Seq(csr.awvalid, csr.wvalid, csr.bready, csr.arvalid, csr.rready)) signal := any(Bool())
  csr.awaddr := any(UInt(RegisterMap.addressWidth bits))
  csr.araddr := any(UInt(RegisterMap.addressWidth bits))
  csr.wdata := any(Bits(32 bits))
  csr.wstrb := any(Bits(4 bits))
  csr.awprot := 0
  csr.arprot := 0
  bus.ready := any(Bool())
  bus.rdata := any(Bits(32 bits))
  bus.error := any(Bool())

  /** cycles that the bus has not answered */
  val silence = Reg(UInt(3 bits)) init 0
  when(!bus.valid || bus.ready)(silence := 0) elsewhen (!silence.andR)(silence := silence + 1)
  if (!leak.contains("hang")) assume(!(bus.valid && !bus.ready && silence >= slow))

  host := csr
  if (leak.contains("stable")) host.rdata.allowOverride() := bus.rdata
  val rules = new AxiLiteRules(host, running, settled, depth = 2, patience = 2 * slow + 6)

  /** What was asked: a channel takes nothing new before its request has been carried out. */
  val asked = new Area {
    val aw = RegNextWhen(csr.awaddr, csr.awvalid && csr.awready)
    val w = RegNextWhen(csr.wdata ## csr.wstrb, csr.wvalid && csr.wready)
    val ar = RegNextWhen(csr.araddr, csr.arvalid && csr.arready)
  }
  /** What the bus answered. */
  val answered = new Area {
    val read = bus.valid && bus.ready && !bus.write
    val write = bus.valid && bus.ready && bus.write
    val data, code = Reg(Bits(32 bits))
    val codeB = Reg(Bits(2 bits))
    data := 0
    code := 2
    codeB := 2
    when(read) {
      data := bus.error ? B(0, 32 bits) | bus.rdata
      code := bus.error ? B(2, 32 bits) | B(0, 32 bits)
    }
    when(write)(codeB := bus.error ? B(2, 2 bits) | B(0, 2 bits))
  }
  val busWaits = RegNext(bus.valid && !bus.ready)
  /** `wdata` means something in writes only */
  val busRequest = bus.write ## bus.address ## (bus.write ? bus.wdata | B(0, 32 bits))
  val busBefore = RegNext(busRequest)
  val rWas = RegNext(csr.rvalid)
  val bWas = RegNext(csr.bvalid)

  when(running && settled) {
    when(busWaits)(assert(bus.valid && busRequest === busBefore))
    when(bus.valid && bus.write) {
      assert(bus.address @@ U(0, 2 bits) === asked.aw && bus.wdata ## B(15, 4 bits) === asked.w)
    }
    when(bus.valid && !bus.write)(assert(bus.address @@ U(0, 2 bits) === asked.ar))
    when(csr.rvalid && !rWas)(assert(csr.rdata === answered.data && csr.rresp === answered.code(1 downto 0)))
    when(csr.bvalid && !bWas)(assert(csr.bresp === answered.codeB))

    // what is held is what was asked
    when(!csr.awready)(assert(inner[UInt](dut, "aw_data") === asked.aw))
    when(!csr.wready)(assert(inner[Bits](dut, "w_data") ## inner[Bits](dut, "wstrb") === asked.w))
    when(!csr.arready)(assert(inner[UInt](dut, "ar_data") === asked.ar))
    // where the requests are: what makes the rules inductive
    assert(rules.aw.count === (!csr.awready).asUInt +^ csr.bvalid.asUInt)
    assert(rules.w.count === (!csr.wready).asUInt +^ csr.bvalid.asUInt)
    assert(rules.ar.count === (!csr.arready).asUInt +^ csr.rvalid.asUInt)
    when(bus.valid && bus.write)(assert(!csr.awready && !csr.wready && !csr.bvalid))
    when(bus.valid && !bus.write)(assert(!csr.arready && !csr.rvalid))

    cover(csr.bvalid && csr.bready && csr.bresp === 0 && csr.rvalid)
    cover(csr.rvalid && !csr.rready && csr.rdata === 0x12345678 && before(csr.rvalid))
    cover(csr.bvalid && csr.bresp === 2 && asked.aw(1 downto 0) === 0)
    cover(rules.aw.count === 2 && rules.ar.count === 2)
    cover(rules.reading.cycles === 2 * slow + 2)
  }
}
