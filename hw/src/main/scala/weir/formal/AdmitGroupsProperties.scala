package weir.formal

import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.{Policy, WeirConfig}
import weir.aqm.{Admit, Cause, PerQueue, PolicyVerdict}
import weir.buffer.{Arrival, Fill}
import weir.csr.QueueConfig

/** Admit of a core with jumbo frames, with one class of latency or both: every arrival, header or packet of a jumbo frame in transit included, leads
  * to one outcome: a link with its own chain and a descriptor of its own, or its chain given back, and the descriptor if it had one.
  * What enters `q` is refunded when it is dropped, once for a whole jumbo frame. No two outcomes come together.
  *
  * The environment sends arrivals whenever `room` was high in the cycle before; a header is followed by its packets, to the same queue.
  * A descriptor is on offer while any is free. A queue's policy changes only on hold and settled. All else is free in every cycle.
  *
  * @param leak None, or `complete`: there always are descriptors for all of a jumbo frame
  */
class AdmitGroupsProperties(c: WeirConfig, leak: Option[String]) extends Properties {
  val dut: Admit = new Admit(c) {
    if (leak.contains("complete")) together.described.removeAssignments() := True
  }
  private val latencies = Seq(c.fastLatency, c.slowLatency)
  private val classes = Seq(false, true).take(latencies.distinct.size)

  val arrival = any(Flow(Arrival(c)))
  assume(!arrival.valid || before(dut.io.room))
  dut.io.arrival << arrival
  val config = any(Vec(QueueConfig(c), c.queues))
  val fill = any(Vec(Fill(c), c.queues))
  dut.io.config := config
  dut.io.fill := fill
  dut.io.sharedCells := any(UInt(15 bits))
  dut.io.sharedUsed := any(UInt(15 bits))
  dut.io.nowNs := any(c.time)
  val hold = any(Bits(c.queues bits))
  dut.io.hold := hold
  dut.io.stall := any(Bits(c.queues bits))
  dut.io.draw := any(UInt(c.drawWidth bits))
  dut.io.mred := any(Bits(c.queues bits))
  dut.io.able := any(Bits(c.queues bits))
  dut.io.partialRoom := any(Bool())
  for (port <- dut.io.verdicts) {
    val verdict = any(Flow(PolicyVerdict(c)))
    assume(verdict.cause <= Cause.forced)
    port << verdict
  }
  private def isSlow(q: Int): Bool =
    c.policies.toSeq.sortBy(_.id).filter(_.latency > Policy.fast).map(config(q).policy === _.id).orR
  for (q <- 0 until c.queues) {
    val calm = dut.io.settled(q) && hold(q)
    assume(!settled || config(q).policy === before(config(q).policy) || (calm && before(calm)))
  }
  val late = Vec(for (q <- 0 until c.queues) yield before(isSlow(q)))

  /** Free descriptors. */
  val descriptors = new Area {
    val count = Reg(UInt(c.descriptorWidth + 1 bits)) init c.descriptors
    val given = any(UInt(c.descriptorWidth + 1 bits))
    val go = Bool()
    val after = count - (go && count =/= 0).asUInt
    assume(given <= c.descriptors && given +^ after <= c.descriptors)
    count := after + given
    dut.io.descriptors := count
    dut.io.descriptor.valid := count =/= 0
    dut.io.descriptor.payload := any(c.descriptorId)
  }

  /** The jumbo frame in transit whose packets are going. */
  val head = dut.head.payload.pull()
  val headValid = dut.head.valid.pull()
  val go = dut.issue.go.pull()
  descriptors.go := go
  val transit = new Area {
    val left = dut.together.left.pull()
    val queue = dut.together.queue.pull()
    /** there were descriptors for all of it; its class */
    val complete, slow = Reg(Bool())
    when(headValid) {
      assume(head.transit.member === (left =/= 0))
      assume(!head.transit.member || head.meta.queue === queue)
      assume(!(head.transit.header && head.transit.member))
      assume(!head.transit.header || head.transit.packets =/= 0)
    }
    val whole = descriptors.count > head.transit.packets
    when(go && head.transit.header) {
      complete := whole
      slow := dut.issue.late.pull()
    }
  }
  import transit.left

