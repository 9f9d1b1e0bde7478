package weir.control
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Tells when nothing moves but time, and the earliest deadline. Every stage has been idle then for longer than any
  * pipeline is.
  *
  * @param stages    stages that tell of their work
  * @param deadlines timers of all stages: ticks, parked groups, spacings, the shaper while it holds packets back
  */
class IdleDetector(c: WeirConfig, stages: Int, deadlines: Int) extends Component {
  val io = new Bundle {
    /** as it comes from outside, and a cycle later */
    val nowNext, nowNs = in(c.time)
    val busy = in(Bits(stages bits))
    /** the host is at work */
    val accessed = in Bool ()
    val wake = Vec(slave(Flow(c.time)), deadlines)
    /** no stage moves; and no access is carried out */
    val still, quiet = out Bool ()
    /** the next deadline, or a time that has passed if there is none */
    val wakeNs = out(c.time)
    /** a deadline is less than 64 ns away, or has just passed */
    val near = out Bool ()
  }
  noIoPrefix()

  /** The earliest, looked for one after the other; the core is quiet long after the last one has moved. */
  val earliest = (deadlines > 1) generate new Area {
    val turn = Counter(deadlines)
    turn.increment()
    val valid = RegNext(Vec(io.wake.map(_.valid))(turn.value)) init False
    val time = RegNext(Vec(io.wake.map(_.payload))(turn.value))
    val first = RegNext(turn.value === 0) init False
    val best = Reg(UInt(c.timeWidth bits))
    val found = RegInit(False)
    val better = valid && (first || !found || (time - best).msb)
    when(first)(found := valid)
    when(better) {
      best := time
      found := True
    }
    val limited = RegNextWhen(found, first) init False
    val wake = RegNextWhen(best, first)
  }
  val limited = if (deadlines > 1) earliest.limited else RegNext(io.wake(0).valid) init False
  private val passed = io.nowNs - 2
  val wake =
    if (deadlines > 1) RegNext(limited ? earliest.wake | passed) init 0
    else RegNext(io.wake(0).valid ? io.wake(0).payload | passed) init 0
  /** As of the cycle that `nowNs` is of. The deadline is so near, or so lately past, that its owner is about to act. It
    * takes some cycles to do so, in which `moving` follows, so that there is no gap between this and the act.
    */
  val distance = RegNext(wake - io.nowNext) init 0
  io.near := limited && (distance.msb || distance < 64)
  private val acts = RegNext(io.near) init False

  /** Nothing for 32 cycles. */
  private class Settled(active: Bool) extends Area {
    val idle = Reg(UInt(6 bits)) init 0
    when(active)(idle := 0) elsewhen (!idle.msb)(idle := idle + 1)
    val quiet = RegNext(idle.msb && !active) init False
  }
  /** a register each: what stages tell has far to go */
  val moving = (io.busy.asBools :+ acts).map(RegNext(_) init True).orR
  private val host = RegNext(io.accessed) init True
  private val path = new Settled(moving)
  private val all = new Settled(moving || host)
  io.still := path.quiet && !io.near
  io.quiet := all.quiet && !io.near
  io.wakeNs := wake
}
