package weir.aqm

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The deadlines of a policy's ticks, one a queue, looked at one after the other (docs/modules/pie.md, Deadlines).
  *
  * A queue is awake or asleep; only one that is awake has a deadline: the time it was awoken plus its interval, then an
  * interval later each. A tick that is late by an interval or more starts the deadlines anew: ticks that were missed are not made up for.
  *
  * Timing: a deadline is looked at every 5·Q cycles; `due` comes at most 5·Q + 5 cycles after it has passed, if the tick
  * unit is free. `wake` follows a change within two rounds, in which `busy` is high. At reset every queue is asleep.
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
  val bases = Vec.fill(c.queues)(Reg(c.time))
  io.awake := awake.asBits

  val turn = Reg(c.queueId) init 0
  val phase = Reg(UInt(3 bits)) init 0
  io.turn := turn
  private def of(bits: Bits): Bool = PerQueue.bit(bits, turn)

  /** It has been restarted since its base was read. A restart in phase 4 is the tick unit's to see. */
  val killed = Reg(Bool()) init False
  when(of(io.restart))(killed := True)

  /** phase 0 */
  val live = Reg(Bool())
  val base = Reg(c.time)
  val interval = Reg(UInt(32 bits))
  when(phase === 0) {
    live := PerQueue(awake, turn) && of(io.selected)
    base := PerQueue(bases, turn)
    interval := Mux(io.interval < TickTimer.least, U(TickTimer.least, 32 bits), io.interval)
    killed := of(io.restart)
  }
  /** phases 1 to 3 */
  val deadline = RegNextWhen(base + interval, phase === 1)
  val looked = RegNextWhen(io.nowNs, phase === 2)
  val late = RegNextWhen(io.nowNs - deadline, phase === 2)
  val best = Reg(c.time)
  val found = Reg(Bool()) init False
  val gap = RegNextWhen(deadline - best, phase === 2)
  val far = RegNextWhen(late >= interval.resized, phase === 3)
  /** phase 4 */
  private val current = live && !killed && PerQueue(awake, turn)
  io.due.valid := phase === 4 && current && !late.msb
  io.due.payload.queue := turn
  io.due.payload.nowNs := looked
  io.period := interval
  private val advance = phase === 4 && (!io.due.valid || io.due.ready)
  private val last = turn === c.queues - 1
  // while the tick unit is busy, look at the time again
  phase := Mux(phase === 4, U(2, 3 bits), phase + 1)
  when(advance) {
    phase := 0
    turn := turn + 1
    when(last)(turn := 0)
  }

  private val roused = io.rouse & ~awake.asBits
  for (q <- 0 until c.queues) {
    when(io.due.fire && turn === q)(bases(q) := Mux(far, looked, deadline))
    when(io.sleep(q) && !io.rouse(q))(awake(q) := False)
    when(io.restart(q) || roused(q)) {
      awake(q) := True
      bases(q) := io.nowNs
    }
  }

  /** The earliest deadline of a round; `wake` is right if nothing has changed since the round began. */
  val rounds = new Area {
    val better = current && (!found || gap.msb)
    val any = found || better
    val earliest = Mux(better, deadline, best)
    val valid = RegInit(False)
    val time = Reg(c.time)
    when(advance) {
      found := any
      best := earliest
      when(last) {
        found := False
        valid := any
        time := earliest
      }
    }
    val changed = (io.restart | roused | io.sleep).orR || io.due.fire || io.selected =/= RegNext(io.selected)
    val stale = RegInit(True)
    val disturbed = RegInit(True)
    when(advance && last) {
      stale := disturbed
      disturbed := False
    }
    when(changed) {
      stale := True
      disturbed := True
    }
  }
  io.wake.valid := rounds.valid
  io.wake.payload := rounds.time
  io.busy := rounds.stale
}

object TickTimer {
  /** the shortest interval, ns: longer than the ticks of four queues take */
  val least = 4096
}
