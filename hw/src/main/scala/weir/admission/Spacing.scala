package weir.admission
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Arrival, Chain, Transit}
import weir.common.ValidPipeline
import weir.receive.{FrameMeta, IpVersion}

/** An arrival with what its jumbo frame says about when it came. */
case class SpacedArrival(c: WeirConfig) extends Bundle {
  val arrival = Arrival(c)
  /** the packet came out of a jumbo frame that was split */
  val inner = Bool()
  /** it is the first of its jumbo frame that is left */
  val first = Bool()
  /** of an inner packet: sum of the spacings up to its own, ns */
  val waitNs = UInt(Spacing.waitWidth bits)
}

/** The lane of an arrival. */
case class FlowLane(c: WeirConfig) extends Bundle {
  val index = UInt(c.flowIndexWidth bits)
  val lane = UInt(Spacing.laneWidth bits)
}

/** Gives packets of jumbo frames the spacing back in which they came to where they were merged: egress shaping of JumboGen (paper
  * 000; docs/modules/spacing.md). Between CommitFifo and ArrivalDecision.
  *
  * A jumbo frame's packets are due as much after its coming as their spacings say, the first entry's being 0, `limitNs` at most. Any
  * other arrival is due at once, and so is a packet whose frame's first passed before spacing was on. Arrivals wait in 16 lanes,
  * each in its order; the two addresses choose the lane, so no flow's order changes. The cells of what waits are held, but no queue's `q` counts them.
  *
  * Off and empty: wires. On: an arrival is in its lane six cycles after it came, and goes six cycles or more after that; with n lanes in use
  * each is looked at every 2 n cycles or sooner, and one that has something due every four. One goes every three cycles at most, and
  * looks wait for what is due: each lane has its turn.
  * What waits goes at once, in the order of its lane, when `enable` is low, 768 or more wait, or `scarce`. At reset empty, and wires
  * for 16 cycles more.
  */
class Spacing(c: WeirConfig) extends Component {
  import Spacing._

  val io = new Bundle {
    val nowNs = in(c.time)
    val enable = in Bool ()
    /** no packet waits longer, ns */
    val limitNs = in(UInt(waitWidth bits))
    /** few cells are free */
    val scarce = in Bool ()
    /** the arrival that comes next has to pass at once: nothing may be held */
    val together = in Bool ()
    /** an arrival comes with `ready` */
    val push = slave(Stream(SpacedArrival(c)))
    /** of each IP arrival, two cycles after it left CellWriter or sooner */
    val lane = slave(Flow(FlowLane(c)))
    val pop = master(Flow(Arrival(c)))
    /** `pop` is taken */
    val popReady = in Bool ()
    /** arrivals pass through the lanes */
    /** packets that are held */
    val held = out(UInt(idWidth + 1 bits))
    /** a packet goes before it is due */
    val early = out Bool ()
    /** the earliest time at which something is due */
    val wake = master(Flow(c.time))
    val busy = out Bool ()
    /** packets are held, or lanes are still looked at */
    val turning = out Bool ()
  }
  noIoPrefix()

  /** from the time that an arrival is given to where something due at that time would go with it: 7 cycles */
  private val firstNs = (BigDecimal(7) * BigDecimal(1000000000) / c.clockHz).setScale(0, BigDecimal.RoundingMode.HALF_UP).toBigInt

  private val wanted = io.enable && !io.together
  val active = RegInit(False)
  /** arrivals in the lanes, and on their way there */
  val count = Reg(UInt(idWidth + 1 bits)) init 0
  private val roomy = RegNext(count < places - 8) init True
  io.held := count
  io.push.ready := active ? (wanted && roomy) | io.popReady

  private val comes = io.push.valid && active && wanted && roomy
  private val passes = io.push.valid && !active && io.popReady
  private val goes = Bool()
  when(comes =/= goes)(count := comes ? (count + 1) | (count - 1))
  private val sweep = Reg(UInt(laneWidth bits)) init 0
  private val swept = RegInit(False)
  when(!swept)(sweep := sweep + 1)
  when(sweep.andR)(swept := True)
  when(wanted && swept)(active := True) elsewhen (count === 0 && !comes)(active := False)

  private val lanes = Mem(UInt(laneWidth bits), 1 << c.flowIndexWidth)
  lanes.write(io.lane.index, io.lane.lane, io.lane.valid)

