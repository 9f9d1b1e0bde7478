package weir.admission
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Arrival
import weir.common.PerQueue
import weir.policy.{Action, Cause, PolicyRequest}

/** Decides about arrivals one at a time, beside an engine that takes one request at a time ([[ArrivalDecision]] has a
  * request every four cycles).
  *
  * The oldest arrival stands at the head of the FIFO until it has been carried out. s0: it goes; t0 `request`, t2 the
  * limits' answer, with which it enters `q` or does not; some time later the verdict, one cycle later the commit, with
  * the link or the refund. Two cycles after that `q` shows all of it, and the next one may go, once the engine is
  * `ready` and no apply waits. An apply begins between two decisions, of whatever queue. The FIFO holds 32 arrivals;
  * `room` falls three before that.
  */
class SerialDecision(c: WeirConfig) extends ArrivalDecisionPorts(c) {
  require(!c.jumbo, s"WeirConfig.jumbo of ${c.name}: SerialDecision has no jumbo frames")

  val waiting = new StreamFifo(Arrival(c), depth = 32, withAsyncRead = true, withBypass = true)
  waiting.io.push.valid := io.arrival.valid
  waiting.io.push.payload := io.arrival.payload
  io.roomNext := waiting.io.availability > 3
  io.room := RegNext(io.roomNext) init True

  /** stands until the cycle after the commit */
  val head = waiting.io.pop.halfPipe()
  private val meta = head.meta
  private val queue = meta.queue
  private val config = io.config(queue.resized)
  private def ofQueue(condition: Bool): Bits = PerQueue.select(c.queues, condition, queue)

  val idle = RegInit(True)
  /** s0 */
  val go = head.valid && idle && io.ready && !io.hold.orR
  io.settled.setAllTo(idle && io.ready)
  val sequence = Reg(UInt(32 bits)) init 0

  /** t0: what stands from here to the next one */
  val request = new Area {
    private val fill = io.fill(queue.resized)
    private val next = PolicyRequest(c)
    next.queue := queue
    next.policy := config.policy
    next.nowNs := io.nowNs
    next.length := meta.length
    next.bytes := fill.bytes
    next.packets := fill.packets
    next.frames := fill.frames
    next.empty := PerQueue.bit(io.empty, queue)
    next.ecn := meta.ecn
    next.draw := io.draw
    val asked = RegNextWhen(next, go)
    val cells = RegNextWhen(fill.cells, go)
    val valid = RegNext(go) init False
    io.request.valid := valid
    io.request.payload := asked
    io.requestEngine := valid.asBits
    io.nextDraw := valid
  }
  import request.asked

  private val terms = LimitTerms(c)
  terms.limitBytes := config.limitBytes
  terms.limitPackets := config.limitPackets
  terms.reserve := config.reserveCells
  terms.front := config.dropFront
  terms.bytes := asked.bytes
  terms.packets := asked.packets
  terms.cells := request.cells
  terms.length := meta.length
  terms.count := 1
  terms.needed := head.chain.cells
  terms.described := io.descriptor.valid

  val limits = new HardLimits(c, terms, request.valid, io.sharedCells, io.sharedUsed) {
    val exceeded = RegNextWhen(!passes, judges)
    /** it takes a descriptor with their leave */
    io.descriptor.ready := passes
    val descriptor = RegNextWhen(io.descriptor.payload, passes)

    io.enter.valid := RegNext(passes) init False
    io.enters := ofQueue(io.enter.valid)
    io.enter.queue := queue
    io.enter.length := meta.length
    io.enter.cells := head.chain.cells
  }
  import limits.{descriptor, exceeded}

  /** The verdict becomes an outcome: the cycle after it. The evidence stands until the next request. */
  val commit = new Area {
    private val verdict = io.verdicts.head
    val valid = RegNext(verdict.valid) init False
    private def outcome(limit: UInt, exempt: UInt, decided: UInt): UInt =
      RegNextWhen(Mux(exceeded, limit, Mux(meta.exempt, exempt, decided)), verdict.valid)
    val action = outcome(U(Action.drop, 2 bits), U(Action.accept, 2 bits), verdict.action)
    val cause = outcome(U(Cause.overflow, 3 bits), U(Cause.none, 3 bits), verdict.cause)
    private val dropped = action === Action.drop
    /** a limit refused it: it is not in `q`, and took no descriptor */
    private val refunded = valid && dropped && !exceeded

    io.commit.valid := valid
    io.commit.queue := queue
    io.commit.length := meta.length
    io.commit.acts := valid && (dropped || cause =/= Cause.none)
    io.commitEngine := valid.asBits
    io.commitActs := io.commit.acts.asBits

    io.link.valid := valid && !dropped
    io.link.queue := queue
    io.link.id := descriptor
    io.link.descriptor.chain := head.chain
    io.link.descriptor.length := meta.length
    io.link.descriptor.ecn := meta.ecn
    io.link.descriptor.exempt := meta.exempt
    io.link.descriptor.mark := action === Action.mark
    io.link.descriptor.ipVersion := meta.ipVersion
    io.link.descriptor.ipOffset := meta.ipOffset
    io.link.descriptor.stampNs := asked.nowNs
    io.link.descriptor.sequence := sequence

    io.refund.valid := refunded
    io.refunds := ofQueue(refunded)
    io.refund.queue := queue
    io.refund.length := meta.length
    io.refund.cells := head.chain.cells
    io.free.valid := valid && dropped
    io.free.payload := head.chain
    io.giveDescriptor.valid := refunded
    io.giveDescriptor.payload := descriptor

    io.event.valid := valid
    io.event.queue := queue
    io.event.length := meta.length
    io.event.ecn := meta.ecn
    io.event.action := action
    io.event.cause := cause
    io.trace.valid := valid
    io.traced := valid && PerQueue.bit(io.traces, queue)
    io.trace.payload := ArrivalRecord(asked, action, cause, verdict.evidence, meta.exempt, config.unit, sequence)
  }

  head.ready := commit.valid
  private val told = RegNext(commit.valid) init False
  when(go)(idle := False)
  when(told) {
    idle := True
    sequence := sequence + 1
  }
  io.busy := io.arrival.valid || waiting.io.occupancy =/= 0 || head.valid || !idle
}
