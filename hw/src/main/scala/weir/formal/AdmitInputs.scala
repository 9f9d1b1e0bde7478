package weir.formal

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.aqm.{Admit, Cause, PolicyVerdict}
import weir.buffer.{Arrival, Fill}
import weir.csr.QueueConfig

/** Admit, or with one of the faults that proofs of it must find. */
private class LeakyAdmit(c: WeirConfig, leak: Option[String]) extends Admit(c) {
  if (leak.contains("room")) io.room.removeAssignments() := RegNext(waiting.io.availability > 1) init True
  if (leak.contains("descriptor")) io.giveDescriptor.valid.removeAssignments() := False
  if (leak.contains("spare")) descriptor.spare.removeAssignments() := False
  if (leak.contains("exempt")) known.exempt.removeAssignments() := False
  if (leak.contains("complete")) together.described.removeAssignments() := True
}

/** Admit, and what proofs of it let come: arrivals whenever `room` was high in the cycle before (with jumbo frames in theirs);
  * configuration, fills, what holds or stalls, and the policies' verdicts are free in every cycle, verdicts with a cause of a policy. Descriptors are the proof's.
  */
abstract class AdmitInputs(c: WeirConfig, make: => Admit) extends Properties {
  val dut: Admit = make
  val arrival = any(Flow(Arrival(c)))
  assume(!arrival.valid || (if (c.jumbo) dut.io.room else before(dut.io.room)))
  dut.io.arrival << arrival
  val config = any(Vec(QueueConfig(c), c.queues))
  val fill = any(Vec(Fill(c), c.queues))
  dut.io.config := config
  dut.io.fill := fill
  dut.io.empty := B(fill.map(_.packets === 0))
  dut.io.sharedCells := any(UInt(15 bits))
  dut.io.sharedUsed := any(UInt(15 bits))
  dut.io.nowNs := any(c.time)
  val hold = any(Bits(c.queues bits))
  dut.io.hold := hold
  dut.io.stall := any(Bits(c.queues bits))
  dut.io.draw := any(UInt(c.drawWidth bits))
  dut.io.traces := any(Bits(c.queues bits))
  for (port <- dut.io.verdicts) {
    val verdict = any(Flow(PolicyVerdict(c)))
    assume(verdict.cause <= Cause.forced)
    port << verdict
  }
  dut.io.descriptor.payload := any(c.descriptorId)
  protected def beyondReserve(cells: UInt, reserve: UInt): UInt =
    Mux(cells.resize(17 bits) > reserve.resize(17 bits), cells.resize(17 bits) - reserve.resize(17 bits), U(0, 17 bits))
}
