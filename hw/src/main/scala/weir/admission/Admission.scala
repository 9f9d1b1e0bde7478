package weir.admission
import spinal.core._
import spinal.lib._
import weir.{Activity, Arrivals, DeparturePolicyPorts, Domains, EnqueuePorts, Settings, WeirConfig}
import weir.control.counters.ArrivalEvent
import weir.control.trace.TraceRecord
import weir.policy.{GatedEngine, PolicyTick, PolicyUnit}
import weir.policy.compact.CompactPolicies

/** Second stage: decides what becomes of each packet, by its queue's policy and limits (docs/modules/admission.md).
  *
  * The policies' units are here, and answer departures and timers, too. In a core with jumbo frames what came out of
  * one waits until it has ended ([[CommitFifo]]), and for its spacing ([[Spacing]]).
  */
class Admission(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val settings = in(Settings(c))
    val nowNs = in(c.time)
    val arrivals = slave(Arrivals(c))
    val queues = master(EnqueuePorts(c))
    val departures = slave(DeparturePolicyPorts(c))
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
  val arrivalDecision = domains.packet(domains.path)(ArrivalDecisionPorts.build(c))
  val engineSelect = new EngineSelect(c)
  /** in the order of `c.engines` */
  val units: Seq[PolicyUnit] = c.engines.map(e => domains.packet(domains.path)(GatedEngine.unit(c, e).setName(e.name)))

  for (unit <- units) unit match {
    case compact: CompactPolicies => arrivalDecision.io.ready := compact.ready
    case _                        =>
  }
  arrivalDecision.io.config := settings.queues
  arrivalDecision.io.sharedCells := config.sharedCells
  arrivalDecision.io.nowNs := io.nowNs
  arrivalDecision.io.hold := settings.apply
  arrivalDecision.io.fill := queues.fill
  arrivalDecision.io.empty := queues.empty
  arrivalDecision.io.sharedUsed := queues.sharedUsed
  arrivalDecision.io.traces := RegNext(settings.traces(0)) init 0
  arrivalDecision.io.descriptor << queues.descriptor
  queues.giveDescriptor << arrivalDecision.io.giveDescriptor
  queues.enter << arrivalDecision.io.enter
  queues.enters := arrivalDecision.io.enters
  queues.refund << arrivalDecision.io.refund
  queues.refunds := arrivalDecision.io.refunds
  queues.link << arrivalDecision.io.link
  queues.free << arrivalDecision.io.free
  io.settled := arrivalDecision.io.settled
  io.event << arrivalDecision.io.event
  io.record << arrivalDecision.io.trace
  io.recorded := arrivalDecision.io.traced

  lfsr.io.next := arrivalDecision.io.nextDraw
  lfsr.io.fixed := config.lfsrFixed
  lfsr.io.fixedDraw := config.lfsrFixedDraw
  lfsr.io.seed << settings.seed
  arrivalDecision.io.draw := lfsr.io.draw

  engineSelect.io.queues := settings.queues
  engineSelect.io.renewed := settings.config.valid
  io.departures.engine := engineSelect.io.engine
  io.departures.decides := engineSelect.io.decides

  for ((unit, n) <- units.zipWithIndex) {
    unit.io.nowNs := io.nowNs
    unit.io.config << settings.config
    unit.io.copying := settings.copying
    unit.io.applied := settings.applied
    unit.io.clear := settings.clear
    unit.io.selected := B((0 until c.queues).map(engineSelect.io.engine(_)(n)))
    unit.io.unit := Vec(settings.queues.map(_.unit))
    unit.io.left << queues.left
    unit.io.emptied := queues.emptied
    unit.io.request.valid := arrivalDecision.io.requestEngine(n)
    unit.io.request.payload := arrivalDecision.io.request.payload
    unit.io.commit.valid := arrivalDecision.io.commitEngine(n)
    unit.io.commit.payload := arrivalDecision.io.commit.payload
    unit.io.commit.acts.allowOverride() := arrivalDecision.io.commitActs(n)
    arrivalDecision.io.verdicts(n) << unit.io.verdict
    unit.io.departure << io.departures.asked(n)
    io.departures.verdicts(n) << unit.io.departureVerdict
    io.ticks(n) << unit.io.tick
  }
  for (q <- 0 until c.queues) io.averages(q) := units.zipWithIndex.map { case (unit, n) =>
    Mux(engineSelect.io.engine(q)(n), unit.io.live(q), U(0, 43 bits)) }.foldLeft(U(0, 43 bits))(_ | _)

  /** What is between the buffer and the decision. */
  private abstract class Form extends Area {
    val busy, stirs: Bool
    val wake: Seq[Flow[UInt]]
  }

  private class Plain extends Form {
    arrivalDecision.io.arrival << io.arrivals.arrival
    io.arrivals.room := arrivalDecision.io.room
    io.spaced := 0
    val busy, stirs = False
    val wake = Nil
  }

  private class Jumbo extends Form {
    private val told = io.arrivals.jumbo
    val commitFifo = domains.packet(domains.path)(new CommitFifo(c))
    commitFifo.io.push << io.arrivals.arrival
    commitFifo.io.pushInner := told.inner
    commitFifo.io.pushWaitNs := told.waitNs
    commitFifo.io.commit := told.commit
    commitFifo.io.whole := told.whole
    commitFifo.io.rollback := told.discard
    io.arrivals.room := commitFifo.io.room

    val spacing = domains.packet(domains.path)(new Spacing(c))
    spacing.io.nowNs := io.nowNs
    spacing.io.enable := RegNext(config.spacing) init False
    spacing.io.limitNs := config.spacingLimitNs
    spacing.io.scarce := RegNext(queues.freeCells < c.cells / 8) init False
    spacing.io.together := commitFifo.io.together
    spacing.io.push.valid := commitFifo.io.offers
    spacing.io.push.arrival := commitFifo.io.pop.payload
    spacing.io.push.inner := commitFifo.io.popInner
    spacing.io.push.first := commitFifo.io.popFirst
    spacing.io.push.waitNs := commitFifo.io.popWaitNs
    commitFifo.io.ready := spacing.io.push.ready
    spacing.io.lane << told.lane
    spacing.io.popReady := RegNext(arrivalDecision.io.roomNext) init True
    arrivalDecision.io.arrival << spacing.io.pop
    io.spaced := (RegNext(spacing.io.held) init 0).resized
    io.hurried := spacing.io.early

    arrivalDecision.io.descriptors := queues.jumbo.descriptors
    arrivalDecision.io.mred := B((0 until c.queues).map(q => settings.queues(q).mred && engineSelect.io.family(q)))
    arrivalDecision.io.able := queues.jumbo.able
    arrivalDecision.io.partialRoom := queues.jumbo.room
    queues.jumbo.look << arrivalDecision.io.look
    queues.jumbo.selection << arrivalDecision.io.selection

    val busy = commitFifo.io.busy || spacing.io.busy
    val stirs = commitFifo.io.busy || spacing.io.turning
    val wake = Seq(spacing.io.wake)
  }

  private val form: Form = if (c.jumbo) new Jumbo else new Plain

  io.activity.busy := (Seq(arrivalDecision.io.busy, form.busy) ++ units.map(_.io.busy)).orR
  io.activity.stirs := (Seq(arrivalDecision.io.busy, form.stirs) ++ units.map(u => u.io.busy || u.io.turning)).orR
  for ((wake, timer) <- io.activity.wake.zip(units.map(_.io.wake) ++ form.wake)) wake << timer
}
