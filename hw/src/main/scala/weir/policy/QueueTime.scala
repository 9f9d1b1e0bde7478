package weir.policy
import spinal.core._
import weir.WeirConfig

/** Something happened to a queue at a time. */
case class QueueTime(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val nowNs = c.time
}
