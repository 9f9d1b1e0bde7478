package weir.receive
import spinal.core._
import weir.WeirConfig

/** What is known of a packet's flow (docs/jumbo.md, "Who may travel together"). */
object FlowKind {
  /** not IP: in no order with anything */
  val none = 0
  /** IP, but the ports are not there to be seen */
  val unknown = 1
  /** the packet may not join, but is in order with its flow */
  val barred = 2
  val joinable = 3
}

/** A packet's flow: two packets have the same Ethernet header, DSCP and flow if slot and number are the same; in queues that merge by
  * class, the same Ethernet header, DSCP, IP version, and class.
  */
case class FlowTag(c: WeirConfig) extends Bundle {
  /** [[FlowKind]] */
  val kind = UInt(2 bits)
  /** where the flow's open group is; it follows from addresses, protocol and ports, or from queue and class */
  val slot = UInt(c.flowSlotWidth bits)
  val number = UInt(c.flowNumberWidth bits)
  /** of the match table, when its destination was looked up */
  val epoch = UInt(MatchResult.epochWidth bits)

  /** the slot is one of a class */
  def classed: Bool = slot.msb
}

/** The tag of an arrival. */
case class FlowTagWrite(c: WeirConfig) extends Bundle {
  val index = UInt(c.flowIndexWidth bits)
  val tag = FlowTag(c)
}

/** An arrival in the buffer, whose flow is asked for. */
case class FlowArrival(c: WeirConfig) extends Bundle {
  val index = UInt(c.flowIndexWidth bits)
  val length = c.length
  /** [[weir.receive.IpVersion]] */
  val ipVersion = UInt(2 bits)
  /** VLAN tags */
  val tags = UInt(2 bits)
  /** to 01-80-C2-00-00-0x */
  val exempt = Bool()
  val queue = c.queueId
  /** its queue merges by class */
  val classed = Bool()
}
