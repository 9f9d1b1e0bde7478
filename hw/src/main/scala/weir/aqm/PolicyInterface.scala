package weir.aqm

import spinal.core._
import weir.WeirConfig

/** ECN codepoints (RFC 3168) as they stand in the header. */
object Ecn {
  val notEct = 0
  val ect1 = 1
  val ect0 = 2
  val ce = 3
}

/** What is to happen to a packet. */
object Action {
  val accept = 0
  val mark = 1
  val drop = 2
}

/** Why a packet was dropped or selected. Also the cause field of a trace record. */
object Cause {
  val none = 0
  /** the policy's random decision */
  val early = 1
  /** the policy's certain decision */
  val forced = 2
  /** the queue's hard limit, its share of the cells, or no descriptor */
  val overflow = 3
  val linkDown = 4
}

/** An arrival that a policy is asked about. The quantities are those of the queue before the arrival;
  * arrivals whose verdict is pending count as accepted.
  */
case class PolicyRequest(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val nowNs = c.time
  val length = c.length
  val bytes = c.quantity
  val packets = c.count
  val frames = c.count
  val ecn = UInt(2 bits)
  /** u * 2^24 */
  val draw = UInt(c.drawWidth bits)
}

/** What the policy used for its decision; copied to the trace record. */
case class PolicyEvidence(c: WeirConfig) extends Bundle {
  /** UQ21.22 in the queue's unit */
  val average = UInt(43 bits)
  /** packets since the last action, as used */
  val count = UInt(16 bits)
  /** probability before spreading, UQ1.32 */
  val probability = UInt(33 bits)
  /** idle slots that the average was decayed by */
  val idleSlots = UInt(22 bits)
}

/** A policy's answer, a fixed number of cycles after the request, in order. */
case class PolicyVerdict(c: WeirConfig) extends Bundle {
  /** [[Action]] */
  val action = UInt(2 bits)
  /** [[Cause]]: early or forced when the packet was selected, also when it is accepted nevertheless (nodrop, CE) */
  val cause = UInt(3 bits)
  val evidence = PolicyEvidence(c)
}

/** What really happened to the oldest request that has a verdict but no commit yet: one cycle after each verdict. */
case class PolicyCommit(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val length = c.length
  /** the policy selected the packet (early or forced) and was not overridden */
  val selected = Bool()
  /** the packet was dropped, for any cause */
  val dropped = Bool()
}
