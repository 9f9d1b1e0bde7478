package weir.receive
import spinal.core._
import weir.WeirConfig
import weir.admission.Spacing

/** How a jumbo frame ended, as far as [[JumboSplitter]] knows. It goes in the place of `waitNs`. */
case class JumboFate(c: WeirConfig) extends Bundle {
  /** [[weir.control.counters.FrameEnd]] */
  val kind = UInt(3 bits)
  val bytes = UInt(24 bits)
}

/** What is the same for all words of a packet, and where a word stands in it. */
case class SplitPlace(c: WeirConfig) extends Bundle {
  /** the end of a jumbo frame instead of a word; its [[JumboFate]] is in `waitNs` */
  val isEnd = Bool()
  /** what is before the packets of a jumbo frame in transit, as a packet */
  val header = Bool()
  /** number of the word in its packet's frame, 3 and more as 3 */
  val number = UInt(2 bits)
  /** place of the word in its cell */
  val index = UInt(log2Up(c.wordsPerCell) bits)
  val last = Bool()
  /** the jumbo frame's first packet */
  val opens = Bool()
  val tags = UInt(2 bits)
  /** the outer header has an ECN field, which is `outerEcn` and concerns the packet */
  val l3 = Bool()
  val outerEcn = UInt(2 bits)
  /** of the IP packet */
  val length = c.length
  /** number of the last byte of the packet's frame */
  val lastByte = c.length
  /** as [[LengthToken]] */
  val waitNs = UInt(Spacing.waitWidth bits)
}

/** A word to be cut out of two. */
case class SplitItem(c: WeirConfig) extends Bundle {
  val place = SplitPlace(c)
  /** two words of the jumbo frame */
  val window = Bits(2 * c.wordWidth bits)
  /** the byte of `window` that comes first, −14 to 15. Of the first word, bytes 14 and 15 are the packet's first two,
    * also if they belong to the second
    */
  val at = SInt(5 bits)
}

/** A word of a packet's frame, or an end. */
case class SplitWord(c: WeirConfig) extends Bundle {
  val isEnd = Bool()
  /** as [[SplitPlace]] */
  val header = Bool()
  val data = Bits(c.wordWidth bits)
  val first, last = Bool()
  val index = UInt(log2Up(c.wordsPerCell) bits)
  /** what makes the jumbo frame malformed shows in this word */
  val wrong = Bool()
  /** RFC 6040 drops this packet */
  val discard = Bool()
  /** a word, and neither: it is passed on */
  val gives = Bool()
  /** as [[LengthToken]] */
  val waitNs = UInt(Spacing.waitWidth bits)
  /** of the packet's [[weir.receive.FrameMeta]] */
  val length = c.length
  val ecn, ipVersion, ipOffset = UInt(2 bits)
  val queue = c.queueId
  val exempt = Bool()
}
