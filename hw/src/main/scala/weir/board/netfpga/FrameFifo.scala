package weir.board.netfpga
import spinal.core._
import spinal.lib._

/** A beat in a [[FrameFifo]]. */
case class FrameFifoWord() extends Bundle {
  val data = Bits(NetFpga.dataWidth bits)
  val keep = Bits(NetFpga.keepWidth bits)
  val last = Bool()
}

/** Whole frames: nothing of a frame comes out before all of it is in, and a frame that does not fit, or that ends as bad, is
  * taken back as if it had not been. A beat in each cycle on both sides; it never makes the writer wait.
  *
  * The first beat of a frame comes out three cycles after its last one went in. After reset it is empty.
  *
  * @param words beats, a power of two; one frame of 9216 bytes has 288
  */
class FrameFifo(words: Int) extends Component {
  require(words >= 512 && (words & (words - 1)) == 0, s"FrameFifo.words=$words must be a power of two of 512 or more; try 1024")
  val io = new Bundle {
    val push = slave(Flow(FrameFifoWord()))
    /** with the last beat: take the frame back */
    val bad = in Bool ()
    val pop = master(Stream(FrameFifoWord()))
    /** a frame is in */
    val kept = out Bool ()
    /** a frame did not fit */
    val dropped = out Bool ()
  }
  private val width = log2Up(words)
  private val memory = Mem(FrameFifoWord(), words)

  val pointers = new Area {
    val write, committed, read = Reg(UInt(width + 1 bits)) init 0
    val full = write - read === words
  }
  val frame = new Area {
    /** a beat of the frame that comes in did not fit */
    val broken = RegInit(False)
    val fits = !pointers.full && !broken
    val ends = io.push.valid && io.push.last
    val keeps = ends && fits && !io.bad
  }
  memory.write(pointers.write.resize(width bits), io.push.payload, io.push.valid && frame.fits)
  when(io.push.valid) {
    frame.broken := !frame.fits && !io.push.last
    when(frame.fits)(pointers.write := pointers.write + 1)
  }
  when(frame.ends && !frame.keeps)(pointers.write := pointers.committed)
  when(frame.keeps)(pointers.committed := pointers.write + 1)
  io.kept := frame.keeps
  io.dropped := frame.ends && !frame.fits

  val fetch = new Area {
    val command = Stream(UInt(width bits))
    command.valid := pointers.read =/= pointers.committed
    command.payload := pointers.read.resize(width bits)
    when(command.fire)(pointers.read := pointers.read + 1)
  }
  io.pop << memory.streamReadSync(fetch.command)
}
