package weir.policy
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The policy that accepts everything; the hard limit drops.
  *
  * Latency: the verdict is valid one cycle after the request. Throughput: one request a cycle. The evidence is 0.
  */
case class DropTail(c: WeirConfig) extends Component {
  val io = new Bundle {
    val request = slave(Flow(PolicyRequest(c)))
    val verdict = master(Flow(PolicyVerdict(c)))
  }
  noIoPrefix()

  val answered = RegNext(io.request.valid) init False
  io.verdict.valid := answered
  io.verdict.action := Action.accept
  io.verdict.cause := Cause.none
  io.verdict.evidence.assignFromBits(B(0, io.verdict.evidence.getBitsWidth bits))
}
