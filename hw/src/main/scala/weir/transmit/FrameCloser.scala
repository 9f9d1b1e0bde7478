package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.axis.{Axis, AxisBeat}

/** The last stage before the MAC: closes the frame that a reset tears off.
  *
  * Latency 1 cycle, one beat per cycle; `m_axis` and `s_axis_tready` come from registers.
  *
  * Reset withdraws `m_axis_tvalid`, accepted or not, as AXI4-Stream asks for; the beats inside are lost. If the
  * receiver has the first beat of a frame but not the last, the first beat after reset is tlast = 1, tuser = 1,
  * tkeep = 1, tdata = 0, so the receiver sees a bad frame. Only `receiving` survives reset for that. What comes after
  * must be a new frame.
  */
class FrameCloser(c: WeirConfig) extends Component {
  val io = new Bundle {
    val s_axis = slave(Stream(AxisBeat(c.dataWidth)))
    val m_axis = master(Stream(AxisBeat(c.dataWidth)))
    /** a beat is inside, or a frame has to be closed */
    val busy = out Bool()
  }
  noIoPrefix()
  Axis.name(io.s_axis, "s_axis")
  Axis.name(io.m_axis, "m_axis")

  /** the receiver is inside a frame: without reset */
  val receiving = ClockDomain.current.withBootReset()(RegInit(False))
  when(io.m_axis.fire) { receiving := !io.m_axis.tlast }

  /** the first cycle after reset */
  val fresh = RegInit(True)
  fresh := False

  private val closing = AxisBeat(c.dataWidth)
  closing.tdata := 0
  closing.tkeep := 1
  closing.tlast := True
  closing.tuser := 1

  private val source = io.s_axis.s2mPipe()
  private val chosen = Stream(AxisBeat(c.dataWidth))
  // After reset the output register is empty, so one cycle is enough to load the closing beat.
  chosen.valid := fresh ? receiving | source.valid
  chosen.payload := fresh ? closing | source.payload
  source.ready := chosen.ready && !fresh
  io.m_axis << chosen.m2sPipe()

  io.busy := io.m_axis.valid || source.valid || (fresh && receiving)
}
