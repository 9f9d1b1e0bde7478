package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Sends frames one way or the other: jumbo frames to [[JumboSplitter]], the others out.
  *
  * A frame that passes waits until nothing is left of jumbo frames before it. A frame that may have an outer IPv4
  * header (form L3) waits for that, too, and for its first row: only then is it known that the header is inside the
  * frame. Latency: one cycle for the first word of a frame of several that passes, none for others; three for a jumbo
  * frame. Throughput: a word a cycle. Reset: waits for the first word of a frame.
  */
class JumboDemux(c: WeirConfig) extends Component {
  val io = new Bundle {
    val head, second = slave(Flow(UnpackFifoWord(c)))
    val pop = out Bool ()
    /** `head` is a word, or an end without one, of a frame that passes; and it is a word */
    val passes, gives = out Bool ()
    /** it has been taken */
    val passed = in Bool ()
    val feed = master(Stream(UnpackFifoWord(c)))
    /** the next token, and that it is to be taken here */
    val token = slave(Flow(LengthToken(c)))
    val turns = out Bool ()
    /** nearly no place is left for words that wait */
    val full = in Bool ()
    /** of the jumbo frames that left by `feed`, none is being split; and nothing of them is left to leave */
    val done, clear = in Bool ()
    /** nothing of a jumbo frame is left: only a frame that passes can have a word */
    val free = out Bool ()
    val busy = out Bool ()
  }
  noIoPrefix()
  private val head = io.head.payload

  /** The words that come now are of a jumbo frame. */
  val moving = RegInit(False)
  /** `done` and `clear`, and nothing is on the way there, as it was one cycle ago */
  val done, clear = RegInit(False)

  /** What the frame is that starts. */
  val start = new Area {
    /** the verdict was that it is no jumbo frame */
    val ordinary = RegInit(False)
    private val asks = io.head.valid && head.first && !moving && !ordinary
    /** a frame of one word, and of several whose second is here: a guess, or what it is in any case */
    private val alone = asks && head.hasEnd && head.forms(0)
    private val several = asks && !head.hasEnd && io.second.valid
    private val guess = !io.second.refused && JumboForm.isL3(io.second.forms)
    private val isOrdinary = io.token.kind === RowKind.ordinary
    private val decided = done && (io.token.valid ? !isOrdinary | io.full)
    val opens = alone || several && (guess ? decided | JumboForm.any(io.second.forms))
    io.turns := several && guess && done && io.token.valid && isOrdinary
    // it is of this head, which is a first word of several
    ordinary := (ordinary || io.turns) && !io.pop
    when(opens) { moving := True }
    /** the first word of several is no jumbo frame's, as the second shows; or as the verdict was */
    val shown = RegInit(False)
    private val plain = io.head.valid && head.first && !head.hasEnd && io.second.valid && !JumboForm.any(io.second.forms)
    shown := (plain || ordinary || io.turns) && !io.pop
  }

  val move = Stream(UnpackFifoWord(c))
  move.valid := moving && io.head.valid
  move.payload := head
  when(head.first) {
    move.forms := io.second.forms
    move.refused := io.second.refused
  }
  when(move.fire && head.hasEnd) { moving := False }
  private val held = move.s2mPipe()
  io.feed << held.m2sPipe()

  io.free := clear
  // nothing moves when `clear`: it was so one cycle ago, and no jumbo frame started then
  io.passes := clear && (start.shown || (io.head.valid && head.loose))
  io.gives := clear && (start.shown || (io.head.valid && head.gives))
  io.pop := io.passed || move.fire
  io.busy := moving || held.valid || io.feed.valid
  private val idle = io.done && !start.opens && !io.busy
  done := idle
  clear := idle && io.clear
}
