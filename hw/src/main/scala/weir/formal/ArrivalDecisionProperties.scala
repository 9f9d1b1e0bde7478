package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Arrival
import weir.common.PerQueue
import weir.policy.{Cause, Policy}

/** Every arrival leads to one outcome, in order: a link, or its chain given back and its change of `q` refunded; with
  * its own chain, length and queue; what the limits refuse neither enters `q` nor is refunded. A descriptor that was taken is linked, given back or, by
  * what the limits refuse, left to the next arrival, and nothing is linked without one. The queue of arrivals never overflows. Decisions are four cycles apart or more. No policy but
  * the queue's own drops or marks, and none what is exempt; what is beyond a limit in bytes or packets is dropped.
  * What finds its queue empty is linked or refused without asking; its policy is told later, in the order of the
  * queue's arrivals, four cycles away from every other.
  *
  * The environment is that of [[ArrivalDecisionInputs]]: all but the arrivals is free in every cycle, also whether
  * there is a descriptor. What the policy says has a cause of its own, as proved for Red.
  *
  * @param leak None, or `room`, high with two free places (only the overflow is looked for); or `descriptor`, one that
  *             was taken for an arrival that its policy drops is never given back; or `spare`, one that a limit's refusal leaves is lost; or `exempt`, which is treated as others
  */
