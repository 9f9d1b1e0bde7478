package weir.mac
import spinal.core._
import spinal.lib._

/** 64 bits of XGMII (IEEE 802.3 clause 46): eight lanes, the first byte in bits 7:0. */
case class XgmiiWord() extends Bundle {
  val data = Bits(64 bits)
  /** the lane holds a control character */
  val control = Bits(8 bits)
}

object Xgmii {
  val idle = 0x07
  val start = 0xFB
  val terminate = 0xFD
  val error = 0xFE
  val preamble = 0x55
  val sfd = 0xD5

  val idleData = BigInt("07" * 8, 16)

  /** Eight idle characters. */
  def idles: XgmiiWord = {
    val word = XgmiiWord()
    word.data := B(idleData, 64 bits)
    word.control.setAll()
    word
  }

  /** A register that holds idles at reset. */
  def register(next: XgmiiWord): XgmiiWord = {
    val word = Reg(XgmiiWord())
    word.data init idleData
    word.control init 0xFF
    word := next
    word
  }
}

/** A byte of GMII (IEEE 802.3 clause 35) with its enable and error signals. */
case class GmiiByte() extends Bundle {
  val data = Bits(8 bits)
  val valid = Bool()
  val error = Bool()
}

/** The end of a frame that was received. */
case class ReceiveEnd() extends Bundle {
  /** with FCS, saturated */
  val bytes = UInt(MacLimits.lengthWidth bits)
  val badFcs = Bool()
  /** an error character, or the end came without the character for it */
  val error = Bool()
  val runt = Bool()
  val oversize = Bool()
  def bad: Bool = badFcs || error || runt || oversize
}

/** The end of a frame that was sent. */
case class TransmitEnd() extends Bundle {
  /** with FCS and padding, saturated */
  val bytes = UInt(MacLimits.lengthWidth bits)
  /** marked as bad on purpose: `tuser` on the last beat, or an underrun */
  val aborted = Bool()
  /** the source had no beat when one was needed */
  val underrun = Bool()
}

object MacLimits {
  val lengthWidth = 15
  /** the shortest frame, with FCS */
  val minBytes = 64
  /** the longest frame, with FCS: 9216 and 4 */
  val maxBytes = 9220
  val gapBytes = 12
}