  /** Cycles 1 to 5 after an arrival came: when it is due, and its lane. */
  val coming = new Area {
    val steps = new ValidPipeline(comes, 5)
    private def next[T <: Data](value: T, step: Int): T = RegNextWhen(value, steps(step))
    val entry1 = RegNextWhen(io.push.payload, comes)
    private val limited = entry1.waitNs > io.limitNs
    private val wait2 = next(entry1.inner ? (limited ? io.limitNs | entry1.waitNs) | U(0, waitWidth bits), 1)
    private val entry2 = next(entry1, 1)
    private val wait3 = next(wait2, 2)
    private val entry3 = next(entry2, 2)
    /** of the jumbo frame: when its first packet goes, if nothing holds it up; only if that came this way */
    private val origin = Reg(c.time)
    private val begun = RegInit(False)
    private val begins = entry3.inner && entry3.first
    private val follows = entry3.inner && !entry3.first
    private val soonest = io.nowNs + firstNs
    when(steps(3) && begins) {
      origin := soonest
      begun := True
    }
    when(!active)(begun := False)
    private val since = next((follows && begun) ? origin | ((begins && wait3 =/= 0) ? soonest | io.nowNs), 3)
    private val wait4 = next((follows && !begun) ? U(0, waitWidth bits) | wait3, 3)
    private val arrival4 = next(entry3.arrival, 3)
    private val lane4 = lanes.readSync(entry3.arrival.flow, steps(3))
    val dueNs = next(since + wait4, 4)
    val arrival = next(arrival4, 4)
    private val isIp = arrival4.meta.ipVersion =/= IpVersion.none
    val lane = next(isIp ? lane4 | U(0, laneWidth bits), 4)
    val valid = steps(5)
  }

  /** A place in a lane: an arrival, and the place behind it. */
  case class Place() extends Bundle {
    val meta = FrameMeta(c)
    val chain = Chain(c)
    val dueNs = c.time
    val next = UInt(idWidth bits)
  }
  private val waiting = Mem(Place(), 1 << idWidth)

  /** Places that are free: those that were never used, then those that were given back. */
  val free = new Area {
    val fresh = Reg(UInt(idWidth + 1 bits)) init laneCount
    val back = StreamFifo(UInt(idWidth bits), 1 << idWidth, latency = 2)
    val id = fresh.msb ? back.io.pop.payload | fresh.resize(idWidth)
    back.io.pop.ready := coming.valid && fresh.msb
    when(coming.valid && !fresh.msb)(fresh := fresh + 1)
  }

  /** Each lane is a list from `heads` to `tails`; the last place is always an empty one. At reset place n is lane n's. */
  private val heads, tails = Mem(UInt(idWidth bits), laneCount)
  /** there may be something in the lane */
  private val used = Reg(Bits(laneCount bits)) init 0
  private val place = Place()
  place.meta := coming.arrival.meta
  place.chain := coming.arrival.chain
  place.dueNs := coming.dueNs
  place.next := free.id
  waiting.write(tails.readAsync(coming.lane), place, coming.valid)
  tails.write(swept ? coming.lane | sweep, swept ? free.id | sweep.resized, coming.valid || !swept)

  private val asleep = RegInit(False)
  private val hurries = !wanted || io.scarce || count >= hurryAt
  private val hurry = RegNext(hurries) init False

