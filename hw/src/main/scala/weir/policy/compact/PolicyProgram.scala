package weir.policy.compact

import weir.policy.Policy

/** A policy as a program: its entry has the policy's name. */
abstract class PolicyProgram(val policy: Policy) extends Program(policy.name) {
  override def decides: Boolean = true
  /** Steps that let the queue's state start anew. */
  def clear(startup: Program): Unit
  /** Steps that prepare what the decision needs from the registers as written. */
  def prepare(startup: Program): Unit
}

/** What is run for one queue after a reset, at a change of its policy or unit, and at every apply. */
class Startup(policies: Seq[PolicyProgram]) extends Program("startup") {
  entry(Startup.reset)
  step("idle since 0", acc = Sum.clear)
  step(store = Startup.idleSince)
  entry(Startup.clear)
  policies.foreach(_.clear(this))
  entry(Startup.prepare)
  policies.foreach(_.prepare(this))
  step(effect = Effect.Done)
}

object Startup {
  val reset = "reset"
  val clear = "clear"
  val prepare = "prepare"

  /** when the queue's last packet left, or when a request last found the queue empty; departures write it, too */
  val idleSince = State("idleSince")
}

/** The programs of a build. */
object Programs {
  def policies: Seq[PolicyProgram] = Seq(new RedProgram, new DtEcnProgram, new DropTailProgram)
  def apply(): Image = {
    val programs = policies
    new Image(new Startup(programs) +: programs)
  }
}
