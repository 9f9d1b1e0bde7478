package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Arrival
import weir.common.PerQueue
import weir.policy.{Cause, Policy}

/** ArrivalDecision of a core with jumbo frames: every arrival, header or packet of a jumbo frame in transit included,
  * leads
  * to one outcome: a link with its own chain and a descriptor of its own, or its chain given back, and the descriptor if it had one.
  * What enters `q` is refunded when it is dropped, once for a whole jumbo frame. What the limits refuse does not enter; its descriptor is left to
  * the next arrival, and packets of a refused jumbo frame take none.
  *
  * No policy decides afterwards. The environment is that of [[ArrivalDecisionInputs]]; a header is followed by its
  * packets, to the same queue, and a descriptor is on offer while any is free.
  *
  * @param leak None, or `complete`: there always are descriptors for all of a jumbo frame
  */
class ArrivalDecisionGroupsProperties(c: WeirConfig, leak: Option[String])
    extends ArrivalDecisionInputs(c, new LeakyArrivalDecision(c, leak)) {
  private val latency = c.fastLatency
  require(c.slowLatency == latency, "the proof is of one class of latency")
  dut.io.mred := any(Bits(c.queues bits))
  dut.io.able := any(Bits(c.queues bits))
  dut.io.partialRoom := any(Bool())

  /** Free descriptors. */
  val descriptors = new Area {
    val count = Reg(UInt(c.descriptorWidth + 1 bits)) init c.descriptors
    val given = any(UInt(c.descriptorWidth + 1 bits))
    val go = Bool()
    val after = count - dut.io.descriptor.fire.asUInt
    assume(given <= c.descriptors && given +^ after <= c.descriptors)
    count := after + given
    dut.io.descriptors := count
    dut.io.descriptor.valid := count =/= 0
  }

  /** The jumbo frame in transit whose packets are going. */
  val head = dut.head.payload.pull()
  val headValid = dut.head.valid.pull()
  val go = dut.issue.go.pull()
  descriptors.go := go
  val transit = new Area {
    val left = dut.together.left.pull()
    val queue = dut.together.queue.pull()
    /** there were descriptors for all of it */
    val complete = Reg(Bool())
    when(headValid) {
      assume(head.transit.member === (left =/= 0))
      assume(!head.transit.member || head.meta.queue === queue)
      assume(!(head.transit.header && head.transit.member))
      assume(!head.transit.header || head.transit.packets =/= 0)
    }
    val spare = dut.descriptor.spare.pull()
    val whole = descriptors.count +^ spare.asUInt > head.transit.packets
    /** the limits refused it */
    val refused = dut.descriptor.refused.pull()
    when(go && head.transit.header)(complete := whole)
  }
  import transit.left

  /** What was known at s0, at t0 and later: history(n) is at tn. */
  case class Decision() extends Bundle with InFlight {
    val valid, deferred, quick, described, complete, beyond = Bool()
    def queue: UInt = arrival.meta.queue
    /** of the shared cells, with the queue's reserve */
    val needed = UInt(17 bits)
    val arrival = Arrival(c)
    val id = c.descriptorId
    override def header: Bool = arrival.transit.header
    def member: Bool = arrival.transit.member
    override def asks: Bool = !member
  }
  val decision = Decision()
  decision.valid := go
  decision.described := transit.spare || dut.io.descriptor.valid
  decision.complete := head.transit.member ? transit.complete | (!head.transit.header || transit.whole)
  private val settings = PerQueue(config, head.meta.queue)
  private val filled = PerQueue(fill, head.meta.queue)
  private val defers = before(B(config.map(q => if (c.afterwards > 0) q.policy === Policy.Red.id else False)))
  decision.deferred := !head.transit.member && filled.packets === 0 && PerQueue.bit(defers, head.meta.queue)
  private val merges = before(B(config.map(q => q.merge.flow || q.merge.classes)))
  decision.quick := decision.deferred && !head.transit.header && !PerQueue.bit(merges, head.meta.queue) &&
    dut.commits.due.pull() === 0
  private val bytes = Mux(settings.dropFront, U(0, c.quantityWidth bits), filled.bytes)
  private val packets = Mux(settings.dropFront, U(0, c.countWidth bits), filled.packets)
  decision.beyond := bytes +^ head.meta.length > settings.limitBytes || packets +^ head.transit.packets > settings.limitPackets
  decision.needed := beyondReserve(filled.cells +^ head.transit.cells, settings.reserveCells) - beyondReserve(filled.cells, settings.reserveCells)
  decision.arrival := head
  decision.id := transit.spare ? dut.descriptor.left.pull() | dut.io.descriptor.payload
  /** in flight, youngest first, until the policy is told of the outcome; until the outcome */
  private val all = Seq.iterate(RegNext(decision), toldAt + 1)(RegNext(_))
  for (h <- all) h.valid init False
  val history = all.take(outcomeAt + 1)
  /** The limits' answer to what is at tn; packets share their header's, and have it before t2. */
  val refusals = Seq.fill(2)(transit.refused) ++
    Seq.iterate(Mux(history(2).member, transit.refused, !dut.io.enter.valid), toldAt - 1)(RegNext(_))
  val (decided, refused) = carriedOut(history, refusals)
  /** what is at t1 finds too few shared cells */
  val short = history(1).needed =/= 0 && history(1).needed +^ dut.io.sharedUsed > dut.io.sharedCells
  val link = dut.io.link

  when(running) {
    when(dut.waiting.io.push.valid.pull())(assert(dut.waiting.io.push.ready.pull()))
    assert(dut.waiting.io.occupancy.pull() <= 32)
    induction()
    outcome()
  }

  /** What makes it inductive. */
  private def induction(): Unit = {
    when(go)(assert(headValid && !history.take(3).map(_.valid).orR))
    val pause = PriorityMux(history.take(3).map(_.valid) :+ True, Seq(3, 2, 1, 0).map(U(_, 2 bits)))
    assert(dut.issue.pause.pull() === pause)
    for (q <- 0 until c.queues) assert(dut.deciding(q).count.pull() === deciding(all, q))
    for ((h, n) <- all.zipWithIndex.drop(3)) {
      when(h.valid && !h.member && !(h.described && h.complete && !h.beyond))(assert(refusals(n)))
    }
    for ((h, n) <- history.zipWithIndex) when(h.valid && h.member && h.complete && !refusals(n))(assert(h.described))
    inFlight(decision, filled.packets =/= 0 && !decision.member, all, refusals)((_, _) => ())
    // packets of a jumbo frame share what was decided about it, and there are descriptors for all if it was not dropped
    val dropped = dut.fast.whole.dropped.pull()
    val oldest = PriorityMux(history.reverse.map(_.valid) :+ True,
      history.reverse.map(h => !h.member || h.complete || dropped) :+ True)
    assert(oldest)
    // a packet follows its header or another packet of the same jumbo frame
    for ((h, n) <- history.zipWithIndex) when(h.valid && h.member) {
      val before = history.drop(n + 1)
      assert(PriorityMux(before.map(_.valid) :+ True,
        before.map(o => (o.header || o.member) && o.complete === h.complete) :+ True))
    }
    // and what the limits said
    val overflowed = dropped && dut.fast.whole.cause.pull() === Cause.overflow
    /** to the youngest that is at t(n) or later */
    def answer(n: Int): Bool = PriorityMux((n until history.size).map(m => history(m).valid -> refusals(m)) :+ (True -> overflowed))
    for ((h, n) <- history.zipWithIndex) when(h.valid && h.member)(assert(refusals(n) === answer(n + 1)))
    when(left =/= 0 && !history.take(3).map(_.valid).orR)(assert(transit.refused === answer(3)))
    when(left =/= 0) {
      assert(!transit.complete || descriptors.count >= left)
      when(!history.map(_.valid).orR)(assert(dropped || transit.complete))
      // what is behind the last header that went is of that jumbo frame
      for ((h, n) <- history.zipWithIndex) {
        val behind = !history.take(n).map(younger => younger.valid && younger.header).orR
        when(h.valid && behind)(assert(h.complete === transit.complete && (h.member || h.header)))
      }
    }
  }

  private def outcome(): Unit = {
    assert(dut.io.request.valid === (history.head.valid && !history.head.member))
    // what fits enters, and nothing else
    val fits = history(2).described && history(2).complete && !history(2).beyond && !before(short)
    assert(dut.io.enter.valid === (history(2).valid && !history(2).member && fits))
    // what is refused leaves its descriptor
    val leaves = history(3).valid && !history(3).member && history(3).described && refusals(3)
    when(leaves)(assert(transit.spare && dut.descriptor.left.pull() === history(3).id))
    when(dut.io.descriptor.fire)(assert(!transit.spare))
    cover(leaves && history(3).header && !history(3).complete)
    assert((link.valid ^ dut.io.free.valid) === decided.valid && !(link.valid && dut.io.free.valid))
    assert(dut.io.enters === PerQueue.select(c.queues, dut.io.enter.valid, dut.io.enter.queue))
    assert(dut.io.refunds === PerQueue.select(c.queues, dut.io.refund.valid, dut.io.refund.queue))
    // links are two cycles apart or more: Parking's `leaves` counts on it
    when(settled)(assert(!(link.valid && before(link.valid))))
    assert(dut.io.refund.valid === (dut.io.free.valid && !decided.member && !refused))
    assert(dut.io.giveDescriptor.valid === (dut.io.free.valid && !refused))
    when(link.valid)(assert(!refused))
    when(link.valid) {
      assert(decided.described && link.id === decided.id && link.queue === decided.arrival.meta.queue)
      assert(link.descriptor.chain === decided.arrival.chain)
      assert(link.joins === decided.member && link.transit === (decided.member || decided.header))
      assert(link.alone === decided.quick)
    }
    when(dut.io.free.valid)(assert(dut.io.free.payload === decided.arrival.chain))
    when(dut.io.giveDescriptor.valid)(assert(dut.io.giveDescriptor.payload === decided.id))
    when(dut.io.refund.valid) {
      assert(dut.io.refund.queue === decided.arrival.meta.queue && dut.io.refund.length === decided.arrival.meta.length)
      assert(dut.io.refund.packets === decided.arrival.transit.packets)
      assert(dut.io.refund.cells === decided.arrival.transit.cells.resized)
    }
    cover(link.valid && decided.member)
    cover(dut.io.free.valid && decided.header && decided.described)
  }
}
