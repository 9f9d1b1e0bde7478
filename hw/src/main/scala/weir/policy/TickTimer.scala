package weir.policy
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.PerQueue

/** The deadlines of a policy's ticks, one a queue, looked at one after the other (docs/modules/pie.md, Deadlines).
  *
  * A queue is awake or asleep; only one that is awake has a deadline: the time it was awoken plus its interval, then an
  * interval later each. A tick that is late by an interval or more starts the deadlines anew: ticks that were missed are not made up for.
  *
  * Timing: a deadline is looked at every 5·Q + 1 cycles, three more for each start; `due` comes at most
  * 5·Q + 6 cycles after it has passed, if the tick unit is free and no queue starts. `wake` follows a change within two
  * rounds, in which `busy` is high. Queues that start in the same cycle are followed by other starts no sooner than one cycle
  * for each of them later. At reset every queue is asleep.
  */
class TickTimer(c: WeirConfig) extends Component {
  val io = new Bundle {
    val nowNs = in(c.time)
    /** the queue that is looked at */
    val turn = out(c.queueId)
    /** its interval, ns; less than [[TickTimer.least]] is taken as that */
    val interval = in(UInt(32 bits))
    /** queues that have ticks */
    val selected = in(Bits(c.queues bits))
    /** the deadlines of a queue start now */
    val restart = in(Bits(c.queues bits))
    /** if it is asleep, its deadlines start now */
    val rouse = in(Bits(c.queues bits))
    /** its deadlines end, unless it is restarted or roused at this very time */
    val sleep = in(Bits(c.queues bits))
    val awake = out(Bits(c.queues bits))
    /** a tick is to be carried out, with the time at which that was found; taken, its next deadline is set */
    val due = master(Stream(QueueTime(c)))
    /** the interval of its queue */
    val period = out(UInt(32 bits))
    /** the earliest deadline, of a time when `busy` was low */
    val wake = master(Flow(c.time))
    val busy = out Bool ()
  }
  noIoPrefix()

  val awake = Vec.fill(c.queues)(RegInit(False))
  /** when the interval began that ends at the queue's next deadline */
  val bases = Mem(c.time, c.queues max 2)
  io.awake := awake.asBits

  val turn = Reg(c.queueId) init 0
  val phase = Reg(UInt(3 bits)) init 0
  io.turn := turn
  private def of(bits: Bits): Bool = PerQueue.bit(bits, turn)

  private val roused = io.rouse & ~awake.asBits
  private val starting = io.restart | roused
  /** queues that have started at `stamp`; their bases are written one after the other */
  val started = Reg(Bits(c.queues bits)) init 0
  private val writes = started.orR
  private val written = OHMasking.first(started)
  started := (started & ~written) | starting
  /** the time that is looked at, or that of a start */
  val stamp = RegNextWhen(io.nowNs, phase === 2 && !writes || starting.orR)

  /** Its base is not the one that was read. A restart in phase 4 is the tick unit's to see. */
  val killed = Reg(Bool()) init False
  when(of(io.restart))(killed := True)

  /** phase 0 */
  val live = Reg(Bool())
  val base = Reg(c.time)
  val interval = Reg(UInt(32 bits))
  when(phase === 0) {
    live := PerQueue(awake, turn) && of(io.selected)
    base := bases.readAsync(turn.resized)
    interval := io.interval
    when(io.interval(31 downto log2Up(TickTimer.least)) === 0)(interval := TickTimer.least)
    killed := of(io.restart | started)
  }
  /** phases 1 to 3 */
  val deadline = RegNextWhen(base + interval, phase === 1)
  val late = RegNextWhen(io.nowNs - deadline, phase === 2)
  val best = Reg(c.time)
  val found = Reg(Bool()) init False
  val gap = RegNextWhen(deadline - best, phase === 2)
  val far = RegNextWhen(late(46 downto 32) =/= 0 || late(31 downto 0) >= interval, phase === 3)
  /** phase 4 */
  private val current = live && !killed && PerQueue(awake, turn)
  io.due.valid := phase === 4 && current && !late.msb
  io.due.payload.queue := turn
  io.due.payload.nowNs := stamp
  io.period := interval
  private val advance = phase === 4 && (!io.due.valid || io.due.ready)
  private val last = turn === c.queues - 1
  /** phase 5, at the end of a round */
  private val ends = phase === 5
  phase := phase + 1
  // while the tick unit is busy, or a start has taken the stamp, look at the time again
  when(phase === 4 || phase === 2 && writes || phase === 3 && (writes || starting.orR))(phase := 2)
  when(advance) {
    phase := Mux(last, U(5, 3 bits), U(0, 3 bits))
    turn := turn + 1
    when(last)(turn := 0)
  }
  when(ends)(phase := 0)

  // no base is to be written when a tick is due: it would not have come to phase 4
  bases.write(Mux(writes, OHToUInt(written), turn).resized, Mux(writes || far, stamp, deadline), writes || io.due.fire)
  for (q <- 0 until c.queues) {
    when(io.sleep(q) && !io.rouse(q))(awake(q) := False)
    when(starting(q))(awake(q) := True)
  }

  /** The earliest deadline of a round; `wake` is right if nothing has changed since the round began. */
  val rounds = new Area {
    val valid = RegInit(False)
    val time = RegNextWhen(best, ends)
    when(advance && current && (!found || gap.msb)) {
      found := True
      best := deadline
    }
    when(ends) {
      found := False
      valid := found
    }
    val changed = (starting | io.sleep).orR || io.due.fire || io.selected =/= RegNext(io.selected)
    val stale = RegInit(True)
    val disturbed = RegInit(True)
    when(ends) {
      stale := disturbed
      disturbed := False
    }
    when(changed) {
      stale := True
      disturbed := True
    }
  }
  /** Nothing to look at: the rounds stop where they begin, so that a unit whose clock has stood still meanwhile goes on as one whose has not. */
  when(phase === 0 && turn === 0 && io.selected === 0 && !rounds.stale)(phase := 0)

  io.wake.valid := rounds.valid
  io.wake.payload := rounds.time
  io.busy := rounds.stale
}

object TickTimer {
  /** the shortest interval, ns, a power of two: at 156.25 MHz longer than the ticks of four queues take */
  val least = 4096
}
