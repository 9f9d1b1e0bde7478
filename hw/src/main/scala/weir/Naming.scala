package weir
import scala.collection.mutable

import spinal.core._
import spinal.core.internals._

/** Names the signals that have no name in Scala (values inside functions, registers of an expression) by what they
  * drive and what they are: `held_sum`, `ram_port_bits`, `when_left_reg`.
  *
  * What is called `_zz_…` in the Verilog after that is a part of one expression: Verilog widens an expression, or takes
  * bits of it, only if it is a wire. Names of the Scala come first: none of them changes.
  */
class Naming extends PhaseMisc {
  override def impl(pc: PhaseContext): Unit = pc.walkComponentsExceptBlackbox(Naming.name)
}

object Naming {
  /** The configuration with this phase before that of SpinalHDL which gives names. */
  def apply(config: SpinalConfig): SpinalConfig = {
    config.phasesInserters += (all => all.insert(all.indexWhere(_.isInstanceOf[PhasePropagateNames]), new Naming))
    config
  }

  /** A part of the name of an expression's class in SpinalHDL, and the word for its value. */
  private val words = Seq("Access" -> "bits", "Resize" -> "value", "Cast" -> "value", "Multiplexer" -> "choice",
    "MemRead" -> "word", "Add" -> "sum", "Sub" -> "difference", "Mul" -> "product", "Shift" -> "shifted",
    "Cat" -> "joined", "Smaller" -> "less")

  private def name(c: Component): Unit = {
    val taken = mutable.Set[String]()
    val waiting = mutable.Queue[(BaseType, String)]()
    def offer(s: Statement, to: String): Unit = s.walkDrivingExpressions {
      case b: BaseType if b.component == c && b.isUnnamed => waiting.enqueue(b -> to)
      case _                                              =>
    }
    def free(name: String): String = (name +: LazyList.from(1).map(n => s"${name}_$n")).find(taken.add).get
    def give(): Unit = while (waiting.nonEmpty) {
      val (signal, to) = waiting.dequeue()
      if (signal.isUnnamed) {
        signal.setWeakName(free(s"${to}_${kind(signal)}"))
        signal.foreachStatements(offer(_, to))
      }
    }
    def called(child: Component): String = {
      val kind = child.getClass.getSimpleName
      child.getName(kind.take(1).toLowerCase + kind.drop(1))
    }

    taken ++= c.children.map(called)
    c.dslBody.walkStatements {
      case d: DeclarationStatement if d.isUnnamed => d.unsetName() // of a name that depends on one that is missing
      case d: Nameable                            => taken += d.getName()
      case _                                      =>
    }
    c.dslBody.walkStatements {
      case m: Mem[_] if m.isUnnamed => m.setWeakName(free("ram"))
      case _                        =>
    }
    c.dslBody.walkStatements {
      case s: AssignmentStatement => s.finalTarget match {
        case t: BaseType if t.component != c =>
          offer(s, (called(t.component) +: t.getName().split("_").filter(_.nonEmpty)).mkString("_"))
        case t: BaseType if t.isNamed        => offer(s, t.getName())
        case _                               =>
      }
      case p: MemPortStatement => offer(p, s"${p.mem.getName()}_port")
      case _                   =>
    }
    give()
    c.dslBody.walkStatements {
      case t: TreeStatement => target(t).foreach(to => offer(t, s"when_$to"))
      case _                =>
    }
    give()
  }

  /** What is assigned first under a condition. */
  private def target(tree: TreeStatement): Option[String] = {
    var first: Option[String] = None
    tree.walkStatements {
      case s: AssignmentStatement if first.isEmpty =>
        first = Some(s.finalTarget).collect { case t: BaseType if t.isNamed => t.getName() }
      case p: MemPortStatement if first.isEmpty    => first = Some(p.mem.getName())
      case _                                       =>
    }
    first
  }

  /** What a signal is: the last of its values that is computed tells, for a default comes first. */
  private def kind(signal: BaseType): String = {
    var values = Seq[Expression]()
    signal.foreachStatements {
      case s: AssignmentStatement => values :+= s.source
      case _                      =>
    }
    if (signal.isReg) "reg"
    else values.filterNot(v => v.isInstanceOf[BaseType] || v.isInstanceOf[Literal]).lastOption match {
      case Some(value)             => word(value)
      case None if values.size > 1 => "decoded"
      case None                    => if (values.exists(_.isInstanceOf[Literal])) "constant" else "copy"
    }
  }

  private def word(e: Expression): String = {
    val name = e.getClass.getSimpleName
    words.collectFirst { case (part, word) if name.contains(part) => word }.getOrElse(name.toLowerCase)
  }
}
