package weir.jumbo

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.csr.FrameEnd
import weir.frame.{IngressEnd, IngressWord}

/** Tells jumbo frames from others by their first two words.
  *
  * `push` has everything that has to wait, in the cycle in which it comes: all words but those that are only table. A word
  * with `form` l3 is a guess until [[Contents]] has seen the whole IPv4 header. `piece` follows one cycle later: the words
  * of jumbo frames that are not refused, from the second on. Reset: no frame is open.
  */
class Recognise(c: WeirConfig) extends Component {
  val io = new Bundle {
    val word = slave(Flow(IngressWord(c)))
    val end = slave(Flow(IngressEnd(c)))
    val config = in(UnpackConfig(c))
    /** no room for another table */
    val refuse = in Bool ()
    /** the word of the open jumbo frame that comes now is all table */
    val table = in Bool ()
    val push = master(Flow(WaitingWord(c)))
    val piece = master(Flow(JumboPiece(c)))
  }
  noIoPrefix()

  private val bytes = io.word.data.subdivideIn(8 bits)
  private def two(at: Int): Bits = bytes(at) ## bytes(at + 1)
  private def isTag(etherType: Bits): Bool = etherType === 0x8100 || etherType === 0x88a8

  val place = new Area {
    val counter = Reg(UInt(3 bits)) init 0
    val isFirst = io.word.valid && io.word.first
    val number = isFirst ? U(0, 3 bits) | counter
    val isSecond = io.word.valid && number === 1
    when(io.word.valid) { counter := number + (number =/= 6).asUInt }
  }

  /** An EtherType at a byte of this word with what is behind it; the first byte of IP may be in the word. */
  case class Header() extends Bundle {
    val tag, l2, v4 = Bool()
    val ihl = UInt(4 bits)
  }
  private def header(at: Int): Header = {
    val found = Header()
    val first = bytes(at + 2)
    found.tag := isTag(two(at))
    found.l2 := two(at) === io.config.etherType
    found.ihl := first(3 downto 0).asUInt
    found.v4 := two(at) === 0x0800 && first(7 downto 4) === 4 && first(3 downto 0).asUInt >= 5
    found
  }

  /** What the first word has shown. */
  val first = new Area {
    val now = header(12)
    val header0 = RegNextWhen(now, place.isFirst)
    val tail = RegNextWhen(two(14), place.isFirst)
    // 14 bytes or more, in a frame of one word
    val whole = io.end.bytes(4) || io.end.bytes(3 downto 1) === 7
    val isJumbo = place.isFirst && io.end.valid && io.config.split && now.l2 && !now.tag && whole
  }

  val second = new Area {
    private val middle = header(0)
    private val late = header(4)
    val tags = first.header0.tag ? (middle.tag ? U(2, 2 bits) | U(1, 2 bits)) | U(0, 2 bits)
    private def pick[T <: Data](none: T, one: T, both: T): T = tags(1) ? both | (tags(0) ? one | none)
    private val length = io.end.bytes(5 downto 0)
    private val header1 = pick(first.header0, middle, late)
    private val inside = !io.end.valid || pick(True, length >= 18, length >= 22)
    private val protocol = pick(bytes(7), bytes(11), bytes(15)) === io.config.protocol
    val l2 = header1.l2 && inside
    val l3 = header1.v4 && protocol && !io.end.valid
    val ihl = header1.ihl
    val isJumbo = place.isSecond && io.config.split && (l2 || l3)
  }

  val active = RegInit(False)
  val opens = second.isJumbo && !io.refuse
  when(place.isSecond) { active := opens }
  when(io.end.valid) { active := False }

  private val arrives = io.word.valid || io.end.valid
  io.push.valid := arrives && !(active && io.word.valid && !io.end.valid && io.table)
  io.push.data := io.word.data
  io.push.index := io.word.index
  io.push.hasWord := io.word.valid
  io.push.first := place.isFirst
  io.push.hasEnd := io.end.valid
  io.push.form := JumboForm.none
  when(first.isJumbo) { io.push.form := JumboForm.l2 }
  when(second.isJumbo) {
    io.push.form := io.refuse ? U(JumboForm.refused, 2 bits) |
      (second.l2 ? U(JumboForm.l2, 2 bits) | U(JumboForm.l3, 2 bits))
  }
  io.push.tags := second.tags
  io.push.kind := io.end.kind
  io.push.bytes := io.end.bytes
  io.push.queue := io.end.meta.queue
  io.push.ecn := io.end.meta.ecn
  io.push.ipVersion := io.end.meta.ipVersion
  io.push.ipOffset := io.end.meta.ipOffset
  io.push.exempt := io.end.meta.exempt

  val piece = new Area {
    private val taken = arrives && (place.isSecond ? opens | active)
    private def kept[T <: Data](value: T, enable: Bool): T = RegNextWhen(value, enable)
    val valid = RegNext(taken) init False
    io.piece.valid := valid
    io.piece.data := kept(io.word.data, taken)
    io.piece.number := kept(place.number, taken)
    io.piece.ends := kept(io.end.valid, taken)
    io.piece.bytes := kept(io.end.bytes.resize(c.lengthWidth), taken)
    io.piece.l3 := kept(!second.l2, opens)
    io.piece.tags := kept(second.tags, opens)
    io.piece.ihl := kept(second.ihl, opens)
    io.piece.before := first.tail
  }
}
