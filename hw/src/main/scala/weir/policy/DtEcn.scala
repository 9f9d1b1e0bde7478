package weir.policy
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.PerQueue
import weir.control.registers.{ConfigWrite, LiveWords, QueueUnit, Register, Value}
import weir.control.registers.Registers._
import weir.policy.Parameters.amount

/** DT-ECN: Drop-Tail that marks ECT packets above a threshold (docs/modules/dt-ecn.md). */
object DtEcn extends Policy(2, "dt-ecn", 2) {
  val help = "drops what does not fit, and marks ECT packets above a threshold"
  val source = "DT-ECN: Drop-Tail with a marking threshold"
  val acts = "arrival, instantaneous queue"
  override val demo: Option[(String, String)] = Some((
    "limit 100KB utilisation 30%",
    "Marks every ECN-capable packet above 30 % of the limit."))
  override val bench = "utilisation 0.5%"
  override val parameters: Seq[Parameter] = Seq(
    Parameter("utilisation", ParameterKind.Percent, "%", 0, 100, "50", "DT-ECN", "threshold in per cent of the limit",
      "or give threshold instead", optional = true),
    amount("threshold", 0, "limit*utilisation/100", "DT-ECN",
      "queue, with the arrival, from which ECT packets are marked; rounded up; over utilisation",
      "or give utilisation instead"))
  val engine: Option[PolicyEngine] = Some(DtEcnEngine)
  val registers: Seq[Register] = Seq(
    shadow("DTECN_THRESHOLD", 0x070, 22, Value((1 << 22) - 1),
      "ECT packets are marked when the queue with them holds this much or more, in the queue's unit"))
}

object DtEcnEngine extends PolicyEngine("dtEcn") {
  def build(c: WeirConfig): PolicyUnit = new DtEcn(c)
}

/** DT-ECN's decision.
  *
  * Latency: two cycles, delayed to that of the build's fast policies. Throughput: one a cycle. There is no state.
  */
class DtEcn(c: WeirConfig) extends PolicyUnit(c) {
  private val words = new LiveWords(c, DtEcn.registers, ConfigWrite.later(io.config))

  /** the queue with the arrival */
  val t0 = new Area {
    private def plusOne(count: UInt): UInt = (count +^ U(1)).resize(22)
    val held = PerQueue(io.unit, io.request.queue).mux(
      QueueUnit.packets -> plusOne(io.request.packets),
      QueueUnit.frames -> plusOne(io.request.frames),
      default -> (io.request.bytes +^ io.request.length.resize(c.quantityWidth))
    )
    val threshold = words("DTECN_THRESHOLD", io.request.queue).asUInt
  }

  val t1 = new Area {
    val valid = RegNext(io.request.valid) init False
    val held = RegNextWhen(t0.held, io.request.valid)
    val threshold = RegNextWhen(t0.threshold, io.request.valid)
    val ect = RegNextWhen(io.request.ecn === Ecn.ect0 || io.request.ecn === Ecn.ect1, io.request.valid)
    val above = held >= threshold
  }

  val answer = new Area {
    val valid = Delay(t1.valid, c.fastLatency - 1, init = False)
    val above = Delay(t1.above, c.fastLatency - 1)
    val ect = Delay(t1.ect, c.fastLatency - 1)
  }
  io.verdict.valid := answer.valid
  when(answer.above) {
    io.verdict.cause := Cause.forced
    io.verdict.evidence.probability := BigInt(1) << 32
    when(answer.ect)(io.verdict.action := Action.mark)
  }
}
