package weir.policy

import weir.WeirConfig
import weir.control.registers.Register
import weir.control.trace.{TraceField, TraceKind, TracePart}
import weir.policy.pi.{Pi2Engine, PieEngine}
import weir.policy.red.RedFamily

/** A unit of hardware that serves one policy, or several that share their arithmetic. */
abstract class PolicyEngine(val name: String) {
  /** The unit for a build; it knows from `c.policies` which of its policies it has to serve. */
  def build(c: WeirConfig): PolicyUnit
  /** The unit may stand still while no queue has selected it: see [[weir.policy.GatedEngine]]. */
  def rests: Boolean = true
  /** Cycles by which the verdict of an arrival that finds its queue empty comes later; it always accepts. 0: it is
    * awaited like every other. Only one engine may defer, RED's family.
    */
  def afterwards: Int = 0
}

/** What a picture shows of a policy. */
sealed abstract class Plot(val text: String)

object Plot {
  /** the queue alone */
  case object Queue extends Plot("queue")
  /** the average, with the queue */
  case object Average extends Plot("average")
  /** the probability of arrivals, below it */
  case object Probability extends Plot("p")
  /** the sojourn time, below it */
  case object Sojourn extends Plot("sojourn")
}

/** A queue management policy that a build can contain. How to add one: docs/adding-a-policy.md.
  *
  * @param id      value of the policy field of a queue's POLICY register, and its bit in FEATURES
  * @param name    as tools name it
  * @param latency cycles from a request to its verdict; more than [[Policy.fast]] are awaited apart from the others
  */
abstract class Policy(val id: Int, val name: String, val latency: Int) {
  /** the unit that decides; none if the hard limits are all there is */
  def engine: Option[PolicyEngine]
  /** one line for people, and where it comes from */
  def help: String
  def source: String
  /** by what it decides, and when */
  def acts: String
  /** what a picture shows of it beside the queue: [[Plot]] */
  def plot: Plot = Plot.Queue
  /** for the page of `make demo`: settings for a link of 1 Gbit/s as weirctl takes them, and what the plot shows */
  def demo: Option[(String, String)] = None
  /** settings with which it acts upon a queue that stands at 10 Gbit/s, by marks: for `make bench` */
  def bench: String = ""
  /** what a host sets, in natural units, beside what every queue has and what those of `needs` have */
  def parameters: Seq[Parameter] = Nil
  /** its group in a queue's register block */
  def registers: Seq[Register]
  /** the unit answers departures too */
  def atDeparture: Boolean = false
  /** what the records of its ticks tell, in [[weir.control.trace.TraceRecord.state]] */
  def tickState: Seq[TraceField] = Nil
  /** what the records of its arrivals tell otherwise than their fields say */
  def evidence: String = ""
  /** policies whose registers it uses: a build with it has them too */
  def needs: Set[Policy] = Set.empty

  /** A field of its ticks' records. */
  protected def tick(name: String, meaning: String, fraction: Int = 0)(parts: TracePart*): TraceField =
    TraceField(name, Seq(TraceKind.Tick), parts, meaning, fraction)
}

object Policy {
  /** the most cycles from request to verdict for a policy that is not slow */
  val fast = 10

  case object DropTail extends Policy(0, "drop-tail", 1) {
    val help = "drops what does not fit; as `drop-front`, from the head (front on)"
    val source = "tc-bfifo(8), tc-pfifo_head_drop(8)"
    val acts = "the hard limits"
    val engine: Option[PolicyEngine] = None
    val registers: Seq[Register] = Nil
  }
  // those that presets and units ask for by name
  lazy val Red: Policy = RedFamily.Red
  lazy val DtEcn: Policy = weir.policy.DtEcn
  lazy val Isred: Policy = RedFamily.Isred
  lazy val Fn: Policy = fn.Fn.Policy
  lazy val Ared: Policy = RedFamily.Ared
  lazy val Codel: Policy = codel.Codel

  /** Every policy there is, in order of number. */
  lazy val all: Seq[Policy] = Seq(
    DropTail,
    RedFamily.Red,
    weir.policy.DtEcn,
    RedFamily.Isred,
    fn.Fn.Policy,
    RedFamily.Ared,
    PieEngine.Pie,
    codel.Codel,
    Pi2Engine.Pi2
  )
}
