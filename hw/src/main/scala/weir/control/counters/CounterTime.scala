package weir.control.counters
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** What counts time, and what waits: in the clock `steady`, of which a cycle is one. */
class CounterTime(c: WeirConfig, io: CounterPorts, clear: Bool, steady: ClockDomain) extends ClockingArea(steady) {
  private val now = RegNext(io.now)
  private val before = RegNext(now)
  private val held = RegNext(RegNext(io.throttled) init False) init False
  /** ns since the cycle before, if the shaper held a backlog then; time may jump */
  private val passed = RegNextWhen(now - before, held)
  private def counter(counts: Bool, amount: UInt): UInt = {
    val live = Reg(UInt(64 bits)) init 0
    when(counts)(live := live + amount)
    when(clear)(live := 0)
    live
  }
  val throttled = counter(RegNext(held) init False, passed)
  val uptime = counter(Delay(True, 2, init = False), U(1))
  /** as they were in the cycle of the pulse: the counters hold its events three cycles later */
  val packets = Delay(io.spaced.resize(32) @@ io.queued.resize(32), 3)
}
