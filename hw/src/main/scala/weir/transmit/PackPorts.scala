package weir.transmit
import spinal.core._
import weir.WeirConfig

/** A frame that is to be sent. Of one that is not a group only `grouped` counts. */
case class PackGroup(c: WeirConfig) extends Bundle {
  /** a jumbo frame is built; else the frame is sent as it is */
  val grouped = Bool()
  /** it is sent behind what goes before its packets, table included, which comes as the first packet's words; of `count`,
    * `averageLength`, `ecn` and `tick` nothing counts, and it has no entries
    */
  val transit = Bool()
  /** packets at its front that were dropped while it waited, and their bytes */
  val gone = UInt(9 bits)
  val removed = c.length
  /** entries of the table, dropped packets included: 1 to 448 */
  val count = UInt(9 bits)
  /** entries with a length, 1 to 448 */
  val packets = UInt(9 bits)
  /** bytes of the jumbo frame */
  val outerBytes = c.length
  /** as the table was filled, with what was dropped later */
  val averageLength = c.length
  /** of the outer IPv4 header */
  val ecn = UInt(2 bits)
  /** VLAN tags, 0 to 2 */
  val tags = UInt(2 bits)
  /** L3 form */
  val l3 = Bool()
  /** log2 of the spacing's unit in ns */
  val tick = UInt(5 bits)

  /** The outer header has an odd number of quads (4 bytes): 5 and the tags, 10 and the tags in the L3 form. */
  def odd: Bool = l3 === tags(0)
}

/** A packet's place in the table. */
case class PackEntry(c: WeirConfig) extends Bundle {
  /** bytes of the IP packet, 0 if it was dropped */
  val length = c.length
  /** ticks since the packet before it arrived */
  val spacing = UInt(16 bits)
}

/** A word of a packet's frame, its first byte in bits 7:0. */
case class PackWord(c: WeirConfig) extends Bundle {
  val data = Bits(c.wordWidth bits)
  val first, last = Bool()
  /** bytes of the last word, 0 = 16 */
  val lastBytes = UInt(4 bits)
  /** it is the last, and of no more than 8 bytes: told with it, for what follows from it is long */
  val half = Bool()
}

/** Numbers of the wire format; taken when a group is. */
case class PackConfig() extends Bundle {
  val etherType = Bits(16 bits)
  val protocol = Bits(8 bits)
}

/** A word of what is sent: of a frame as it is, or of a jumbo frame's packets without their Ethernet headers. */
case class PackedWord(c: WeirConfig) extends Bundle {
  val data = Bits(c.wordWidth bits)
  /** first of a jumbo frame: its header and table go before it */
  val jumbo = Bool()
  /** first of a jumbo frame in transit: it waits until enough words are there */
  val transit = Bool()
  val last = Bool()
  /** bytes of the last word, 0 = 16 */
  val lastBytes = UInt(4 bits)
  /** it is one beat: the last, of no more than 8 bytes */
  val half = Bool()
}

/** A last word's bytes, 0 = 16, are no more than 8. */
object Half {
  def apply(lastBytes: UInt): Bool = lastBytes =/= 0 && lastBytes <= 8
}

/** A beat of a jumbo frame's header and table. */
case class PackPrefix(c: WeirConfig) extends Bundle {
  val data = Bits(c.dataWidth bits)
  /** its upper half is the packets' */
  val joint = Bool()
  val last = Bool()
}

/** A field of `bytes` bytes as it is on the wire: the most significant byte first, which is in bits 7:0. */
object BigEndian {
  def apply(field: Data, bytes: Int): Bits =
    Cat(field.asBits.resize(8 * bytes).subdivideIn(8 bits).reverse)
}
