package weir.control.counters
import spinal.core._
import weir.WeirConfig

/** One per arrival, at its commit; at most one every second cycle, and one every four on average. */
case class ArrivalEvent(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val length = c.length
  /** codepoint on arrival */
  val ecn = UInt(2 bits)
  /** [[weir.policy.Action]] as carried out */
  val action = UInt(2 bits)
  /** [[weir.policy.Cause]] */
  val cause = UInt(3 bits)
}

/** One per departure, when its descriptor has been read; at most one every four cycles. */
case class DepartureEvent(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val length = c.length
  val sojournNs = UInt(c.timeWidth bits)
  /** not sent */
  val discard = Bool()
  /** why: [[weir.policy.Cause]] */
  val cause = UInt(3 bits)
  /** marked by its policy at departure; selected by it, but CE already */
  val marked, alreadyCe = Bool()
  /** it leaves in a jumbo frame */
  val merged = Bool()
}

/** How a frame ended at the ingress. */
object FrameEnd {
  val good = 0
  val bad = 1
  val runt = 2
  val oversize = 3
  /** no free cell or no room before ArrivalDecision */
  val overflow = 4
  /** a jumbo frame that does not say the truth (docs/jumbo.md) */
  val malformed = 5
}

/** One per frame at the ingress. */
case class IngressEvent(c: WeirConfig) extends Bundle {
  /** [[FrameEnd]] */
  val end = UInt(3 bits)
  /** of a jumbo frame that was split: its packets and the bytes of their own frames; of others 1 and all bytes that arrived */
  val packets = UInt(9 bits)
  val bytes = UInt(24 bits)
  /** all bytes that arrived */
  val wireBytes = UInt(24 bits)
  /** a jumbo frame that was split */
  val jumbo = Bool()
  /** of its packets those that were dropped: Not-ECT, and the jumbo frame was marked */
  val discarded = UInt(9 bits)
  val discardedBytes = UInt(24 bits)
}
