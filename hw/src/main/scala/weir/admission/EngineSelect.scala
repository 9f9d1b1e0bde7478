package weir.admission
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.control.registers.QueueConfig
import weir.policy.Policy
import weir.policy.red.RedFamily

/** Which engine serves a queue, and which queues decide at departure: two cycles after a queue's words have changed. */
class EngineSelect(c: WeirConfig) extends Component {
  val io = new Bundle {
    val queues = in(Vec(QueueConfig(c), c.queues))
    /** the words of a queue may have changed */
    val renewed = in Bool ()
    /** of each queue, one bit each */
    val engine = out(Vec(Bits(c.engines.size bits), c.queues))
    /** it runs a policy of the RED family */
    val family = out(Bits(c.queues bits))
    /** its policy decides at departure */
    val decides = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private def runs(q: Int, policies: Iterable[Policy]): Bool =
    policies.toSeq.sortBy(_.id).map(io.queues(q).policy === _.id).foldLeft(False: Bool)(_ || _)
  private def among(kind: Policy => Boolean): Bits = B((0 until c.queues).map(runs(_, c.policies.filter(kind))))

  private val renewed = RegNext(io.renewed) init True
  for (q <- 0 until c.queues)
    io.engine(q) := RegNextWhen(Cat(c.engines.map(e => runs(q, c.servedBy(e)))), renewed)
  io.family := RegNextWhen(among(_.engine.contains(RedFamily)), renewed)
  io.decides := RegNextWhen(among(_.atDeparture), renewed)
}
