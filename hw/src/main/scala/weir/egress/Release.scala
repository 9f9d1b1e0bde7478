package weir.egress

import spinal.core._
import spinal.lib._
import weir.{PolicyEngine, WeirConfig}
import weir.aqm._
import weir.buffer.{Departure, Fill, Grant}

/** Puts departures before the policies that want to know of them, and waits for those that decide.
  *
  * A departure of a queue whose policy does not decide passes at once. Another is held until its engine's verdict,
  * which may mark or discard it; the scheduler gives no grant meanwhile. Packets that are discarded already
  * are not asked about. Engines see a departure one cycle after it came.
  *
  * `settled` is what an apply waits for: nothing of that queue is between its grant and its release. The scheduler holds
  * the queue meanwhile, so that this comes, and lasts until the configuration is whole.
  */
class Release(c: WeirConfig) extends Component {
  val io = new Bundle {
    val grant = slave(Flow(Grant(c)))
    val departure = slave(Flow(Departure(c)))
    /** q, which the departure is still part of */
    val fill = in(Vec(Fill(c), c.queues))
    /** the engine that serves each queue, one bit each */
    val engine = in(Vec(Bits(c.engines.size bits), c.queues))
    val decides = in(Bits(c.queues bits))
    val asked = out(Vec(master(Flow(PolicyDeparture(c))), c.engines.size))
    val verdicts = in(Vec(slave(Flow(DepartureVerdict(c))), c.engines.size))
    val released = master(Flow(Departure(c)))
    val busy = out Bool ()
    /** nothing of this queue is on its way from its grant */
    val settled = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private val came = io.departure
  private val fill = io.fill(came.queue.resized)
  private val asks = came.valid && !came.discard
  /** grants whose departure has not come yet; the last is that of a departure that comes now */
  private val coming = Seq.iterate(io.grant, 4)(_.stage())
  /** what becomes of a departure is known before it comes: it waits, or passes at once */
  private val (waits, passes) = {
    val next = coming(2)
    val decided = !next.discard && io.decides(next.queue.resized)
    (RegNext(next.valid && decided) init False, RegNext(next.valid && !decided) init False)
  }

  private val question = new Area {
    val departure = Reg(PolicyDeparture(c))
    when(asks) {
      departure.queue := came.queue
      departure.nowNs := came.grantNs
      departure.sojournNs := came.grantNs - came.descriptor.stampNs
      departure.length := came.descriptor.length
      departure.ecn := came.descriptor.ecn
      departure.exempt := came.descriptor.exempt
      departure.bytes := fill.bytes - came.descriptor.length.resize(c.quantityWidth)
      departure.packets := fill.packets - 1
    }
    for (n <- 0 until c.engines.size) {
      io.asked(n).valid := RegNext(asks && io.engine(came.queue.resized)(n)) init False
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
    val decided = Departure(c)
    decided := departure
    when(!departure.descriptor.exempt) {
      decided.descriptor.mark := departure.descriptor.mark || verdict.action === Action.mark
      decided.discard := verdict.action === Action.drop
      decided.refused := verdict.action === Action.drop
      decided.cause := verdict.cause
      // marked at arrival: counted there
      when(departure.descriptor.mark && verdict.action === Action.mark)(decided.cause := Cause.none)
    }
  }

  if (c.policies.exists(_.atDeparture)) {
    val valid = RegNext(held.answered) init False
    val decided = RegNextWhen(held.decided, held.answered)
    io.released.valid := passes || valid
    io.released.payload := Mux(valid, decided, came.payload)
    io.busy := held.waiting || valid
    for (q <- 0 until c.queues) {
      val underWay = coming.map(g => g.valid && g.queue === q) ++
        Seq(held.waiting && held.departure.queue === q, valid && decided.queue === q)
      io.settled(q) := !underWay.orR
    }
  } else {
    io.released << came
    io.busy := False
    io.settled := B(c.queues bits, default -> True)
  }
}
