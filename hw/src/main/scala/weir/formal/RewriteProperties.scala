package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.receive.IpVersion
import weir.transmit.{Rewrite, RewriteBeat}

/** Rewrite keeps the rules of AXI4-Stream, opens no gap inside a frame, loses and doubles no beat, and leaves frames
  * that are not to be marked as they are.
  *
  * @param leak marks what is Not-ECT
  */
class RewriteProperties(c: WeirConfig, leak: Boolean) extends Properties(resets = true) {
  val dut: Rewrite = if (leak) new Rewrite(c) {
    when(io.input.fire && io.input.first)(find.change := io.input.info.mark)
  } else new Rewrite(c)
  val input = dut.io.input
  val sink = dut.io.m_axis
  input.valid := any(Bool())
  input.payload := any(RewriteBeat(c))
  sink.ready := any(Bool())

  // Egress: frames without gaps, their first beat marked as such.
  val offered = new AxisRules(input, settled)
  offered.assumed()
  val ongoing = new NoGap(input.valid, input.ready, input.last)
  assume(ongoing.kept)
  assume(!input.valid || input.first === !ongoing.inside)

  val rules = new AxisRules(sink, settled)
  rules.asserted()
  val sent = new NoGap(sink.valid, sink.ready, sink.tlast)

  val planned = dut.planned.pull()
  val marked = RegNextWhen(
    input.info.mark && input.info.ipVersion =/= IpVersion.none && (input.info.ecn === 1 || input.info.ecn === 2),
    input.fire && input.first)
  val changes = input.first ? False | marked
  val number = some(UInt(3 bits))
  val watched = new Watched(number, input.fire && running, input.data ## input.keep ## input.last ## changes, sink.fire && running)
  val seen = watched.seen.asBits

  when(running) {
    assert(sent.kept)
    // where the beats are: what makes the gap rule inductive
    when(planned.valid)(assert(ongoing.inside === !planned.last))
    when(sink.valid && !sink.tlast)(assert(planned.valid))
    when(sent.inside && !sink.valid)(assert(planned.valid))
    when(sink.valid)(assert(sink.tuser === 0))
    when(watched.leaves) {
      assert(watched.known && sink.tlast === seen(1) && sink.tkeep === seen(9 downto 2))
      when(!seen(0))(assert(sink.tdata === seen(73 downto 10)))
      cover(seen(0) && sink.tdata =/= seen(73 downto 10) && number === 3)
      cover(number === 4 && sink.tlast)
    }
    cover(sink.valid && !sink.ready && !input.ready && input.valid)
  }
}