  /** What was known at s0, at t0 and later: history(n) is at tn. */
  case class Decision() extends Bundle {
    val valid, slow, described, complete = Bool()
    val arrival = Arrival(c)
    val id = c.descriptorId
    def header: Bool = arrival.transit.header
    def member: Bool = arrival.transit.member
  }
  val decision = Decision()
  decision.valid := go
  decision.slow := dut.issue.late.pull()
  decision.described := dut.io.descriptor.valid
  decision.complete := head.transit.member ? transit.complete | (!head.transit.header || transit.whole)
  decision.arrival := head
  decision.id := dut.io.descriptor.payload
  val history = Seq.iterate(RegNext(decision), c.slowLatency + 2)(RegNext(_))
  for (h <- history) h.valid init False
  /** in flight, youngest first, until the commit */
  private def flight(slow: Boolean): Seq[(Decision, Bool)] =
    history.take(latencies(if (slow) 1 else 0) + 2).map(h => (h, h.valid && h.slow === Bool(slow)))
  val commits = classes.map(slow => flight(slow).last._2)
  val decided = if (classes.size == 1) history.last else commits.last ? history.last | history(c.fastLatency + 1)
  val valid = commits.orR
  val link = dut.io.link

  when(running) {
    when(dut.waiting.io.push.valid.pull())(assert(dut.waiting.io.push.ready.pull()))
    assert(dut.waiting.io.occupancy.pull() <= 32)
    inFlight()
    outcome()
  }

  /** What makes it inductive. */
  private def inFlight(): Unit = {
    when(go)(assert(headValid && !history.take(3).map(_.valid).orR))
    val pause = PriorityMux(history.take(3).map(_.valid) :+ True, Seq(3, 2, 1, 0).map(U(_, 2 bits)))
    assert(dut.issue.pause.pull() === pause)
    for (q <- 0 until c.queues) {
      val mine = classes.flatMap(flight(_)).map { case (h, in) => in && h.arrival.meta.queue === q }
      assert(dut.deciding(q).count.pull() === CountOne(mine))
      assert(dut.served(q).late.pull() === late(q))
    }
    for ((slow, f) <- classes zip Seq(dut.fast, dut.slowFlight)) {
      // written at t0, read with the verdict
      val inTable = CountOne(flight(slow).slice(1, latencies(if (slow) 1 else 0) + 1).map(_._2))
      val held = f.written.pull() - f.read.pull()
      assert(held === inTable.resize(widthOf(held)) && inTable < (1 << widthOf(held)))
      // packets of a jumbo frame share what was decided about it, and there are descriptors for all if it was not dropped
      val dropped = f.whole.dropped.pull()
      val going = flight(slow)
      val oldest = PriorityMux(going.reverse.map(_._2) :+ True,
        going.reverse.map { case (h, _) => !h.member || h.complete || dropped } :+ True)
      assert(oldest)
      when(left =/= 0 && transit.slow === Bool(slow)) {
        when(!going.map(_._2).orR)(assert(dropped || transit.complete))
        for (((h, in), n) <- going.zipWithIndex) {
          val youngest = !going.take(n).map { case (y, yes) => yes && y.header }.orR
          when(in && youngest)(assert(h.complete === transit.complete && (h.member || h.header)))
        }
      }
    }
    when(left =/= 0) {
      assert(!transit.complete || descriptors.count >= left)
      assert(PerQueue.bit(late.asBits, transit.queue) === transit.slow)
    }
    if (classes.size == 2) assert(!commits.andR)
  }

  private def outcome(): Unit = {
    assert(dut.io.enter.valid === (history.head.valid && !history.head.member))
    assert((link.valid ^ dut.io.free.valid) === valid && !(link.valid && dut.io.free.valid))
    assert(dut.io.refund.valid === (dut.io.free.valid && !decided.member))
    assert(dut.io.giveDescriptor.valid === (dut.io.free.valid && decided.described))
    when(link.valid) {
      assert(decided.described && link.id === decided.id && link.queue === decided.arrival.meta.queue)
      assert(link.descriptor.chain === decided.arrival.chain)
      assert(link.joins === decided.member && link.transit === (decided.member || decided.header))
    }
    when(dut.io.free.valid)(assert(dut.io.free.payload === decided.arrival.chain))
    when(dut.io.giveDescriptor.valid)(assert(dut.io.giveDescriptor.payload === decided.id))
    when(dut.io.refund.valid) {
      assert(dut.io.refund.queue === decided.arrival.meta.queue && dut.io.refund.length === decided.arrival.meta.length)
      assert(dut.io.refund.packets === decided.arrival.transit.packets)
      assert(dut.io.refund.cells === decided.arrival.transit.cells.resized)
    }
    cover(link.valid && decided.member && decided.slow === Bool(classes.last))
    cover(dut.io.free.valid && decided.header && decided.described)
    if (classes.size == 2) cover(valid && decided.slow && history(c.fastLatency - 1).valid && !history(c.fastLatency - 1).slow)
  }
}
