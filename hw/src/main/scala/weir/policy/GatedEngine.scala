package weir.policy
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.ClockGate

/** An engine's unit that rests while it has nothing to do: no queue has selected it, none is being configured, and it
  * is not `attentive`. It rests after [[GatedEngine.linger]] cycles of that. It has a clock of its own
  * ([[ClockGate]]), which the cycle model stops meanwhile.
  *
  * What it misses is of no consequence: requests and departures are those of queues that have selected it, and the
  * apply that selects it later clears the queue's state. Resting, its outputs are "nothing"; awake, they are the unit's.
  */
class GatedEngine(c: WeirConfig, engine: PolicyEngine) extends PolicyUnit(c) {
  private val awake = RegInit(True)

  val unit: PolicyUnit = GatedEngine.clock(engine.name, awake)(engine.build(c))
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
  private val counted = Reg(UInt(log2Up(GatedEngine.linger) + 1 bits)) init 0
  private val count = restarts ? U(0) | counted
  when(awake)(counted := count + 1)
  when(disturbed) {
    awake := True
  } elsewhen (awake) {
    awake := !count.msb
    io.turning := True
  }
}

object GatedEngine {
  /** longer than any work goes on that is not told of by `busy` */
  val linger = 512

  /** The current clock, which may stand still without `run`, but for a reset. */
  def clock(unit: String, run: Bool): ClockDomain = {
    val current = ClockDomain.current
    val gate = new ClockGate(s"packet_$unit")
    gate.runs(run || current.isResetActive)
    gate(current)
  }

  /** The unit of an engine; one that has to know of every queue at all times never rests. */
  def unit(c: WeirConfig, engine: PolicyEngine): PolicyUnit =
    if (engine.rests) new GatedEngine(c, engine) else engine.build(c)
}
