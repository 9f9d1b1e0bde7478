package weir

import weir.policy.Policy

/** Cores that leave policies out, as a preset may: no presets themselves. A policy that another one
  * [[Policy.needs]] comes and goes with that.
  */
object Reduced {
  private val every = Policy.all.toSet

  /** `policy` and all that it needs */
  private def closure(policy: Policy): Set[Policy] = policy.needs.flatMap(closure) + policy
  private def without(policy: Policy) = every.filterNot(closure(_).contains(policy))

  private def core(name: String, queues: Int, policies: Set[Policy]) =
    WeirConfig(name, queues = queues, cells = 4096, descriptors = 4096, policies = policies + Policy.DropTail, traceDepth = 16)

  /** Cores that traffic is sent through: without RED the fast policies answer earlier; `red` is `ten-gig` with RED alone; `network` and `network-jumbo` are the bottlenecks
    * of simulated networks (docs/ns3.md), with what the papers' queues need and no more, since each cycle of them is evaluated.
    */
  val run: Seq[WeirConfig] = Seq(
    core("no-red", 4, without(Policy.Red)),
    core("drop-tail-fn", 4, Set(Policy.Fn)),
    core("drop-tail-codel", 4, Set(Policy.Codel)),
    core("red", 4, Set(Policy.Red)).copy(cells = 2048, descriptors = 2048),
    core("network", 1, Set(Policy.Red, Policy.DtEcn, Policy.Isred, Policy.Fn)).copy(cells = 16384, descriptors = 16384),
    core("network-jumbo", 1, Set(Policy.Red)).copy(cells = 16384, descriptors = 16384, jumbo = true, flowSlots = 1024)
  )

  /** Cores that are elaborated: with all policies but one, with one of them, with none, without a trace. They have one queue, the least there is. */
  val elaborated: Seq[WeirConfig] = {
    val others = Policy.all.filterNot(_ == Policy.DropTail)
    val none = core("none", 1, Set.empty)
    others.map(p => core(s"without-${p.name}", 1, without(p))) ++ others.map(p => core(s"only-${p.name}", 1, closure(p))) ++
      Seq(none, none.copy(name = "none-jumbo", jumbo = true), core("all-jumbo", 1, every).copy(jumbo = true),
        core("all-untraced", 1, every).copy(jumbo = true, traceDepth = 0))
  }
}
