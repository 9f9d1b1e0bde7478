package weir

import weir.aqm.PolicyUnit
import weir.csr.Register

/** A unit of hardware that serves one policy, or several that share their arithmetic. */
abstract class PolicyEngine(val name: String) {
  /** The unit for a build; it knows from `c.policies` which of its policies it has to serve. */
  def build(c: WeirConfig): PolicyUnit
  /** The unit may stand still while no queue has selected it: see [[aqm.Resting]]. */
  def rests: Boolean = true
  /** Cycles by which the verdict of an arrival that finds its queue empty comes later; its action is always to accept. 0: it is awaited like
    * every other.
    */
  def afterwards: Int = 0
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
  /** its group in a queue's register block */
  def registers: Seq[Register]
  /** the unit answers departures too */
  def atDeparture: Boolean = false
  /** policies whose registers it uses: a build with it has them too */
  def needs: Set[Policy] = Set.empty
}

object Policy {
  /** the most cycles from request to verdict for a policy that is not slow */
  val fast = 10

  case object DropTail extends Policy(0, "drop-tail", 1) {
    val engine: Option[PolicyEngine] = None
    val registers: Seq[Register] = Nil
  }
  // those that presets and units ask for by name
  lazy val Red: Policy = aqm.RedFamily.Red
  lazy val DtEcn: Policy = aqm.DtEcn
  lazy val Isred: Policy = aqm.RedFamily.Isred
  lazy val Fn: Policy = aqm.Fn.Policy
  lazy val Ared: Policy = aqm.RedFamily.Ared
  lazy val Codel: Policy = aqm.Codel

  /** Every policy there is, in order of number. */
  lazy val all: Seq[Policy] = Seq(
    DropTail,
    aqm.RedFamily.Red,
    aqm.DtEcn,
    aqm.RedFamily.Isred,
    aqm.Fn.Policy,
    aqm.RedFamily.Ared,
    aqm.PieEngine.Pie,
    aqm.Codel,
    aqm.Pi2Engine.Pi2
  )
}
