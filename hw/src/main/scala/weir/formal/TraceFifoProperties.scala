package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.control.trace.{TraceFifo, TraceRecord}

/** The trace FIFO never holds more than its depth, never counts below zero, never writes where an unread record
  * stands, and gives what it took, in order; a record that it does not take is reported as lost.
  *
  * @param leak takes a record when it is full
  */
class TraceFifoProperties(c: WeirConfig, leak: Boolean) extends Properties {
  val dut: TraceFifo = if (leak) new TraceFifo(c) { write.full.removeAssignments() := False } else new TraceFifo(c)
  val push = any(Bool())
  dut.io.push.valid := push
  dut.io.push.payload := any(Bits(TraceRecord.width bits))
  dut.io.pop := any(Bool())
  dut.io.odd := any(Bool())
  dut.io.clear := any(Bool())

  val used = dut.used.pull()
  val waiting = dut.waiting.pull()
  val second = dut.write.second.pull()
  val holds = dut.read.holds.pull()
  val done = dut.read.done.pull()
  val start = dut.write.start.pull()
  val from = dut.read.slot.pull()
  val to = dut.write.slot.pull()
  val offered = RegNext(push && !start && !dut.io.clear) init False

  when(running) {
    assert(used <= c.traceDepth)
    assert(used === waiting +^ second.asUInt + holds.asUInt)
    assert(to - from === (waiting + holds.asUInt).resize(to.getWidth))
    // a record is written to a slot that is not in use
    when(start)(assert(used < c.traceDepth))
    when(settled)(assert(dut.io.lost === offered))
    cover(used === c.traceDepth && dut.io.lost)
    cover(done && start)
  }
}
