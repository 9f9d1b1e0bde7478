package weir.receive
import spinal.core._
import weir.WeirConfig

/** Codes of [[FrameMeta.ipVersion]]. */
object IpVersion {
  val none = 0
  val v4 = 1
  val v6 = 2
}

/** What is known about a frame when its last beat has arrived; all of it means something for good frames only. */
case class FrameMeta(c: WeirConfig) extends Bundle {
  /** bytes without FCS */
  val length = c.length
  val queue = c.queueId
  /** [[weir.policy.Ecn]]; 0 if not IP */
  val ecn = UInt(2 bits)
  /** [[IpVersion]] */
  val ipVersion = UInt(2 bits)
  /** VLAN tags before the IP header, which starts at byte 14 + 4 * ipOffset; 0 if not IP */
  val ipOffset = UInt(2 bits)
  /** to 01-80-C2-00-00-0x: no policy drops or marks it */
  val exempt = Bool()
}