class ArrivalDecisionProperties(c: WeirConfig, leak: Option[String])
    extends ArrivalDecisionInputs(c, new LeakyArrivalDecision(c, leak)) {
  private val latency = c.fastLatency
  // the way to a full queue, 33 cycles deep, is shown to the solver
  if (leak.contains("room")) assume(hold.andR && (arrival.valid || !before(dut.io.room)))
  dut.io.descriptor.valid := any(Bool())

  /** The arrivals before s0. */
  val fifo = new Area {
    val io = dut.waiting.io
    val occupancy = io.occupancy.pull()
    val comes = io.push.valid.pull()
    val fits = io.push.ready.pull()
    val first = dut.waiting.logic.ptr.pop.pull()
    val stored = dut.waiting.rework {
      Vec((0 until dut.waiting.depth).map(i => CombInit(dut.waiting.logic.ram.readAsync(U(i, 5 bits))))).setName("stored")
    }
    val cells = Vec(stored.map(_.pull()))
    val head = dut.head.payload.pull()
    val headValid = dut.head.valid.pull()
    val go = dut.issue.go.pull()
  }
  import fifo.{go, head, headValid, occupancy}

  /** One arrival, which the solver chooses, until its s0. */
  val watched = new Area {
    val start = any(Bool()) && arrival.valid
    val waiting, done = RegInit(False)
    val seen = Reg(Arrival(c))
    /** arrivals before it */
    val ahead = Reg(UInt(6 bits))
    val place = ahead - headValid.asUInt
    when(start && !waiting && !done) {
      waiting := True
      seen := arrival.payload
      ahead := occupancy + headValid.asUInt - go.asUInt
    }
    when(waiting && go) {
      ahead := ahead - 1
      when(ahead === 0) {
        waiting := False
        done := True
      }
    }
  }

  /** What was known at s0, at t0 and later: history(n) is at tn. */
  case class Decision() extends Bundle with InFlight {
    val valid, deferred, quick, described, red, beyond, spare = Bool()
    def queue: UInt = arrival.meta.queue
    /** of the shared cells, with the queue's reserve */
    val needed = UInt(17 bits)
    val arrival = Arrival(c)
    val id = c.descriptorId
  }
  val decision = Decision()
  private val settings = PerQueue(config, head.meta.queue)
  private val filled = PerQueue(fill, head.meta.queue)
  decision.valid := go
  decision.spare := dut.descriptor.spare.pull()
  decision.described := decision.spare || dut.io.descriptor.valid
  decision.red := PerQueue.bit(before(B(config.map(_.policy === Policy.Red.id))), head.meta.queue)
  decision.deferred := decision.red && filled.packets === 0
  decision.quick := decision.deferred && dut.commits.due.pull() === 0
  private val bytes = Mux(settings.dropFront, U(0, c.quantityWidth bits), filled.bytes)
  private val packets = Mux(settings.dropFront, U(0, c.countWidth bits), filled.packets)
  decision.beyond := bytes +^ head.meta.length > settings.limitBytes || packets >= settings.limitPackets
  decision.needed := beyondReserve(filled.cells +^ head.chain.cells, settings.reserveCells) - beyondReserve(filled.cells, settings.reserveCells)
  decision.arrival := head
  decision.id := decision.spare ? dut.descriptor.left.pull() | dut.io.descriptor.payload
  val history = Seq.iterate(RegNext(decision), toldAt + 1)(RegNext(_))
  for (h <- history) h.valid init False
  /** the limits' answer to what is at t3, and later */
  val refusals = Seq.iterate(RegNext(!dut.io.enter.valid), toldAt - 2)(RegNext(_))
  val (decided, refused) = carriedOut(history, n => refusals(n - 3))
  /** what is at t1 finds too few shared cells */
  val short = history(1).needed =/= 0 && history(1).needed +^ dut.io.sharedUsed > dut.io.sharedCells
  val link = dut.io.link
  val meta = link.descriptor

  when(running) {
    when(fifo.comes)(assert(fifo.fits))
    assert(occupancy <= 32)
    if (leak.isEmpty) order()
    if (!leak.contains("room")) outcome()
  }

  private def order(): Unit = {
    // the watched one is where it should be, and comes to s0 as it was
    when(watched.waiting) {
      assert(watched.ahead < occupancy +^ headValid.asUInt)
      when(watched.ahead === 0 && headValid)(assert(head === watched.seen)) otherwise {
        assert(fifo.cells((fifo.first + watched.place).resize(5)) === watched.seen)
      }
    }
    // one decision every four cycles
    when(go)(assert(headValid && !history.take(3).map(_.valid).orR))
    val pause = PriorityMux(history.take(3).map(_.valid) :+ True, Seq(3, 2, 1, 0).map(U(_, 2 bits)))
    assert(dut.issue.pause.pull() === pause)
    for (q <- 0 until c.queues) {
      val count = deciding(history, q)
      assert(dut.deciding(q).count.pull() === count)
      assert(dut.io.settled(q) === (count === 0))
    }
    for ((h, n) <- history.zipWithIndex.drop(3)) when(h.valid && (h.beyond || !h.described))(assert(refusals(n - 3)))
    inFlight(decision, filled.packets =/= 0, history, n => refusals(n - 3))((context, decision) =>
      assert(context.engine.orR === decision.red))

    assert(dut.io.request.valid === history.head.valid)
    when(dut.io.request.valid)(assert(dut.io.request.queue === history.head.arrival.meta.queue))
    when(dut.io.enter.valid) {
      val entered = history(2).arrival
      assert(history(2).valid)
      assert(dut.io.enter.queue === entered.meta.queue)
      assert(dut.io.enter.length === entered.meta.length && dut.io.enter.cells === entered.chain.cells)
    }

    cover(occupancy > 28)
    cover(watched.done && go && occupancy === 2)
    cover(decided.valid && CountOne(history.slice(1, outcomeAt).map(_.valid)) === 2)
  }

  private def outcome(): Unit = {
    // what fits enters, and nothing else
    when(history(2).valid)(assert(dut.io.enter.valid === (history(2).described && !history(2).beyond && !before(short))))
    // what is refused leaves its descriptor
    when(history(3).valid && history(3).described && refusals.head)(assert(dut.descriptor.spare.pull() && dut.descriptor.left.pull() === history(3).id))
    when(dut.io.descriptor.fire)(assert(!decision.spare))
    // one outcome
    assert(dut.io.event.valid === decided.valid)
    /** the policy is told of one that was deferred, or of another */
    val (late, soon) = (history.last.valid && history.last.deferred, decided.valid && !decided.deferred)
    assert(dut.io.commit.valid === (late || soon) && !(late && soon))
    when(late)(assert(dut.io.commit.queue === history.last.queue))
    when(decided.valid && decided.deferred)(assert(link.valid === !refused && !meta.mark))
    assert((link.valid ^ dut.io.free.valid) === decided.valid && !(link.valid && dut.io.free.valid))
    assert(dut.io.enters === PerQueue.select(c.queues, dut.io.enter.valid, dut.io.enter.queue))
    assert(dut.io.refunds === PerQueue.select(c.queues, dut.io.refund.valid, dut.io.refund.queue))
    // links are two cycles apart or more: Parking's `leaves` counts on it
    when(settled)(assert(!(link.valid && before(link.valid))))
    // what entered is linked or refunded
    assert(dut.io.refund.valid === (dut.io.free.valid && !refused))
    when(link.valid)(assert(!refused))
    assert(dut.io.giveDescriptor.valid === dut.io.refund.valid)
    when(link.valid) {
      assert(decided.described && link.id === decided.id && link.queue === decided.arrival.meta.queue)
      assert(meta.chain === decided.arrival.chain && meta.length === decided.arrival.meta.length)
      assert(meta.ecn === decided.arrival.meta.ecn && meta.exempt === decided.arrival.meta.exempt)
    }
    when(dut.io.free.valid) {
      assert(dut.io.free.payload === decided.arrival.chain)
    }
    when(dut.io.refund.valid) {
      assert(dut.io.refund.queue === decided.arrival.meta.queue)
      assert(dut.io.refund.length === decided.arrival.meta.length)
      assert(dut.io.refund.cells === decided.arrival.chain.cells)
    }
    when(dut.io.giveDescriptor.valid)(assert(dut.io.giveDescriptor.payload === decided.id))
    // by whom
    when(decided.valid) {
      val policy = dut.io.event.cause =/= Cause.none && dut.io.event.cause =/= Cause.overflow
      when(policy || (link.valid && meta.mark))(assert(decided.red && !decided.arrival.meta.exempt))
      assert((dut.io.event.cause === Cause.overflow) === refused)
      when(decided.beyond || !decided.described)(assert(refused))
      when(refused)(assert(dut.io.free.valid))
      when(soon)(assert(dut.io.commit.acts === (decided.red && (dut.io.free.valid ||
        dut.io.event.cause =/= Cause.none))))
    }
    cover(late && dut.io.commit.acts)
    when(!dut.io.commit.valid)(assert(!dut.io.commit.acts && dut.io.commitActs === 0))

    cover(link.valid && meta.mark && decided.arrival.meta.queue === 1)
    cover(dut.io.giveDescriptor.valid)
    cover(link.valid && decided.spare)
    cover(dut.io.free.valid && refused && decided.described)
  }
}
