package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat

/** Takes frames to a MAC's clock so that the MAC never waits inside a frame.
  *
  * A frame starts when `startWords` of its words, or all of them, are in the FIFO. That is enough for a source that brings
  * words at the line's rate, less 200 parts in a million and a few words of jitter, or faster: two clocks 200 ppm apart
  * part by 1.9 bytes in a frame of 9216. A source that stops inside a long frame still makes an underrun, which the MAC
  * reports. Latency about 6 cycles of the slower clock and `startWords`. Both clocks' resets have to be given together.
  */
class TransmitCrossing(core: ClockDomain, line: ClockDomain, depth: Int = 32, startWords: Int = 8) extends Component {
  require(startWords >= 2 && startWords <= depth / 2,
    s"TransmitCrossing.startWords=$startWords must be 2 to ${depth / 2}; try 8")
  val io = new Bundle {
    val s_axis = slave(Stream(AxisBeat(64)))
    val m_axis = master(Stream(AxisBeat(64)))
  }
  val fifo = new StreamFifoCC(FrameWord(), depth, core, line, withPopBufferedReset = false)
  // a block RAM's output comes 5.8 ns after the clock
  fifo.ram.addAttribute("ram_style", "distributed")
  private val countWidth = log2Up(depth) + 1

  /** Frames that may start, as a Gray code; a cycle late, so that their words are seen first. */
  val push = new ClockingArea(core) {
    fifo.io.push << io.s_axis.translateWith(FrameWord.of(io.s_axis.payload))
    private val fires = fifo.io.push.fire
    private val last = fifo.io.push.last
    /** words of the frame that are in, up to `startWords` */
    val words = Reg(UInt(log2Up(startWords + 1) bits)) init 0
    private val enough = words === startWords - 1
    when(fires)(words := last ? U(0) | words + (words =/= startWords).asUInt)
    val frames = Reg(UInt(countWidth bits)) init 0
    when(fires && (enough || (last && words < startWords)))(frames := frames + 1)
    val gray = RegNext(toGray(frames)) init 0
  }
  val pop = new ClockingArea(line) {
    private val startable = BufferCC(push.gray, init = B(0, countWidth bits))
    val started = Reg(UInt(countWidth bits)) init 0
    val sending = RegInit(False)
    private val word = fifo.io.pop.m2sPipe()
    private val gated = word.continueWhen(sending)
    when(gated.fire && gated.last)(sending := False)
    when(!sending && startable =/= toGray(started)) {
      sending := True
      started := started + 1
    }
    private val piped = gated.m2sPipe()
    io.m_axis << piped.translateWith(piped.payload.beat)
  }
}
