package weir.transmit
import spinal.core._
import spinal.lib._
import weir.{Activity, DeparturePolicyPorts, DequeuePorts, Domains, Settings, WeirConfig}
import weir.axis.AxisBeat
import weir.common.ClockGate
import weir.control.counters.DepartureEvent
import weir.control.trace.DepartureRecord

/** Fourth stage: whose turn it is, at what rate, and the frames for the line (docs/modules/transmit.md).
  *
  * Nothing waits outside of the queues but what has been granted: 96 short frames, or two long ones. Policies that
  * decide at departure are asked when a packet has been granted. At a reset an open frame is closed with `tuser`.
  */
class Transmit(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val settings = in(Settings(c))
    val nowNs = in(c.time)
    val heads = slave(DequeuePorts(c))
    val decisions = master(DeparturePolicyPorts(c))
    val m_axis = master(Stream(AxisBeat(c.dataWidth)))
    val event = master(Flow(DepartureEvent(c)))
    val record = c.trace generate master(Flow(DepartureRecord(c)))
    /** a group was sent as one frame of so many bytes */
    val sent = c.jumbo generate master(Flow(c.length))
    /** the shaper holds packets back */
    val throttled = out Bool ()
    /** nothing of this queue is between its grant and its decision */
    val settled = out(Bits(c.queues bits))
    /** nothing is on its way out */
    val drained = out Bool ()
    val activity = out(Activity.transmit(c))
    /** of the clock `packet`, with which that of egress runs too */
    val packetRuns = in Bool ()
  }
  noIoPrefix()

  private val settings = io.settings
  private val config = settings.core
  private val heads = io.heads
  private def packets[T](unit: => T): T = domains.packet(domains.path)(unit)

  val scheduler = packets(new Scheduler(c))
  val shaper = new Shaper(c)
  val departureDecision = packets(new DepartureDecision(c))
  private val egressClock = new ClockGate("egress")
  val egress = egressClock(domains.path)(new Egress(c))
  val log = new DepartureLog(c)
  val closer = domains.ends(new FrameCloser(c))

  scheduler.io.strict := B(settings.queues.map(_.strict))
  scheduler.io.quantum := Vec(settings.queues.map(_.quantum))
  scheduler.io.ready := heads.ready
  scheduler.io.empty := heads.empty
  scheduler.io.candidates := heads.candidates
  scheduler.io.walking := heads.walking
  scheduler.io.over := heads.over
  scheduler.io.partial := heads.partial
  scheduler.io.linkUp := settings.linkUp
  scheduler.io.hold := settings.hold
  scheduler.io.allowed := shaper.io.allowed
  scheduler.io.room := egress.io.room
  scheduler.io.covered := egress.io.covered
  scheduler.io.decides := io.decisions.decides
  scheduler.io.departure << departureDecision.io.released
  private val applies = if (c.policies.exists(_.atDeparture)) settings.apply else B(0, c.queues bits)
  scheduler.io.held := (RegNext(applies) init 0) | heads.held
  heads.grant << scheduler.io.grant
  heads.slot := scheduler.io.slot

  shaper.io.now := io.nowNs
  shaper.io.cost := config.shaperCost
  shaper.io.burst := config.shaperBurst
  shaper.io.overhead := config.shaperOverhead
  shaper.io.mpu := config.shaperMpu
  private val rate = config.shaperCost ## config.shaperBurst
  shaper.io.applied := RegNext(RegNext(rate) =/= rate) init False

  departureDecision.io.grant << scheduler.io.grant
  departureDecision.io.departure << heads.departure
  departureDecision.io.leaving << heads.leaving
  departureDecision.io.reading := heads.reading
  departureDecision.io.walking := heads.walking
  departureDecision.io.fill := heads.fill
  departureDecision.io.engine := io.decisions.engine
  departureDecision.io.decides := io.decisions.decides
  for (n <- c.engines.indices) {
    io.decisions.asked(n) << departureDecision.io.asked(n)
    departureDecision.io.verdicts(n) << io.decisions.verdicts(n)
  }
  heads.hold := departureDecision.io.holding
  io.settled := departureDecision.io.settled

  egress.io.grant << scheduler.io.grant
  egress.io.departure << departureDecision.io.released
  egress.io.kept := departureDecision.io.kept
  heads.read << egress.io.read
  egress.io.word << heads.word
  heads.lookup << egress.io.lookup
  egress.io.next << heads.next
  heads.free << egress.io.free

  log.io.traces := settings.traces(1)
  log.io.departure << heads.departure
  log.io.fill := heads.fill
  log.io.released << departureDecision.io.released
  log.io.decides := io.decisions.decides
  io.event << log.io.event
  if (c.trace) io.record << log.io.record

  /** a whole frame is charged when it is released */
  private val alone = Flow(c.length)
  alone.valid := departureDecision.io.alone
  alone.payload := departureDecision.io.released.descriptor.length

  /** What is between the cells and the line. */
  private abstract class Form extends Area {
    val beat: Stream[AxisBeat]
    val busy, stirs: Bool
    val charge: Flow[UInt]
  }

  /** A packet is a frame. */
  private class Plain extends Form {
    val rewrite = egressClock(domains.path)(new Rewrite(c))
    rewrite.io.input << egress.io.beat
    scheduler.io.sent.setIdle()
    val beat = rewrite.io.m_axis
    val busy = rewrite.io.busy
    val stirs = False
    val charge = alone
  }

  /** A group may be one. */
  private class Jumbo extends Form {
    private val frames = egress.io.groups
    val jumboPack = egressClock(domains.path)(new JumboPack(c))
    jumboPack.io.group << frames.group
    jumboPack.io.entry << frames.entry.toStream
    jumboPack.io.word << frames.word
    jumboPack.io.config.etherType := config.jumboEtherType
    jumboPack.io.config.protocol := config.jumboProtocol
    frames.alone := departureDecision.io.alone
    frames.left := jumboPack.io.left
    frames.leaves := jumboPack.io.leaves
    frames.grouped := heads.grouped
    frames.entriesFit := jumboPack.io.room
    frames.tick := config.jumboTick
    scheduler.io.sent << frames.sent
    io.sent << frames.sent
    val beat = jumboPack.io.beat
    val busy = jumboPack.io.busy
    val stirs = frames.sent.valid
    val charge = cloneOf(alone)
    charge.valid := alone.valid || frames.sent.valid
    charge.payload := frames.sent.valid ? frames.sent.payload | alone.payload
  }

  private val form: Form = if (c.jumbo) new Jumbo else new Plain
  shaper.io.charge << form.charge

  // what is being reset shows nothing; `ready` is no business of the reset
  closer.io.s_axis.valid := form.beat.valid && !ClockDomain.current.isResetActive
  closer.io.s_axis.payload := form.beat.payload
  form.beat.ready := closer.io.s_axis.ready
  io.m_axis << closer.io.m_axis

  private val leaving = egress.io.busy || form.busy
  io.drained := !(leaving || closer.io.busy)
  io.throttled := scheduler.io.throttled && shaper.io.settled
  private val waits = heads.ready.orR
  io.activity.busy := Seq(!shaper.io.settled, waits && !scheduler.io.throttled, scheduler.io.busy,
    departureDecision.io.busy, leaving, closer.io.busy).orR
  private val grantable = waits && (shaper.io.allowed && egress.io.room || !settings.linkUp)
  io.activity.stirs := Seq(grantable, scheduler.io.busy, departureDecision.io.busy, form.stirs).orR
  io.activity.wake(0).valid := scheduler.io.throttled
  io.activity.wake(0).payload := shaper.io.wake
  egressClock.runs(ClockGate.run("egress", lingers = 8)(io.packetRuns, leaving, heads.word.valid))
}
