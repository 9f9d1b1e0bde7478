package weir.aqm

import spinal.core._
import spinal.lib._
import weir.{PolicyEngine, WeirConfig}

/** An engine's unit that rests while it has nothing to do: no queue has selected it, none is
  * being configured, and it is not `attentive`. It rests after [[Resting.linger]] cycles of that. In the cycle model it stands still then, by a clock
  * enable; in hardware its clock goes on, for the enable would be a LUT before most of its flip-flops.
  *
  * What it misses is of no consequence: requests and departures are those of queues that have selected it, and the
  * apply that selects it later clears the queue's state. Resting, its outputs are "nothing"; awake, they are the unit's.
  */
class Resting(c: WeirConfig, engine: PolicyEngine) extends PolicyUnit(c) {
  /** a register by itself: in the cycle model it enables thousands of others */
  private val awake = RegInit(True)

  val unit: PolicyUnit = Resting.clock(c, awake)(engine.build(c))
  unit.setDefinitionName(engine.name.capitalize + "Unit")
  for ((inside, outside) <- unit.io.flatten.zip(io.flatten)) {
    if (inside.isInput) inside := outside
    else outside := inside
  }
  when(!awake) {
    io.verdict.valid := False
    io.departureVerdict.valid := False
    io.wake.valid := False
    io.busy := False
    io.tick.valid := False
    io.turning := False
  }

  private val disturbed = io.copying || io.selected.orR || unit.io.busy || unit.io.wake.valid || unit.io.attentive
  /** a disturbance comes late: it sets no more than this and `awake`, the count begins with it a cycle later */
  private val restarts = RegNext(disturbed) init False
  private val counted = Reg(UInt(log2Up(Resting.linger) + 1 bits)) init 0
  private val count = restarts ? U(0) | counted
  when(awake)(counted := count + 1)
  when(disturbed) {
    awake := True
  } elsewhen (awake) {
    awake := !count.msb
    io.turning := True
  }
}

object Resting {
  /** longer than any work goes on that is not told of by `busy` */
  val linger = 512

  /** The current clock; in the cycle model it stands still without `enable`, but for a reset. */
  def clock(c: WeirConfig, enable: Bool): ClockDomain = {
    val current = ClockDomain.current
    if (c.gated) current.copy(clockEnable = enable || current.isResetActive) else current
  }

  /** The unit of an engine; one that has to know of every queue at all times never rests. */
  def unit(c: WeirConfig, engine: PolicyEngine): PolicyUnit =
    if (engine.rests) new Resting(c, engine) else engine.build(c)
}
