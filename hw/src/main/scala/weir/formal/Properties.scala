package weir.formal
import spinal.core._
import spinal.core.formal._

/** What all property components have in common. They have no ports but `clk` and `rst`: the solver chooses what the
  * environment does, within what is assumed.
  *
  * @param resets reset may come again at any time. Without it nothing is left out where reset clears all but RAMs: what
  *               these hold is arbitrary at the start
  * @param boots  the first cycle is in reset; else the component says where it starts, and there is no reset
  */
abstract class Properties(resets: Boolean = false, boots: Boolean = true) extends Component {
  val running = !ClockDomain.current.isResetActive
  /** there was no reset in this cycle nor in the one before */
  val settled = (RegNext(True) init False) && running
  assumeInitial(if (boots) ClockDomain.current.isResetActive else running)
  private val started = ClockDomain.current.withBootReset()(RegNext(True) init False)
  if (!resets) assume(running || !started)

  /** A signal inside a block that its Scala keeps private, by the name it has in Verilog. */
  protected def inner[T <: BaseType](block: Component, name: String): T = {
    var found: Option[BaseType] = None
    block.dslBody.foreachStatements {
      case signal: BaseType if signal.getName() == name => found = Some(signal)
      case _ =>
    }
    require(found.nonEmpty, s"${block.getClass.getSimpleName} has no signal '$name'")
    found.get.asInstanceOf[T].pull()
  }

  /** A value that the solver chooses anew in every cycle. */
  protected def any[T <: Data](hard: T): T = { val value = hard; anyseq(value); value }

  /** A value that the solver chooses once. */
  protected def some[T <: Data](hard: T): T = { val value = hard; anyconst(value); value }

  /** `value` in the cycle before, which is in reset if not `settled` */
  protected def before[T <: Data](value: T): T = RegNext(value)
}
