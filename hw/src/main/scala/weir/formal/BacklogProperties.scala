package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Backlog, BacklogChange}
import weir.common.PerQueue

/** A queue's fill is what entered a cycle ago less what was refunded or left two cycles ago, in bytes, packets and cells, and in frames,
  * of which a packet that joined a group is none; `emptied`
  * tells of every departure and refund that left its queue with no packet, also of two at once, and of nothing else; the shared cells are the sum of
  * what queues hold beyond their reserves; peaks are reached and never exceeded.
  *
  * The environment is a buffer: queues never hold less than nothing, each packet has a cell and at most 64 bytes a
  * cell, all queues together have the buffer's cells. Enter, refund and leave come at any time, all at once.
  *
  * @param leak None, or `once`: a refund and a departure in one cycle count as one packet; or `silent`: a queue that a
  *             refund leaves empty is not told of
  */
class BacklogProperties(c: WeirConfig, leak: Option[String]) extends Properties {
  val dut: Backlog = leak match {
    case Some("once") => new Backlog(c) {
      when(queues(0).refunded && queues(0).leaving) {
        queues(0).packetsHeld.less := io.refund.count.resized
      }
    }
    case Some("silent") => new Backlog(c) {
      when(goes)(queues(0).left := queues(0).leaving)
    }
    case _ => new Backlog(c)
  }
  val enter, refund, leave = any(Flow(BacklogChange(c)))
  // what enters or joins comes to the block a cycle later
  private val enters = enter.m2sPipe
  dut.io.enter << enters
  dut.io.enters := PerQueue.select(c.queues, enters.valid, enters.queue)
  dut.io.refund << refund
  dut.io.refunds := PerQueue.select(c.queues, refund.valid, refund.queue)
  dut.io.leave << leave
  dut.io.leaves := PerQueue.select(c.queues, leave.valid, leave.queue)
  val reserve = any(Vec(UInt(15 bits), c.queues))
  dut.io.reserve := reserve
  dut.io.snapshot := any(Bool())
  val joined = any(Flow(c.queueId))
  val leaveFirst = any(Bool())
  dut.io.joined << joined.m2sPipe
  dut.io.leaveFirst := leaveFirst

  private def width = 24
  private def signed(value: UInt): SInt = value.resize(width).asSInt
  private def only(flow: Flow[BacklogChange], q: Int, value: BacklogChange => UInt): SInt =
    (flow.valid && flow.queue === q) ? signed(value(flow.payload)) | S(0, width bits)

  /** What a queue holds, this cycle's changes not included. */
  val held = for (q <- 0 until c.queues) yield new Area {
    class Sum(value: BacklogChange => UInt, frames: Boolean = false) extends Area {
      val sum = Reg(SInt(width bits)) init 0
      private val gone = if (frames) (joined.valid && joined.payload === q).asUInt.resize(width).asSInt +
        ((leaveFirst ? only(leave, q, value) | S(0, width bits))) else only(leave, q, value)
      val given = only(refund, q, value) + gone
      val next = sum + only(enter, q, value) - given
      sum := next
      // gone is what was there before
      assume(given <= sum)
      /** as `fill` has it */
      val shown = RegNext(sum) init 0
    }
    val bytes = new Sum(_.length)
    val packets = new Sum(_.packets)
    val cells = new Sum(_.cells)
    val frames = new Sum(_ => U(1, 1 bits), frames = true)
    assume(frames.next <= packets.next)
    assume(packets.next <= cells.next && bytes.next <= (cells.next |<< 6))
    val leaves = leave.valid && leave.queue === q
    val refused = refund.valid && refund.queue === q
    val emptied = RegNext((RegNext(leaves || refused) init False) && packets.sum === 0) init False
    // the same of every state: nothing that the solver starts an induction from is impossible
    when(running) {
      assert(bytes.sum >= 0 && packets.sum >= 0 && frames.sum >= 0 && frames.sum <= packets.sum && packets.sum <= cells.sum && bytes.sum <= (cells.sum |<< 6))
    }
  }
  private val changes = dut.changes.pull()
  private val changed = dut.changed.pull()
  private val framesChange = dut.framesChange.pull()
  private val all = held.map(_.cells.next).reduce(_ + _)
  assume(all < c.cells)
  assume(!enter.valid || enter.cells =/= 0)

