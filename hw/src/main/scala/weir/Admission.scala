package weir

import spinal.core._
import spinal.lib._
import weir.aqm.{Admit, Lfsr, PolicyTick, PolicyUnit, Resting, Roles}
import weir.buffer.Batch
import weir.csr.{ArrivalEvent, TraceRecord}
import weir.jumbo.Spacing

/** Second stage: decides what becomes of each packet, by its queue's policy and limits (docs/modules/admission.md).
  *
  * The policies' units are here, and answer departures and timers, too. In a core with jumbo frames what came out of
  * one waits until it has ended ([[Batch]]), and for its spacing ([[Spacing]]).
  */
class Admission(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val settings = in(Settings(c))
    val nowNs = in(c.time)
    val arrivals = slave(Arrivals(c))
    val queues = master(Admitting(c))
    val departures = slave(DepartureDecisions(c))
    val event = master(Flow(ArrivalEvent(c)))
    /** a decision's record, which stands in the cycle after; with `recorded`: it is wanted */
    val record = master(Flow(Bits(TraceRecord.width bits)))
    val recorded = out Bool ()
    /** what the engines' timers did */
    val ticks = Vec(master(Flow(PolicyTick(c))), c.engines.size)
    /** what LIVE_AVERAGE shows, by queue */
    val averages = out(Vec(UInt(43 bits), c.queues))
    /** packets that wait for their spacing; one did not wait for all of it */
    val spaced = out(c.count)
    val hurried = c.jumbo generate out(Bool())
    /** no decision of this queue is being made */
    val settled = out(Bits(c.queues bits))
    val activity = out(Activity.admission(c))
  }
  noIoPrefix()

  private val settings = io.settings
  private val config = settings.core
  private val queues = io.queues

  val lfsr = domains.packet(domains.path)(new Lfsr(c))
  val admit = domains.packet(domains.path)(new Admit(c))
  val roles = new Roles(c)
  /** in the order of `c.engines` */
  val units: Seq[PolicyUnit] = c.engines.map(e => domains.packet(domains.path)(Resting.unit(c, e).setName(e.name)))

  admit.io.config := settings.queues
  admit.io.sharedCells := config.sharedCells
  admit.io.nowNs := io.nowNs
  admit.io.hold := settings.apply
  admit.io.fill := queues.fill
  admit.io.empty := queues.empty
  admit.io.sharedUsed := queues.sharedUsed
  admit.io.traces := RegNext(settings.traces(0)) init 0
  admit.io.descriptor << queues.descriptor
  queues.giveDescriptor << admit.io.giveDescriptor
  queues.enter << admit.io.enter
  queues.enters := admit.io.enters
  queues.refund << admit.io.refund
  queues.refunds := admit.io.refunds
  queues.link << admit.io.link
  queues.free << admit.io.free
  io.settled := admit.io.settled
  io.event << admit.io.event
  io.record << admit.io.trace
  io.recorded := admit.io.traced

  lfsr.io.next := admit.io.nextDraw
  lfsr.io.fixed := config.lfsrFixed
  lfsr.io.fixedDraw := config.lfsrFixedDraw
  lfsr.io.seed << settings.seed
  admit.io.draw := lfsr.io.draw

  roles.io.queues := settings.queues
  roles.io.renewed := settings.config.valid
  io.departures.engine := roles.io.engine
  io.departures.decides := roles.io.decides

  for ((unit, n) <- units.zipWithIndex) {
    unit.io.nowNs := io.nowNs
    unit.io.config << settings.config
    unit.io.copying := settings.copying
    unit.io.applied := settings.applied
    unit.io.clear := settings.clear
    unit.io.selected := B((0 until c.queues).map(roles.io.engine(_)(n)))
    unit.io.unit := Vec(settings.queues.map(_.unit))
    unit.io.left << queues.left
    unit.io.emptied := queues.emptied
    unit.io.request.valid := admit.io.requestEngine(n)
    unit.io.request.payload := admit.io.request.payload
    unit.io.commit.valid := admit.io.commitEngine(n)
    unit.io.commit.payload := admit.io.commit.payload
    unit.io.commit.acts.allowOverride() := admit.io.commitActs(n)
    admit.io.verdicts(n) << unit.io.verdict
    unit.io.departure << io.departures.asked(n)
    io.departures.verdicts(n) << unit.io.departureVerdict
    io.ticks(n) << unit.io.tick
  }
  for (q <- 0 until c.queues) io.averages(q) := units.zipWithIndex.map { case (unit, n) =>
    Mux(roles.io.engine(q)(n), unit.io.live(q), U(0, 43 bits)) }.foldLeft(U(0, 43 bits))(_ | _)

  /** What is between the buffer and the decision. */
  private abstract class Form extends Area {
    val busy, stirs: Bool
    val wake: Seq[Flow[UInt]]
  }

  private class Plain extends Form {
    admit.io.arrival << io.arrivals.arrival
    io.arrivals.room := admit.io.room
    io.spaced := 0
    val busy, stirs = False
    val wake = Nil
  }

  private class Jumbo extends Form {
    private val told = io.arrivals.jumbo
    val batch = domains.packet(domains.path)(new Batch(c))
    batch.io.push << io.arrivals.arrival
    batch.io.pushInner := told.inner
    batch.io.pushWaitNs := told.waitNs
    batch.io.commit := told.commit
    batch.io.whole := told.whole
    batch.io.rollback := told.discard
    io.arrivals.room := batch.io.room

    val spacing = domains.packet(domains.path)(new Spacing(c))
    spacing.io.nowNs := io.nowNs
    spacing.io.enable := RegNext(config.spacing) init False
    spacing.io.limitNs := config.spacingLimitNs
    spacing.io.scarce := RegNext(queues.freeCells < c.cells / 8) init False
    spacing.io.together := batch.io.together
    spacing.io.push.valid := batch.io.offers
    spacing.io.push.arrival := batch.io.pop.payload
    spacing.io.push.inner := batch.io.popInner
    spacing.io.push.first := batch.io.popFirst
    spacing.io.push.waitNs := batch.io.popWaitNs
    batch.io.ready := spacing.io.push.ready
    spacing.io.lane << told.lane
    spacing.io.popReady := RegNext(admit.io.roomNext) init True
    admit.io.arrival << spacing.io.pop
    io.spaced := (RegNext(spacing.io.held) init 0).resized
    io.hurried := spacing.io.early

    admit.io.descriptors := queues.jumbo.descriptors
    admit.io.mred := B((0 until c.queues).map(q => settings.queues(q).mred && roles.io.family(q)))
    admit.io.able := queues.jumbo.able
    admit.io.partialRoom := queues.jumbo.room
    queues.jumbo.look << admit.io.look
    queues.jumbo.selection << admit.io.selection

    val busy = batch.io.busy || spacing.io.busy
    val stirs = batch.io.busy || spacing.io.turning
    val wake = Seq(spacing.io.wake)
  }

  private val form: Form = if (c.jumbo) new Jumbo else new Plain

  io.activity.busy := (Seq(admit.io.busy, form.busy) ++ units.map(_.io.busy)).orR
  io.activity.stirs := (Seq(admit.io.busy, form.stirs) ++ units.map(u => u.io.busy || u.io.turning)).orR
  for ((wake, timer) <- io.activity.wake.zip(units.map(_.io.wake) ++ form.wake)) wake << timer
}
