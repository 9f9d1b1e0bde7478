package weir.policy.compact
import Condition._
import weir.control.registers.RegisterMap
import weir.policy.DtEcn

/** DT-ECN's decision (docs/modules/dt-ecn.md). */
class DtEcnProgram extends PolicyProgram(DtEcn) {
  import DtEcnProgram._

  entry(policy.name) // (q with the arrival)·2^4
  step(flags = flags)
  step(acc = Input.quantity)
  step(acc = Sum.shift, x = Input.length)
  step("in bytes L, else 1", p = unit(0))
  step(acc = Acc + P, when = bytes)
  step(acc = Acc + unit, when = !bytes)
  step(acc = Acc - threshold)
  step(effect = Effect.Force, when = !Negative)
  step(acc = Const(BigInt(1) << 32), when = !Negative)
  step("p is 1, or nothing", tell = Evidence.Probability, when = !Negative)
  step(effect = Effect.Verdict)
  step(effect = Effect.Done)

  override def clear(s: Program): Unit = ()

  override def prepare(s: Program): Unit = {
    s.step("DT-ECN: threshold·2^4", x = Raw(DtEcn.registers.head))
    s.step(p = unit(0))
    s.step(acc = Sum(Zero, minus = false, P))
    s.step(store = threshold, acc = Const(1))
    s.step("unit 0 and 3 are bytes", flags = policyRegister)
    s.step(acc = Acc - Const(1), when = unitBit(0))
    s.step(acc = Acc - Const(1), when = unitBit(1))
    s.step(acc = Const(1), when = Negative)
    s.step("what is not ECT is accepted", acc = Acc + Const((1 << Flag.ecn) + (1 << Flag.noDrop)))
    s.step(store = flags)
  }
}

object DtEcnProgram {
  private val unit = Const(16)
  private val bytes = Flag("bytes", 0)
  private val flags = State("dtFlags")
  private val threshold = State("threshold")
  private val policyRegister = Raw(RegisterMap.queue("POLICY"))
  private def unitBit(n: Int): Flag = Flag(s"unit$n", policyRegister.register.field("UNIT").low + n)
}
