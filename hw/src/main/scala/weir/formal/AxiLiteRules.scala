package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.control.registers.AxiLitePort

/** The rules of AXI4-Lite for a slave: responses stand still until they are taken; each answers one request, and none
  * comes before its request; each comes within `patience` cycles once the response before it has been taken. Nothing is
  * asked of the master.
  *
  * @param depth    requests of a kind that may be on their way at once
  * @param patience cycles
  */
class AxiLiteRules(port: AxiLitePort, running: Bool, settled: Bool, depth: Int, patience: Int) extends Area {
  private def fires(valid: Bool, ready: Bool) = valid && ready
  private def stands(valid: Bool, ready: Bool, payload: Bits): Unit = {
    val waits = RegNext(valid && !ready)
    val past = RegNext(payload)
    when(settled && waits)(assert(valid && payload === past))
  }
  stands(port.bvalid, port.bready, port.bresp)
  stands(port.rvalid, port.rready, port.rresp ## port.rdata)

  /** Requests that have no response yet. */
  case class Open(came: Bool, went: Bool) extends Area {
    val count = Reg(UInt(log2Up(depth + 2) bits)) init 0
    count := count + came.asUInt - went.asUInt
    when(running)(assert(count <= depth))
  }
  val aw = Open(fires(port.awvalid, port.awready), fires(port.bvalid, port.bready))
  val w = Open(fires(port.wvalid, port.wready), fires(port.bvalid, port.bready))
  val ar = Open(fires(port.arvalid, port.arready), fires(port.rvalid, port.rready))

  /** Cycles that the oldest request has waited for its response. */
  case class Patience(waits: Bool) extends Area {
    val cycles = Reg(UInt(log2Up(patience + 2) bits)) init 0
    when(!waits)(cycles := 0) elsewhen (cycles <= patience)(cycles := cycles + 1)
    when(running)(assert(cycles <= patience))
  }
  val writing = Patience(aw.count =/= 0 && w.count =/= 0 && !port.bvalid)
  val reading = Patience(ar.count =/= 0 && !port.rvalid)

  when(running) {
    when(port.bvalid)(assert(aw.count =/= 0 && w.count =/= 0))
    when(port.rvalid)(assert(ar.count =/= 0))
    // in the first cycle after reset
    when(!settled)(assert(!port.bvalid && !port.rvalid))
  }
}
