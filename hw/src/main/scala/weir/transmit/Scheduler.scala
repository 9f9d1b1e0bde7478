package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Departure, Grant}
import weir.policy.Cause

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
class Scheduler(c: WeirConfig) extends Component {
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
    /** what is `ready` and not `held`, from registers; not right while `busy`, in the cycle after a grant or a slot */
    val candidates = in(Bits(c.queues bits))
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

  val ready = io.candidates
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
  /** low unless something may be granted: nothing follows the link while the clock stands still */
  private val upward = sends && io.linkUp
  val trim = new Area {
    val wanted = io.over & ready
    val queue = OHToUInt(OHMasking.first(wanted)).resize(c.queueWidth)
    val last = RegInit(False)
    /** grants to send since the last one to discard */
    val streak = Reg(UInt(7 bits)) init 0
    private val full = RegNext(streak.andR) init False
    /** if a queue is ready */
    private val sendable = io.allowed && !io.hold
    /** one that is wanted is ready */
    val now = wanted.orR && Mux(io.linkUp, !sendable || io.covered || full, !(last && !io.hold))
    val granting = now && free
    when(free && (sends || wanted.orR || io.partial))(last := False)
  }
  /** in turn with grants to send, behind those to discard heads */
  val partial = new Area {
    val now = io.partial && !trim.now && !(trim.last && sends)
    io.slot := now && free
  }
  /** if no head is discarded: `partial.now` is low then */
  private val sendsNow = sends && !(io.partial && !trim.last)
  val granting = sendsNow && !trim.now && free
  io.throttled := (io.ready & ~io.held).orR && io.linkUp && !io.allowed
  io.grant.valid := (sendsNow || trim.now) && free
  io.grant.queue := Mux(trim.now, trim.queue, choice.queue)
  io.grant.discard := !io.linkUp || trim.now
  io.grant.cause := Mux(trim.now, U(Cause.front, 3 bits), Mux(io.linkUp, U(Cause.none, 3 bits), U(Cause.linkDown, 3 bits)))
  io.busy := pause =/= 0 || deciding || io.walking || trim.wanted.orR || io.partial

  /** What was granted in the cycle before: the choice is known late, and what follows of it matters three cycles later. */
  val given = new Area {
    val valid = RegNext(io.grant.valid) init False
    val queue = RegNext(io.grant.queue)
    /** it is sent, or would be if the link were up */
    val sends = RegNext(granting) init False
    val linkUp = RegNext(upward) init False
    val strictly = RegNext(choice.strictly)
    val visits = RegNext(choice.visits)
    val others = RegNext(trim.granting || io.slot) init False
    private val counts = RegNext(!trim.now && trim.wanted.orR)
    when(valid)(trim.streak := counts ? (trim.streak + 1) | U(0, 7 bits))
    when(others)(trim.last := True)
  }

  when(pause =/= 0)(pause := pause - 1)
  when(free && (sends || trim.now || io.partial))(pause := interval - 1)
  when(given.sends && !given.strictly)(turn := given.queue)
  when(io.departure.valid)(deciding := False)
  when(given.sends && given.linkUp && io.decides(given.queue.resized))(deciding := True)

  /** The quantum is added two cycles after the grant, the length taken at the departure, which is that of the last grant: there is no other before it.
    * Departures that no grant has asked for take nothing.
    */
  val account = new Area {
    /** the queue of the last grant, one bit each */
    val last = Reg(Bits(c.queues bits)) init 0
    when(given.valid)(last := B(for (q <- 0 until c.queues) yield given.queue === q))
    val visits = RegNext(given.sends && given.visits) init False
    val quantum = RegNextWhen(io.quantum(given.queue.resized), given.sends && given.visits)
    private val sent = io.sent.valid
    private val length = sent ? io.sent.payload | io.departure.descriptor.length
    /** what is added, less one if it is taken */
    private val change = visits ? quantum.resize(22 bits) | ~length.resize(22 bits)
    private val single = io.departure.first && io.departure.last
    private val takes = io.departure.valid && !io.departure.discard && single || sent
    private val ends = io.departure.valid && io.departure.last || sent
    val queues = for (q <- 0 until c.queues) yield new Area {
      val shares = last(q) && !io.strict(q)
      val sum = ((deficit(q) ## True).asUInt + (change ## !visits).asUInt)(22 downto 1).asSInt
      val changes = (last(q) && visits) || (shares && takes)
      val empties = shares && (ends && io.empty(q))
      when(changes)(deficit(q) := sum)
      when(empties)(deficit(q) := S(-1, 22 bits))
    }
  }
}
