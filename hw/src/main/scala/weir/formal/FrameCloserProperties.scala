package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.axis.AxisBeat
import weir.transmit.FrameCloser

/** The MAC sees AXI4-Stream, and after a reset at any time the frame that it has begun is ended by one bad beat; else
  * it gets the source's beats, in order, none lost, none doubled.
  *
  * @param leak forgets at a reset that a frame is open
  */
class FrameCloserProperties(c: WeirConfig, leak: Boolean) extends Properties(resets = true) {
  val dut: FrameCloser =
    if (leak) new FrameCloser(c) { when(ClockDomain.current.isResetActive)(receiving := False) } else new FrameCloser(c)
  val source = dut.io.s_axis
  val sink = dut.io.m_axis
  source.valid := any(Bool())
  source.payload := any(AxisBeat(c.dataWidth))
  sink.ready := any(Bool())
  // Rewrite never sends tuser: a beat that has it is a closing beat.
  assume(source.tuser === 0)

  val rules = new AxisRules(sink, settled)
  rules.asserted()

  /** the receiver is inside a frame; like the receiver, it knows of no reset */
  val open = ClockDomain.current.withBootReset()(RegInit(False))
  when(sink.fire)(open := !sink.tlast)
  /** a closing beat has to come before anything else */
  val owed = Reg(Bool())
  when(!running)(owed := open && !(sink.fire && sink.tlast) || sink.fire && !sink.tlast) elsewhen (sink.fire)(owed := False)

  val isClosing = sink.tlast && sink.tuser === 1 && sink.tkeep === 1 && sink.tdata === 0
  val number = some(UInt(2 bits))
  val watched = new Watched(number, source.fire && running, source.payload, sink.fire && !owed && running)
  val torn = RegInit(True) // the first cycle after reset
  torn := False

  when(running) {
    when(torn)(assert(!sink.valid))
    when(!torn && owed)(assert(sink.valid && isClosing))
    when(sink.valid && !owed)(assert(sink.tuser === 0))
    when(watched.leaves)(assert(watched.known && sink.payload === watched.seen))
    assert(watched.entered - watched.left <= 2 || watched.entered.msb || watched.left.msb)

    cover(sink.fire && owed)
    cover(!torn && owed && before(owed) && !sink.ready)
    cover(watched.leaves && number === 3)
    cover(sink.valid && !sink.ready && !source.ready)
  }
}
