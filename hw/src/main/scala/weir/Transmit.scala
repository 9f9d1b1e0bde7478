package weir

import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat
import weir.csr.{DepartureEvent, DepartureRecord}
import weir.egress.{DepartureLog, Egress, Release, Schedule, Shape}
import weir.frame.{FrameCloser, Rewrite}
import weir.jumbo.Pack

/** Fourth stage: whose turn it is, at what rate, and the frames for the line (docs/modules/transmit.md).
  *
  * Nothing waits outside of the queues but what has been granted: 96 short frames, or two long ones. Policies that
  * decide at departure are asked when a packet has been granted. At a reset an open frame is closed with `tuser`.
  */
class Transmit(c: WeirConfig, domains: Domains) extends Component {
  val io = new Bundle {
    val settings = in(Settings(c))
    val nowNs = in(c.time)
    val heads = slave(Departing(c))
    val decisions = master(DepartureDecisions(c))
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

  val schedule = packets(new Schedule(c))
  val shape = new Shape(c)
  val release = packets(new Release(c))
  private val egressClock = new Gate("egress")
  val egress = egressClock(domains.path)(new Egress(c))
  val log = new DepartureLog(c)
  val closer = domains.ends(new FrameCloser(c))

  schedule.io.strict := B(settings.queues.map(_.strict))
  schedule.io.quantum := Vec(settings.queues.map(_.quantum))
  schedule.io.ready := heads.ready
  schedule.io.empty := heads.empty
  schedule.io.candidates := heads.candidates
  schedule.io.walking := heads.walking
  schedule.io.over := heads.over
  schedule.io.partial := heads.partial
  schedule.io.linkUp := settings.linkUp
  schedule.io.hold := settings.hold
  schedule.io.allowed := shape.io.allowed
  schedule.io.room := egress.io.room
  schedule.io.covered := egress.io.covered
  schedule.io.decides := io.decisions.decides
  schedule.io.departure << release.io.released
  private val applies = if (c.policies.exists(_.atDeparture)) settings.apply else B(0, c.queues bits)
  schedule.io.held := (RegNext(applies) init 0) | heads.held
  heads.grant << schedule.io.grant
  heads.slot := schedule.io.slot

  shape.io.now := io.nowNs
  shape.io.cost := config.shaperCost
  shape.io.burst := config.shaperBurst
  shape.io.overhead := config.shaperOverhead
  shape.io.mpu := config.shaperMpu
  private val rate = config.shaperCost ## config.shaperBurst
  shape.io.applied := RegNext(RegNext(rate) =/= rate) init False

  release.io.grant << schedule.io.grant
  release.io.departure << heads.departure
  release.io.leaving << heads.leaving
  release.io.reading := heads.reading
  release.io.walking := heads.walking
  release.io.fill := heads.fill
  release.io.engine := io.decisions.engine
  release.io.decides := io.decisions.decides
  for (n <- c.engines.indices) {
    io.decisions.asked(n) << release.io.asked(n)
    release.io.verdicts(n) << io.decisions.verdicts(n)
  }
  heads.hold := release.io.holding
  io.settled := release.io.settled

  egress.io.grant << schedule.io.grant
  egress.io.departure << release.io.released
  egress.io.kept := release.io.kept
  heads.read << egress.io.read
  egress.io.word << heads.word
  heads.lookup << egress.io.lookup
  egress.io.next << heads.next
  heads.free << egress.io.free

  log.io.traces := settings.traces(1)
  log.io.departure << heads.departure
  log.io.fill := heads.fill
  log.io.released << release.io.released
  log.io.decides := io.decisions.decides
  io.event << log.io.event
  if (c.trace) io.record << log.io.record

  /** a whole frame is charged when it is released */
  private val alone = Flow(c.length)
  alone.valid := release.io.alone
  alone.payload := release.io.released.descriptor.length

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
    schedule.io.sent.setIdle()
    val beat = rewrite.io.m_axis
    val busy = rewrite.io.busy
    val stirs = False
    val charge = alone
  }

  /** A group may be one. */
  private class Jumbo extends Form {
    private val frames = egress.io.groups
    val pack = egressClock(domains.path)(new Pack(c))
    pack.io.group << frames.group
    pack.io.entry << frames.entry.toStream
    pack.io.word << frames.word
    pack.io.config.etherType := config.jumboEtherType
    pack.io.config.protocol := config.jumboProtocol
    frames.alone := release.io.alone
    frames.left := pack.io.left
    frames.leaves := pack.io.leaves
    frames.grouped := heads.grouped
    frames.entriesFit := pack.io.room
    frames.tick := config.jumboTick
    schedule.io.sent << frames.sent
    io.sent << frames.sent
    val beat = pack.io.beat
    val busy = pack.io.busy
    val stirs = frames.sent.valid
    val charge = cloneOf(alone)
    charge.valid := alone.valid || frames.sent.valid
    charge.payload := frames.sent.valid ? frames.sent.payload | alone.payload
  }

  private val form: Form = if (c.jumbo) new Jumbo else new Plain
  shape.io.charge << form.charge

  // what is being reset shows nothing; `ready` is no business of the reset
  closer.io.s_axis.valid := form.beat.valid && !ClockDomain.current.isResetActive
  closer.io.s_axis.payload := form.beat.payload
  form.beat.ready := closer.io.s_axis.ready
  io.m_axis << closer.io.m_axis

  private val leaving = egress.io.busy || form.busy
  io.drained := !(leaving || closer.io.busy)
  io.throttled := schedule.io.throttled && shape.io.settled
  private val waits = heads.ready.orR
  io.activity.busy := Seq(!shape.io.settled, waits && !schedule.io.throttled, schedule.io.busy, release.io.busy,
    leaving, closer.io.busy).orR
  private val grantable = waits && (shape.io.allowed && egress.io.room || !settings.linkUp)
  io.activity.stirs := Seq(grantable, schedule.io.busy, release.io.busy, form.stirs).orR
  io.activity.wake(0).valid := schedule.io.throttled
  io.activity.wake(0).payload := shape.io.wake
  egressClock.runs(Gate.run("egress", lingers = 8)(io.packetRuns, leaving, heads.word.valid))
}
