package weir.board.netfpga
import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat

/** Frames of a core as a NetFPGA pipeline has them: 256 bits a beat, with the length of what leaves in `tuser`.
  *
  * The length is known at a frame's end only, so that a frame is collected before it leaves. Nothing is to wait outside the core's
  * queues, so the core may begin a frame only while at most one waits here: one is collected while one leaves, which is enough for the rate
  * of the slower side. A frame that ends as bad (a reset cut it off) does not leave. The source port of the pipeline does not
  * go through a core; it is 0.
  *
  * @param output number of this output, for the destination field
  */
class AxisUpsizer(output: Int) extends Component {
  private val lanes = NetFpga.dataWidth / 64
  val io = new Bundle {
    val narrow = slave(Stream(AxisBeat(64)))
    val wide = master(Stream(NetFpgaWord()))
  }
  private val fifo = new FrameFifo(1024)
  private val lengths = StreamFifo(UInt(16 bits), 4)

  val collect = new Area {
    val inside = RegInit(False)
    /** frames that are in the FIFO, the one that leaves among them */
    val waiting = Reg(UInt(2 bits)) init 0
    val beat = io.narrow.haltWhen(!inside && waiting > 1).toFlow
    val lane = Reg(UInt(log2Up(lanes) bits)) init 0
    val length = Reg(UInt(16 bits)) init 0
    val soFar = length + CountOne(beat.tkeep)
    val word = Reg(FrameFifoWord())
    /** the word with this beat; lanes behind it are of older ones and not kept */
    val next = FrameFifoWord()
    next.data := word.data
    next.keep := (lane === 0) ? B(0, NetFpga.keepWidth bits) | word.keep
    next.last := beat.tlast
    next.allowOverride()
    for (n <- 0 until lanes) when(lane === n) {
      next.data(64 * n, 64 bits) := beat.tdata
      next.keep(8 * n, 8 bits) := beat.tkeep
    }
    when(beat.valid) {
      inside := !beat.tlast
      word := next
      lane := beat.tlast ? U(0) | lane + 1
      length := beat.tlast ? U(0) | soFar
    }
    fifo.io.push.valid := beat.valid && (beat.tlast || lane === lanes - 1)
    fifo.io.push.payload := next
    fifo.io.bad := beat.tuser(0)
    lengths.io.push.valid := fifo.io.kept
    lengths.io.push.payload := soFar
  }
  val leave = new Area {
    val ends = io.wide.fire && io.wide.tlast
    io.wide.arbitrationFrom(fifo.io.pop.haltWhen(!lengths.io.pop.valid))
    io.wide.tdata := fifo.io.pop.data
    io.wide.tkeep := fifo.io.pop.keep
    io.wide.tlast := fifo.io.pop.last
    io.wide.tuser := (B(NetFpga.destination(output), 8 bits) ## B(0, 8 bits) ## lengths.io.pop.payload).resize(NetFpga.userWidth bits)
    lengths.io.pop.ready := ends
    when(fifo.io.kept =/= ends)(collect.waiting := fifo.io.kept ? (collect.waiting + 1) | (collect.waiting - 1))
  }
}
