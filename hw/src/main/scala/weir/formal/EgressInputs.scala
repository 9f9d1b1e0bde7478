package weir.formal
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Descriptor
import weir.transmit.Egress

/** Egress, small where it has jumbo frames, or with one of the faults that proofs of it must find. */
private class LeakyEgress(c: WeirConfig, leak: Option[String]) extends Egress(c, frames = 4, packets = 8) {
  if (leak.contains("credit")) when(io.read.valid)(credit.used := credit.used)
  if (leak.contains("room")) io.room.removeAssignments() := pending.count < 3
  if (leak.contains("twice")) jobs.push.valid.removeAssignments() := io.departure.valid
}

/** Egress, and what proofs of it share of the core around it: packets of 14 to `longest` bytes; words three cycles after `read`; lookups
  * accepted every second cycle and answered `link` cycles later; arrivals give cells back in one cycle of four. Grants and
  * departures are the proof's, four or more cycles apart.
  */
abstract class EgressInputs(c: WeirConfig, longest: Int, make: => Egress, link: Int = 2) extends Properties {
  val dut: Egress = make

  val descriptor = Descriptor(c)
  descriptor.assignFromBits(B(0, widthOf(descriptor) bits))
  descriptor.length.removeAssignments() := any(c.length)
  descriptor.chain.first.removeAssignments() := any(c.cellId)
  descriptor.chain.cells.removeAssignments() := ((descriptor.length + 63) >> 6).resized
  assume(descriptor.length >= 14 && descriptor.length <= longest)

  val coming = Vec.fill(3)(RegInit(False))
  coming(0) := dut.io.read.valid
  for (n <- 1 to 2) coming(n) := coming(n - 1)
  dut.io.word.valid := coming(2)
  dut.io.word.payload := 0

  val slot = RegInit(False)
  slot := !slot
  dut.io.lookup.ready := slot
  dut.io.next.valid := Delay(dut.io.lookup.fire, link, init = False)
  dut.io.next.payload := any(c.cellId)
  val busy = History(!dut.io.free.ready, 1 to 3, init = False)
  dut.io.free.ready := any(Bool())
  assume(dut.io.free.ready || !busy.reduce(_ || _))

  val used = dut.credit.used.pull()

  /** What became of chains that were handed over. */
  class Chains extends Area {
    private val departs = dut.io.departure.valid
    private val frees = dut.io.free.fire
    /** not freed yet */
    val holding = Reg(UInt(4 bits)) init 0
    holding := holding + departs.asUInt - frees.asUInt
    /** the first cell of one chain at a time */
    val cell = some(c.cellId)
    val out = RegInit(False)
    val leaves = departs && descriptor.chain.first === cell
    val returns = frees && dut.io.free.first === cell
    assume(!(leaves && out))
    when(leaves)(out := True)
    when(returns)(out := False)
    when(running && returns)(assert(out || leaves))
  }
}
