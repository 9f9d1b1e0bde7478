package weir.board.netfpga
import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat

/** Beats of 256 bits as beats of 64, one a cycle, without any of their own for lanes that a last beat does not have. No latency. */
class AxisDownsizer extends Component {
  private val lanes = NetFpga.dataWidth / 64
  val io = new Bundle {
    val wide = slave(Stream(FrameFifoWord()))
    val narrow = master(Stream(AxisBeat(64)))
  }
  val lane = Reg(UInt(log2Up(lanes) bits)) init 0
  /** the lane after this one holds something */
  val more = Vec(Seq.tabulate(lanes)(n => if (n == lanes - 1) False else io.wide.keep(8 * (n + 1))))(lane)
  io.narrow.valid := io.wide.valid
  io.narrow.tdata := io.wide.data.subdivideIn(64 bits)(lane)
  io.narrow.tkeep := io.wide.keep.subdivideIn(8 bits)(lane)
  io.narrow.tlast := io.wide.last && !more
  io.narrow.tuser := 0
  io.wide.ready := io.narrow.ready && !more
  when(io.narrow.fire)(lane := more ? (lane + 1) | U(0))
}
