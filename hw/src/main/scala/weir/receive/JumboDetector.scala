package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Tells jumbo frames from others by their first two words.
  *
  * `push` has everything that has to wait, in the cycle in which it comes: all words but those that are only table; in transit all. A word
  * of the L3 form is a guess until [[JumboHeaderCheck]] has seen the whole IPv4 header. `piece` follows one cycle
  * later: the words of jumbo frames that are not refused, from the second on. Reset: no frame is open.
  */
class JumboDetector(c: WeirConfig) extends Component {
  val io = new Bundle {
    val word = slave(Flow(IngressWord(c)))
    val end = slave(Flow(IngressEnd(c)))
    val config = in(UnpackConfig(c))
    /** no room for another table */
    val refuse = in Bool ()
    /** the word of the open jumbo frame that comes now is all table */
    val table = in Bool ()
    val push = master(Flow(UnpackFifoWord(c)))
    val piece = master(Flow(JumboPiece(c)))
    /** `piece` comes, or the like of a frame that is no jumbo frame */
    val comes = out Bool ()
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
    private val one = first.header0.tag && !middle.tag
    private val both = first.header0.tag && middle.tag
    private val length = io.end.bytes(5 downto 0)
    private def l3(header: Header, at: Int) = header.v4 && bytes(at) === io.config.protocol && !io.end.valid
    private val l2s = Seq(
      !first.header0.tag && first.header0.l2,
      one && middle.l2 && (!io.end.valid || length >= 18),
      both && late.l2 && (!io.end.valid || length >= 22)
    )
    private val l3s =
      Seq(!first.header0.tag && l3(first.header0, 7), one && l3(middle, 11), both && l3(late, 15))
    private val looked = place.isSecond && io.config.split
    val forms = (l2s ++ l3s).map(_ && looked).asBits()
    val ihl = both ? late.ihl | (one ? middle.ihl | first.header0.ihl)
  }

  /** The frame of the second word that came last; what it is is put together one cycle after that. */
  val frame = new Area {
    val forms = RegNextWhen(second.forms, place.isSecond) init 0
    val refused = RegNextWhen(io.refuse, place.isSecond)
    val transit = RegNextWhen(io.config.transit, place.isSecond)
    val ihl = RegNextWhen(second.ihl, place.isSecond)
    val open = RegInit(False)
    when(place.isSecond) { open := True }
    when(io.end.valid) { open := False }
    val tracked = JumboForm.any(forms) && !refused
    /** in time for the third word */
    val follows = RegNext(tracked && open) init False
  }

  private val arrives = io.word.valid || io.end.valid
  io.push.valid := arrives && !(frame.follows && io.table && !frame.transit && io.word.valid && !io.word.first && !io.end.valid)
  io.push.data := io.word.data
  io.push.index := io.word.index
  io.push.hasWord := io.word.valid
  io.push.first := place.isFirst
  io.push.hasEnd := io.end.valid
  io.push.forms := second.forms
  when(first.isJumbo) { io.push.forms(0) := True }
  io.push.loose := !place.isFirst || (io.end.valid && !first.isJumbo)
  io.push.gives := io.word.valid && io.push.loose
  io.push.refused := io.refuse
  io.push.kind := io.end.kind
  io.push.bytes := io.end.bytes
  io.push.queue := io.end.meta.queue
  io.push.ecn := io.end.meta.ecn
  io.push.ipVersion := io.end.meta.ipVersion
  io.push.ipOffset := io.end.meta.ipOffset
  io.push.exempt := io.end.meta.exempt

  /** The second word decides, and one cycle later it is known what it decided. */
  val piece = new Area {
    private def kept[T <: Data](value: T, enable: Bool): T = RegNextWhen(value, enable)
    private val taken = arrives && (place.isSecond || (!place.isFirst && place.counter >= 2))
    val valid = RegNext(taken) init False
    io.piece.valid := valid && frame.tracked
    io.comes := valid
    io.piece.data := kept(io.word.data, taken)
    io.piece.number := kept(place.number, taken)
    io.piece.ends := kept(io.end.valid, taken)
    io.piece.bytes := kept(io.end.bytes.resize(c.lengthWidth), taken)
    io.piece.l3 := JumboForm.isL3(frame.forms)
    io.piece.tags := JumboForm.tags(frame.forms)
    io.piece.at := JumboForm.at(frame.forms)
    io.piece.ihl := frame.ihl
    io.piece.before := first.tail
    io.piece.transit := frame.transit
  }
}