  /** Cells beyond the reserves, as `sharedUsed` has them. */
  val beyond = for ((queue, q) <- held.zipWithIndex) yield {
    val over = queue.cells.shown - signed(reserve(q))
    RegNext((over > 0) ? over | S(0, width bits)) init 0
  }
  val shared = RegNext(beyond.reduce(_ + _)) init 0
  val packets = RegNext(held.map(_.packets.shown).reduce(_ + _)) init 0

  when(running) {
    assert(held.map(_.cells.sum).reduce(_ + _) < c.cells)
    for ((queue, q) <- held.zipWithIndex) {
      val fill = dut.io.fill(q)
      assert(signed(fill.bytes) === queue.bytes.shown)
      assert(signed(fill.packets) === queue.packets.shown && signed(fill.frames) === queue.frames.shown)
      assert(signed(fill.cells) === queue.cells.shown)
      assert(dut.io.emptied(q) === queue.emptied && dut.io.empty(q) === (fill.packets === 0))
      // what is under way
      val sums = Seq(queue.bytes, queue.packets, queue.cells)
      val counted = Seq(dut.queues(q).bytesHeld, dut.queues(q).packetsHeld, dut.queues(q).cellsHeld)
      for ((sum, held) <- sums zip counted) {
        when(changes)(assert(signed(held.after.pull()) === sum.sum)) otherwise {
          assert(sum.sum === sum.shown && held.less.pull() === 0)
        }
      }
      val change = dut.queues(q).groups.changeLess.pull().resize(width) + 1
      when(framesChange) {
        assert(change - signed(dut.queues(q).groups.joined.pull().asUInt) === queue.frames.sum - queue.frames.shown)
      } otherwise (assert(queue.frames.sum === queue.frames.shown))
      when(!changes)(assert(change === 0))
      when(!changed)(assert(dut.io.peakPackets(q) >= fill.packets && dut.io.peakBytes(q) >= fill.bytes))
      // peaks
      val peak = dut.io.peakPackets(q)
      val peakBytes = dut.io.peakBytes(q)
      when(settled)(assert(peak >= before(fill.packets) && peakBytes >= before(fill.bytes)))
      when(settled && !before(dut.io.snapshot)) {
        assert(peak === before(peak) || peak === before(fill.packets))
        assert(peakBytes === before(peakBytes) || peakBytes === before(fill.bytes))
        assert(peak >= before(peak) && peakBytes >= before(peakBytes))
      }
    }
    assert(signed(dut.io.sharedUsed) === shared)
    for ((queue, value) <- dut.queues zip beyond) assert(signed(queue.excess.pull()) === value)
    assert(signed(dut.io.held) === packets)
    when(!changed)(assert(signed(dut.io.held) === held.map(_.packets.shown).reduce(_ + _)))

    cover(enter.valid && refund.valid && leave.valid && enter.queue === refund.queue && enter.queue === leave.queue)
    cover(dut.io.emptied(c.queues - 1))
    cover(dut.io.emptied(0) && dut.io.emptied(1))
    cover(held(0).refused && !held(0).leaves && held(0).packets.sum === 1 && !(enter.valid && enter.queue === 0))
    cover(held(0).leaves && enter.valid && enter.queue === 0 && held(0).packets.sum === 1)
    cover(held.map(_.cells.sum).reduce(_ + _) === c.cells - 1)
    cover(dut.io.sharedUsed === 3 && dut.io.fill(0).cells === 5)
  }
}