  /** Looks at a lane's head every cycle: 0 whose turn it is, 1 its place, 2 and 3 RAM and register, 4 whether it is due. */
  val looking = new Area {
    /** what is due cannot go in this cycle: all looks wait, or its lane would lose its turn */
    private val stalls = Bool()
    /** what goes along with a look */
    private def along(look: Bool): Bool = look && !stalls
    /** a look at a lane; `mask` is one-hot, or 0 */
    private class Stage extends Area {
      val valid = RegInit(False)
      val lane = Reg(UInt(laneWidth bits))
      val mask = Reg(Bits(laneCount bits)) init 0
      def takes(now: Bool, lanes: Bits, number: UInt): Unit = {
        when(!stalls) {
          valid := now
          mask := lanes & B(laneCount bits, default -> now)
        }
        when(along(now))(lane := number)
      }
      def follows(other: Stage, now: Bool): Unit = takes(now, other.mask, other.lane)
    }
    private val stages = Seq.fill(4)(new Stage)

    /** the lane that last had something due */
    val hot = Reg(Bits(laneCount bits)) init 1
    val isHot = RegInit(False)
    /** whose turn is next: in every second cycle the hot one's, else the one's behind the last */
    private val turn = RegInit(False)
    private val next, last = Reg(Bits(laneCount bits)) init 1
    private val round = OHMasking.roundRobin(used, last.rotateLeft(1))
    when(!asleep && !stalls) {
      turn := !turn
      next := (turn && isHot) ? hot | round
      when(!(turn && isHot) && used.orR)(last := round)
    }
    // a look may begin in the cycle of another's decision: it reads the new head
    private val begins = next & used & ~(stages(0).mask | stages(1).mask | stages(2).mask)
    stages(0).takes(begins.orR && !asleep, next, OHToUInt(next))

    private val head = heads.readAsync(stages(0).lane)
    private val holds = head =/= tails.readAsync(stages(0).lane)
    private val there = stages(0).valid && holds
    private val fills = UIntToOh(coming.lane) & B(laneCount bits, default -> coming.valid)
    // whether the lane holds something comes late
    used := used & (~stages(0).mask | B(laneCount bits, default -> holds)) | fills
    stages(1).follows(stages(0), there)
    private def follow[T <: Data](value: T, look: Bool): T = RegNextWhen(value, along(look))
    private val id1 = follow(head, there)
    private val read = waiting.readSync(head, along(there))
    stages(2).follows(stages(1), stages(1).valid)
    private val id2 = follow(id1, stages(1).valid)
    private val place2 = follow(read, stages(1).valid)
    stages(3).follows(stages(2), stages(2).valid)
    val id = follow(id2, stages(2).valid)
    val found = follow(place2, stages(2).valid)
    private val becomesDue = !(io.nowNs - place2.dueNs).msb
    val due = follow(becomesDue, stages(2).valid)
    val valid = stages(3).valid
    val lane = stages(3).lane
    /** It is due, or in a hurry; and none has just gone. In registers: many have to know in the same cycle that it goes, or that it stalls. */
    val may, opens = RegInit(False)
    private val again = due || hurries
    private val ready = stages(2).valid && (becomesDue || hurries)
    private val mayNext = stalls ? again | ready
    may := mayNext
    when(may) {
      hot := stages(3).mask
      isHot := True
    } elsewhen ((stages(3).mask & hot).orR)(isHot := False)

    /** one in three cycles */
    private val gone = RegNext(goes) init False
    // `mayNext`, for looks stall if one may and none goes
    opens := !goes && !gone && (may ? again | ready)
    goes := opens && io.popReady
    stalls := may && !goes
    heads.write(swept ? lane | sweep, swept ? found.next | sweep.resized, goes || !swept)
    free.back.io.push.valid := goes
    free.back.io.push.payload := id
    io.early := goes && !due
  }

  io.pop.valid := goes || passes
  io.pop.payload.allowOverride()
  io.pop.payload := io.push.arrival
  when(active) {
    io.pop.payload.assignSomeByName(looking.found)
    io.pop.transit := Transit.alone(c, looking.found.meta.length, looking.found.chain)
    io.pop.held := True
  }

  /** Nothing has come, and nothing was due, for 128 cycles: no lane is looked at before `wake`. `wake` is the earliest due time
    * of what was looked at in the last 64 of these, in which each lane had its turn.
    */
  val resting = new Area {
    private val calm = Reg(UInt(7 bits)) init 0
    private val best = Reg(c.time)
    /** 64 ns before `best` */
    private val before = Reg(c.time)
    private val some = RegInit(False)
    private val passed = RegNextWhen((best - io.nowNs).msb, active)
    private val soon = RegNextWhen((before - io.nowNs).msb, active)
    private val near = asleep && some && (passed || soon)
    private val disturbed = comes || coming.steps.passed.orR || looking.may || near || hurry && count =/= 0
    private val waits = looking.valid && !looking.due
    when(calm < 64) {
      some := False
    } elsewhen (waits && (!some || (looking.found.dueNs - best).msb)) {
      some := True
      best := looking.found.dueNs
      before := looking.found.dueNs - 64
    }
    when(!calm.andR)(calm := calm + 1)
    when(calm.andR)(asleep := True)
    when(disturbed) {
      asleep := False
      calm := 0
    }
    io.wake.valid := asleep && some
    io.wake.payload := best
    io.busy := active && !asleep
    io.turning := active || !asleep
  }
}

object Spacing {
  val waitWidth = 30
  val laneWidth = 4
  val laneCount = 1 << laneWidth
  /** of places */
  val idWidth = 10
  /** so many arrivals hurry those before them */
  val hurryAt = 768
  /** arrivals that fit, those on their way included: each lane has an empty place beside them */
  val places = (1 << idWidth) - laneCount
}
