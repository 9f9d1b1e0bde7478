package weir.egress

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.aqm.Cause
import weir.buffer.{Departure, Grant}

/** Chooses the queue that sends next: strict queues first, the lowest number before others, then deficit weighted
  * round robin (DWRR; Shreedhar & Varghese 1995).
  *
  * A DWRR queue is served while its deficit is positive; a packet takes its length from it, also below zero. When the
  * deficit is used up the turn passes to the next waiting queue, which gets its quantum. A quantum is no less than
  * the longest frame, so a visit always sends, and the choice takes one cycle. A queue that has become empty starts
  * again from zero.
  *
  * Grants are given while the shaper allows it and the egress has room, at most one in four cycles. With the link
  * down they are given at once, and the packets are discarded. Packets of queues that are `over` their limits are
  * discarded too: as soon as what is granted keeps the line busy meanwhile, nothing can be sent, or 127 grants to send have
  * gone before. After a grant to send to a queue that `decides` at
  * departure no other is given before the decision.
  */
class Schedule(c: WeirConfig) extends Component {
  val interval = 4

  val io = new Bundle {
    val strict = in(Bits(c.queues bits))
    val quantum = in(Vec(UInt(20 bits), c.queues))
    val ready = in(Bits(c.queues bits))
    val empty = in(Bits(c.queues bits))
    val linkUp = in Bool ()
    /** no more grants */
    val hold = in Bool ()
    val allowed = in Bool ()
    val room = in Bool ()
    /** what is granted keeps the line busy while a group is discarded */
    val covered = in Bool ()
    val grant = master(Flow(Grant(c)))
    val departure = slave(Flow(Departure(c)))
    /** packets of a group are departing: no grants */
    val walking = in Bool ()
    /** a group was sent as one frame of so many bytes; while `walking`, or in the cycle after it */
    val sent = slave(Flow(c.length))
    /** queues that have to discard packets from their heads */
    val over = in(Bits(c.queues bits))
    /** queues that get no grant for now */
    val held = in(Bits(c.queues bits))
    /** queues whose policy decides at departure */
    val decides = in(Bits(c.queues bits))
    /** a packet of a group that waits is to be dropped: wants a slot, and gets it */
    val partial = in Bool ()
    val slot = out Bool ()
    /** a grant was given less than four cycles ago */
    val busy = out Bool ()
    /** a packet waits for the shaper alone */
    val throttled = out Bool ()
  }
  noIoPrefix()

  val pause = Reg(UInt(2 bits)) init 0
  val turn = Reg(UInt(c.queueWidth bits)) init 0
  /** bytes that a DWRR queue may still send, less one: its sign tells whether there are any */
  val deficit = Vec.fill(c.queues)(Reg(SInt(22 bits)) init -1)

  val ready = io.ready & ~io.held
  val strictReady = ready & io.strict
  val sharedReady = ready & ~io.strict

  val choice = new Area {
    val strictly = strictReady.orR
    val first = OHToUInt(OHMasking.first(strictReady))
    val stays = sharedReady(turn.resized) && !Vec(deficit.map(_.msb))(turn.resized)
    /** the waiting queue that comes next after the one whose turn it is */
    val later = sharedReady & B(for (q <- 0 until c.queues) yield turn < q)
    val next = OHToUInt(Mux(later.orR, OHMasking.first(later), OHMasking.first(sharedReady)))
    val queue = UInt(c.queueWidth bits)
    queue := next.resized
    when(stays)(queue := turn)
    when(strictly)(queue := first.resized)
    val visits = !strictly && !stays
  }

  val any = ready.orR
  val open = !io.linkUp || (io.allowed && io.room)
  /** a packet that was granted waits for its policy */
  val deciding = RegInit(False)
  val free = pause === 0 && !deciding && !io.walking
  val sends = any && open && !io.hold
  val trim = new Area {
    val wanted = io.over & ready
    val queue = OHToUInt(OHMasking.first(wanted)).resize(c.queueWidth)
    val last = RegInit(False)
    /** grants to send since the last one to discard */
    val streak = Reg(UInt(7 bits)) init 0
    private val sendable = any && io.allowed && !io.hold
    val now = wanted.orR && Mux(io.linkUp, !sendable || io.covered || streak.andR, !(last && sends))
    val granting = now && free
    when(io.grant.valid)(streak := (now || wanted === 0) ? U(0, 7 bits) | streak + 1)
    when(free && (sends || wanted.orR || io.partial))(last := now || io.slot)
  }
  /** in turn with grants to send, behind those to discard heads */
  val partial = new Area {
    val now = io.partial && !trim.now && !(trim.last && sends)
    io.slot := now && free
  }
  val granting = sends && free && !trim.now && !partial.now
  io.throttled := any && io.linkUp && !io.allowed
  io.grant.valid := granting || trim.granting
  io.grant.queue := Mux(trim.now, trim.queue, choice.queue)
  io.grant.discard := !io.linkUp || trim.now
  io.grant.cause := Mux(trim.now, U(Cause.front, 3 bits), Mux(io.linkUp, U(Cause.none, 3 bits), U(Cause.linkDown, 3 bits)))
  io.busy := pause =/= 0 || deciding || io.walking || trim.wanted.orR || io.partial

  when(pause =/= 0)(pause := pause - 1)
  when(io.grant.valid || io.slot)(pause := interval - 1)
  when(granting && !choice.strictly)(turn := choice.queue)
  when(io.departure.valid)(deciding := False)
  when(granting && io.linkUp && io.decides(choice.queue.resized))(deciding := True)

  /** The quantum is added in the cycle after the grant, the length taken at the departure. */
  val visit = new Area {
    val valid = RegNext(granting && choice.visits) init False
    val queue = RegNext(choice.queue)
    val quantum = io.quantum(queue.resized)
    when(valid) {
      deficit(queue.resized) := deficit(queue.resized) + quantum.resize(22 bits).asSInt
    }
  }
  val charge = new Area {
    val queue = io.departure.queue
    val strict = io.strict(queue.resized)
    val single = io.departure.first && io.departure.last
    when(io.departure.valid && !strict) {
      when(!io.departure.discard && single) {
        deficit(queue.resized) := deficit(queue.resized) - io.departure.descriptor.length.resize(22 bits).asSInt
      }
      when(io.empty(queue.resized) && io.departure.last)(deficit(queue.resized) := S(-1, 22 bits))
    }
    if (c.jumbo) {
      /** of the last departure */
      val group = RegNextWhen(queue, io.departure.valid)
      when(io.sent.valid && !io.strict(group.resized)) {
        deficit(group.resized) := deficit(group.resized) - io.sent.payload.resize(22 bits).asSInt
        when(io.empty(group.resized))(deficit(group.resized) := S(-1, 22 bits))
      }
    }
  }
}
