package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Departure, Descriptor, Fill, Grant, Leaving, Reading}
import weir.policy.{Action, Cause, DepartureVerdict, Ecn, PolicyDeparture}

/** Puts departures before the policies that want to know of them, and waits for those that decide.
  *
  * A departure of a queue whose policy does not decide passes at once. Another is held until its engine's verdict,
  * which may mark or discard it; the scheduler gives no grant meanwhile. Packets that are discarded already
  * are not asked about. Engines see a departure one cycle after it came. They are asked about a group once, at its first
  * packet, with the bytes and packets of all: a mark marks those that are ECT and discards those that are Not-ECT, but for a jumbo
  * frame in transit, which is asked about with the ECN of its header and loses no packet when that is marked. The other
  * packets wait for the answer (`holding`).
  *
  * `settled` is what an apply waits for: nothing of that queue is between its grant and its release. The scheduler holds
  * the queue meanwhile, so that this comes, and lasts until the configuration is whole.
  */
class DepartureDecision(c: WeirConfig) extends Component {
  val io = new Bundle {
    val grant = slave(Flow(Grant(c)))
    /** one cycle before each departure */
    val leaving = slave(Flow(Leaving(c)))
    val reading = in(Reading(c))
    /** packets of a group depart */
    val walking = in Bool ()
    val departure = slave(Flow(Departure(c)))
    /** the other packets of the group have to wait */
    val holding = out Bool ()
    /** q, which the departure is still part of */
    val fill = in(Vec(Fill(c), c.queues))
    /** the engine that serves each queue, one bit each */
    val engine = in(Vec(Bits(c.engines.size bits), c.queues))
    val decides = in(Bits(c.queues bits))
    val asked = out(Vec(master(Flow(PolicyDeparture(c))), c.engines.size))
    val verdicts = in(Vec(slave(Flow(DepartureVerdict(c))), c.engines.size))
    val released = master(Flow(Departure(c)))
    /** one that is not discarded is released: known earlier than that */
    val kept = out Bool ()
    /** one that is not discarded and is a whole frame, first and last of its group: known as early */
    val alone = out Bool ()
    val busy = out Bool ()
    /** nothing of this queue is on its way from its grant */
    val settled = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private val came = io.departure
  /** grants whose departure has not come yet; the last is that of a departure that comes now */
  private val coming = Seq.iterate(io.grant, 4)(_.stage())
  /** whose packets are walked through */
  private val last = RegNextWhen(came.queue, came.valid)
  /** what becomes of a departure is known before it comes: it waits, or passes at once */
  private val next = io.leaving
  /** of the departure, known last: a register of its own, near all that follows from it */
  private val dead = RegNextWhen(io.reading.dead, next.valid)
  private val nextDecided = !next.discard && next.first && io.decides(next.queue.resized)
  private val (waits, passes) = {
    val waits, passes = RegInit(False)
    waits := next.valid && nextDecided
    passes := next.valid && !nextDecided
    // of a group that is empty
    (waits && !dead, passes || (waits && dead))
  }
  private val asks = (RegNext(next.valid && !next.discard && next.first) init False) && !dead

  private val question = new Area {
    /** the departure's */
    val queue = RegNextWhen(next.queue, next.valid)
    val fill = io.fill(queue.resized)
    val departure = Reg(PolicyDeparture(c))
    when(asks) {
      departure.queue := queue
      departure.nowNs := came.grantNs
      departure.sojournNs := came.grantNs - came.descriptor.stampNs
      departure.length := came.group.bytes
      departure.ecn := came.descriptor.ecn
      // a mark would mark something, or drop something: the first packet does not speak for the others
      val mixed = came.group.ect || (came.group.ce && came.group.notEct)
      when((came.descriptor.ecn === Ecn.notEct || came.descriptor.ecn === Ecn.ce) && mixed)(departure.ecn := Ecn.ect0)
      departure.exempt := came.descriptor.exempt
      departure.bytes := fill.bytes - came.group.bytes.resize(c.quantityWidth)
      departure.packets := fill.packets - came.group.packets.resize(c.countWidth)
    }
    for (n <- 0 until c.engines.size) {
      io.asked(n).valid := RegNext(asks && io.engine(queue.resized)(n)) init False
      io.asked(n).payload := departure
    }
  }

  private val held = new Area {
    val waiting = RegInit(False)
    val departure = RegNextWhen(came.payload, waits)
    val valids = io.verdicts.map(_.valid)
    val verdict = DepartureVerdict(c)
    verdict.assignFromBits(io.verdicts.map(v => v.payload.asBits & B(widthOf(verdict) bits, default -> v.valid))
      .foldLeft(B(0, widthOf(verdict) bits))(_ | _))
    val answered = waiting && valids.foldLeft(False: Bool)(_ || _)
    when(answered)(waiting := False)
    when(waits)(waiting := True)
    private val fate = Fate()
    fate.assignSomeByName(departure)
    fate.mark := departure.descriptor.mark
    val decided = carriedOut(fate, departure.descriptor, Answer(verdict))
    /** what was answered for the packets behind the first */
    val group = RegNextWhen(Answer(verdict), answered)
    val applies = RegInit(False)
    when(came.valid && came.first)(applies := False)
    when(answered)(applies := True)
  }

  /** What a policy said of a group, if it is `valid` for a packet of it. */
  private case class Answer() extends Bundle {
    val valid, drops, marks = Bool()
    val cause = UInt(3 bits)

    def of(other: Answer, counts: Bool): Answer = {
      valid := counts
      drops := counts && other.drops
      marks := counts && other.marks
      cause := other.cause
      this
    }
  }
  private object Answer {
    def apply(verdict: DepartureVerdict): Answer = {
      val answer = new Answer
      answer.valid := True
      answer.drops := verdict.action === Action.drop
      answer.marks := verdict.action === Action.mark
      answer.cause := verdict.cause
      answer
    }
  }

  /** What becomes of a packet. */
  private case class Fate() extends Bundle {
    val discard, refused, sent, mark = Bool()
    val cause = UInt(3 bits)
  }

  /** With what the policy says of the packet's group; an answer is valid only for one that was granted to be sent. */
  private def carriedOut(fate: Fate, packet: Descriptor, answer: Answer): Fate = {
    val decided = Fate().allowOverride()
    decided := fate
    val counts = !packet.exempt
    val notEct = packet.ecn === Ecn.notEct
    val ce = packet.ecn === Ecn.ce || (notEct && packet.inTransit)
    val drops = counts && answer.drops
    decided.mark := fate.mark || (counts && answer.marks && !ce)
    decided.discard := fate.discard || drops || (counts && answer.marks && notEct && !packet.inTransit)
    decided.refused := fate.refused || drops
    decided.sent := fate.sent && !drops
    when(counts && answer.valid)(decided.cause := answer.cause)
    // counted there
    when(counts && answer.marks && fate.mark)(decided.cause := Cause.none)
    decided
  }

  private val deciding = c.policies.exists(_.atDeparture) generate new Area {
    val valid = RegNext(held.answered) init False
    // as long as one waits: what is there when it is answered counts
    val decided = RegNextWhen(held.decided, held.waiting)
    /** of the packet that departs next, but for whether its group is dead; the answer stands while packets behind a first one are on their way */
    val nextFate = {
      val fate = Fate()
      fate.discard := next.discard
      fate.refused := False
      fate.sent := !next.discard
      fate.mark := io.reading.descriptor.mark
      fate.cause := io.reading.cause
      carriedOut(fate, io.reading.descriptor, new Answer().of(held.group, held.applies && !next.first && !next.discard))
    }
    val follows = RegNextWhen(nextFate, next.valid)
    private val departs = next.valid || held.answered
    // what most depends on: none departs while one is held
    val queue = RegNextWhen(Mux(next.valid, next.queue, held.departure.queue), departs)
    val descriptor = RegNextWhen(Mux(next.valid, io.reading.descriptor, held.departure.descriptor), departs)
    val keepsDecided = RegNext(held.answered && !held.decided.discard) init False
    val keepsNext = RegNext(next.valid && !nextDecided && !nextFate.discard) init False
  }

  io.released.payload.allowOverride()
  if (c.policies.exists(_.atDeparture)) {
    import deciding._
    io.released.valid := passes || valid
    io.released.payload := Mux(valid, held.departure, came.payload)
    io.released.queue := queue
    io.released.descriptor := descriptor
    io.released.descriptor.mark := Mux(valid, decided.mark, follows.mark)
    io.released.discard := Mux(valid, decided.discard, follows.discard || dead)
    io.released.refused := Mux(valid, decided.refused, follows.refused || (dead && follows.sent))
    io.released.sent := Mux(valid, decided.sent, follows.sent && !dead)
    io.released.cause := Mux(valid, decided.cause, follows.cause)
    io.kept := keepsDecided || (keepsNext && !dead)
    // never both
    io.alone := (keepsDecided && held.departure.first && held.departure.last) || (keepsNext && !dead && came.first && came.last)
    io.holding := waits || held.waiting || valid
    io.busy := held.waiting || valid || io.walking
    for (q <- 0 until c.queues) {
      val underWay = coming.map(g => g.valid && g.queue === q) ++
        Seq(held.waiting && held.departure.queue === q, valid && held.departure.queue === q, io.walking && last === q)
      io.settled(q) := !underWay.orR
    }
  } else {
    io.released << came
    io.kept := came.valid && !came.discard
    io.alone := io.kept && came.first && came.last
    io.busy := io.walking
    io.holding := False
    io.settled := B(c.queues bits, default -> True)
  }
}
