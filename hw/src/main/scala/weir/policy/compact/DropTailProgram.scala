package weir.policy.compact

import weir.policy.Policy

/** Accepts everything: the hard limits drop. */
class DropTailProgram extends PolicyProgram(Policy.DropTail) {
  entry(policy.name)
  step(effect = Effect.Verdict)
  step(effect = Effect.Done)

  override def clear(s: Program): Unit = ()
  override def prepare(s: Program): Unit = ()
}
