package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat

/** Takes frames from a MAC's clock to another one. The source cannot wait.
  *
  * Latency about 6 cycles of the slower clock; a word per cycle of it. A frame that comes while the FIFO is half full is
  * left out as a whole and reported; one that finds it full on the way is closed with `tuser`. Neither happens to a sink
  * that takes words at least as fast as the line brings them. Both clocks' resets have to be given together.
  */
class ReceiveCrossing(line: ClockDomain, core: ClockDomain, depth: Int = 32) extends Component {
  val io = new Bundle {
    val beat = slave(Flow(AxisBeat(64)))
    /** line clock: a frame was lost or cut */
    val lost = out Bool ()
    val m_axis = master(Stream(AxisBeat(64)))
  }
  val fifo = new StreamFifoCC(FrameWord(), depth, line, core, withPopBufferedReset = false)
  // a block RAM's output comes 5.8 ns after the clock
  fifo.ram.addAttribute("ram_style", "distributed")

  val push = new ClockingArea(line) {
    /** the FIFO holds a frame without its end; its end could not be stored; the rest of a frame is left out */
    val open, closing, skipping = RegInit(False)
    private val word = FrameWord.of(io.beat.payload)
    /** of two cycles ago: the other clock's Gray code makes a long sum */
    private val crowded = RegNext(RegNext(fifo.io.pushOccupancy) >= depth / 2) init False
    private val refused = io.beat.valid && !skipping && !open && (crowded || closing)
    private val offered = io.beat.valid && !skipping && !refused
    private val cut = offered && !fifo.io.push.ready
    fifo.io.push.valid := offered || closing
    fifo.io.push.payload := word
    when(closing) {
      fifo.io.push.last := True
      fifo.io.push.bad := True
      fifo.io.push.count := 0
    }
    when(io.beat.valid) {
      when(refused || cut)(skipping := True)
      when(offered)(open := !io.beat.tlast && !cut)
      when(io.beat.tlast)(skipping := False)
    }
    when(closing && fifo.io.push.ready)(closing := False)
    when(cut)(closing := open)
    io.lost := RegNext(refused || cut) init False
  }
  val pop = new ClockingArea(core) {
    private val word = fifo.io.pop.m2sPipe()
    io.m_axis << word.translateWith(word.payload.beat)
  }
}
