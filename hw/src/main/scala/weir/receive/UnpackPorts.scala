package weir.receive
import spinal.core._
import weir.WeirConfig
import weir.admission.Spacing

/** What [[JumboUnpack]] needs of the core's configuration; it may change at any time and counts for frames whose
  * second word is yet to come.
  */
case class UnpackConfig(c: WeirConfig) extends Bundle {
  /** jumbo frames are split; else they pass as any frame does */
  val split = Bool()
  /** those that are split stay together: what is before their packets comes first, as a packet of its own */
  val transit = Bool()
  /** of the L2 form */
  val etherType = Bits(16 bits)
  /** IPv4 protocol of the L3 form */
  val protocol = Bits(8 bits)
  /** of packets that are not IP after all */
  val defaultQueue = c.queueId
  val dscpQueue = Vec(c.queueId, 64)
}

/** How a frame ended. */
case class UnpackEnd(c: WeirConfig) extends Bundle {
  /** [[weir.control.counters.FrameEnd]] */
  val kind = UInt(3 bits)
  val meta = FrameMeta(c)
  /** all bytes that arrived, saturating */
  val bytes = UInt(24 bits)
  /** a packet of a jumbo frame: it counts only when a good [[JumboEnd]] follows */
  val inner = Bool()
  /** no packet, but all that is before a jumbo frame's packets, which stay together (transit); `inner`, too */
  val header = Bool()
  /** of an inner packet: sum of the spacings up to its own, ns */
  val waitNs = c.jumbo generate UInt(Spacing.waitWidth bits)
}

/** The fate of a jumbo frame, and with it of all inner packets since the one before. */
case class JumboEnd(c: WeirConfig) extends Bundle {
  /** [[weir.control.counters.FrameEnd]]: good, bad, oversize, overflow or malformed */
  val kind = UInt(3 bits)
  /** of the outer frame, as they arrived, saturating */
  val bytes = UInt(24 bits)
  /** packets that were given */
  val count = UInt(9 bits)
  /** packets that were not: Not-ECT in a frame with CE (RFC 6040) */
  val discarded = UInt(9 bits)
  /** of the frames that they would have become */
  val discardedBytes = UInt(16 bits)
}

/** What a frame looks like after its second word, one bit each: bit t is the L2 form with t tags, bit 3 + t the L3 form,
  * if the outer IPv4 header turns out to be inside the frame. No bit: no jumbo frame.
  */
object JumboForm {
  val width = 6
  def any(forms: Bits): Bool = forms.orR
  def isL3(forms: Bits): Bool = forms(5 downto 3).orR
  def tags(forms: Bits): UInt = ((forms(2) || forms(5)) ## (forms(1) || forms(4))).asUInt

  /** Tags and one for L3, as four bits of which one is set; L3 if a frame could be both. */
  def at(forms: Bits): Bits =
    forms(5) ## (forms(4) || (forms(2) && !forms(5))) ## (forms(3) || (forms(1) && !forms(4))) ## (forms(0) && !forms(3))
}

/** A word on its way through [[UnpackFifo]], or an end without a word. */
case class UnpackFifoWord(c: WeirConfig) extends Bundle {
  val data = Bits(c.wordWidth bits)
  val index = UInt(log2Up(c.wordsPerCell) bits)
  val hasWord, first, hasEnd = Bool()
  /** [[JumboForm]] of the frame, in its second word; in the first if that is the last */
  val forms = Bits(JumboForm.width bits)
  /** it passes whatever is behind it: it is no first word, or the only one and not of a jumbo frame; and it is a word, not an end alone */
  val loose, gives = Bool()
  /** there is no room for its table */
  val refused = Bool()
  /** of [[weir.receive.IngressEnd]]; `meta.length` is in `bytes` */
  val kind = UInt(3 bits)
  val bytes = UInt(24 bits)
  val queue = c.queueId
  val ecn, ipVersion, ipOffset = UInt(2 bits)
  val exempt = Bool()
}

/** A word of a jumbo frame on its way to [[JumboHeaderCheck]], from the second on. */
case class JumboPiece(c: WeirConfig) extends Bundle {
  val data = Bits(c.wordWidth bits)
  /** of the word in its frame, 6 and more as 6 */
  val number = UInt(3 bits)
  /** the frame ends with it; `data` means nothing if it ends without a word */
  val ends = Bool()
  /** of the whole frame */
  val bytes = c.length
  /** the frame has an outer IPv4 header of `ihl` words */
  val l3 = Bool()
  val tags = UInt(2 bits)
  /** bit n: the jumbo header's second part is n 32-bit words into its word */
  val at = Bits(4 bits)
  val ihl = UInt(4 bits)
  /** bytes 14 and 15 of the frame */
  val before = Bits(16 bits)
  /** its packets stay together */
  val transit = Bool()
}

/** What a row of lengths, or a token, says. */
object RowKind {
  val lengths = 0
  /** the frame is over, nothing is wrong with header, table and sums */
  val good = 1
  val malformed = 2
  /** the IPv4 header is not inside the frame: no jumbo frame */
  val ordinary = 3
}

/** The entries of a word of the table, or what was found. */
case class LengthRow(c: WeirConfig) extends Bundle {
  /** [[RowKind]] */
  val kind = UInt(2 bits)
  /** where the first packet starts, in units of 4 bytes behind the start of the word with the jumbo header */
  val start = UInt(3 bits)
  val tags = UInt(2 bits)
  /** all that is before the packets, in units of 4 bytes */
  val quads = UInt(9 bits)
  /** the packets stay together */
  val transit = Bool()
  /** entries that have a length */
  val present = Bits(4 bits)
  val lengths = Vec(c.length, 4)
  /** sums of the spacings from the frame's first entry to each, in units of 2^`tick` ns */
  val spacings = Vec(UInt(LengthRow.spacingWidth bits), 4)
  val tick = UInt(5 bits)
}

object LengthRow {
  /** 448 spacings of 16 bits */
  val spacingWidth = 25
}

/** A packet of a jumbo frame, or what was found. */
case class LengthToken(c: WeirConfig) extends Bundle {
  val kind = UInt(2 bits)
  val start = UInt(3 bits)
  /** of the IP packet */
  val length = c.length
  /** number of the last byte of its frame */
  val lastByte = c.length
  /** sum of the spacings up to its own, ns; all ones: as much or more */
  val waitNs = UInt(Spacing.waitWidth bits)
  /** as [[LengthRow]] */
  val quads = UInt(9 bits)
  val transit = Bool()
}
