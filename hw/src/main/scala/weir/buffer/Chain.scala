package weir.buffer
import spinal.core._
import weir.WeirConfig
import weir.receive.FrameMeta

/** A chain of cells, linked from `first` to `last` through the next-RAM. */
case class Chain(c: WeirConfig) extends Bundle {
  val first, last = c.cellId
  /** number of cells, 1 to 144 */
  val cells = UInt(8 bits)
}

/** Cells that were taken last and are given back. */
case class Rollback(c: WeirConfig) extends Bundle {
  /** the one that was taken first */
  val first = c.cellId
  val cells = UInt(c.cellWidth bits)
}

/** A good frame in the buffer, on its way to ArrivalDecision. */
case class Arrival(c: WeirConfig) extends Bundle {
  val meta = FrameMeta(c)
  val chain = Chain(c)
  /** where the tag of its flow is */
  val flow = c.jumbo generate UInt(c.flowIndexWidth bits)
  val transit = c.jumbo generate Transit(c)
  /** it was held for its spacing: what flow it is of cannot be told any more */
  val held = c.jumbo generate Bool()
}

/** An arrival's part in a jumbo frame whose packets stay together: first comes all that is before them, then the packets. */
case class Transit(c: WeirConfig) extends Bundle {
  /** it stands for the jumbo frame: `meta` is that of the whole, its length that of the packets' own frames */
  val header = Bool()
  /** a packet of the jumbo frame before it */
  val member = Bool()
  /** of the jumbo frame: packets, cells, bytes before the packets */
  val packets = UInt(c.memberWidth bits)
  val cells = UInt(c.groupCellWidth bits)
  val bytes = c.length
}

object Transit {
  /** of a packet that is in no jumbo frame in transit */
  def alone(c: WeirConfig, length: UInt, chain: Chain): Transit = {
    val transit = Transit(c)
    transit.header := False
    transit.member := False
    transit.packets := 1
    transit.cells := chain.cells.resized
    transit.bytes := length
    transit
  }
}

/** What is known of a jumbo frame in transit as a whole when its end has come. */
case class Whole(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** of its packets' own frames */
  val length = c.length
  val packets = UInt(c.memberWidth bits)
  val cells = UInt(c.groupCellWidth bits)
  val ecn = UInt(2 bits)
}

/** What is known of a queued packet. Kept in the descriptor table from its admission to its departure. */
case class Descriptor(c: WeirConfig) extends Bundle {
  val chain = Chain(c)
  val length = c.length
  /** codepoint on arrival */
  val ecn = UInt(2 bits)
  /** to a protected group address */
  val exempt = Bool()
  /** CE is to be written at the egress */
  val mark = Bool()
  /** 0 none, 1 IPv4, 2 IPv6 */
  val ipVersion = UInt(2 bits)
  /** VLAN tags before the IP header */
  val ipOffset = UInt(2 bits)
  /** time of the request that admitted it */
  val stampNs = c.time
  /** number of the arrival in the core */
  val sequence = UInt(32 bits)
  /** no packet, but all that is before those of a jumbo frame in transit; a packet of one */
  val header, member = c.jumbo generate Bool()

  /** it counts as a packet */
  def counts: Bool = if (header == null) True else !header
  /** it is in a jumbo frame in transit */
  def inTransit: Bool = if (member == null) False else member
}
