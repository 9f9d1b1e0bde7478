package weir.admission
import spinal.core._
import weir.control.trace.{TraceKind, TraceRecord}
import weir.policy.{PolicyEvidence, PolicyRequest}

/** The trace record of a decision. */
object ArrivalRecord {
  def apply(request: PolicyRequest, action: UInt, cause: UInt, evidence: PolicyEvidence, exempt: Bool, unit: UInt,
      number: UInt, members: Option[UInt] = None): Bits =
    TraceRecord.build(TraceKind.Arrival, Seq(
      "time_ns" -> request.nowNs, "queue" -> request.queue, "action" -> action, "cause" -> cause, "ecn" -> request.ecn,
      "exempt" -> exempt, "length" -> request.length, "policy" -> request.policy, "unit" -> unit,
      "bytes" -> request.bytes, "packets" -> request.packets, "frames" -> request.frames,
      "average" -> evidence.average, "count" -> evidence.count, "p" -> evidence.probability, "draw" -> request.draw,
      "idle_slots" -> evidence.idleSlots, "number" -> number) ++ members.map("members" -> _): _*).asBits
}
