package weir.policy.compact

/** Left operand of the adder. */
sealed abstract class Left(val text: String) {
  def +(right: Right): Sum = Sum(this, minus = false, right)
  def -(right: Right): Sum = Sum(this, minus = true, right)
}

/** Right operand of the adder. */
sealed abstract class Right(val text: String)

/** A source of the multiplicand x. */
sealed trait Multiplicand

case object Zero extends Left("0")

/** The accumulator, as it was before the instruction. */
case object Acc extends Left("acc") with Multiplicand {
  def >>(bits: Int): Shifted = Shifted(bits)
}

/** `acc >> 18` is an operand of the adder, `acc >> 7` a multiplicand. */
case class Shifted(bits: Int) extends Left(s"acc>>$bits") with Multiplicand

case object Nothing extends Right("0")
/** The product of the instruction before: of the x that it found, and its limb. */
case object P extends Right("p")
case class FromMemory(word: Word) extends Right(word.name) with Multiplicand

/** What the accumulator becomes. */
case class Sum(left: Left, minus: Boolean, right: Right) {
  def text: String = (left, right) match {
    case (Zero, Nothing)         => "0"
    case (Zero, _) if !minus     => right.text
    case (_, Nothing)            => left.text
    case _                       => s"${left.text} ${if (minus) "-" else "+"} ${right.text}"
  }
}

object Sum {
  val keep: Sum = Sum(Acc, minus = false, Nothing)
  val clear: Sum = Sum(Zero, minus = false, Nothing)
  /** acc >> 18 alone */
  val shift: Sum = Sum(Shifted(18), minus = false, Nothing)
}

/** What an instruction depends on. */
sealed abstract class Condition(val text: String) {
  def unary_! : Condition = Not(this)
}

case class Not(of: Condition) extends Condition(s"!${of.text}") {
  override def unary_! : Condition = of
}

/** A bit of the word that [[Effect.LoadFlags]] took; it does not change before the next one. */
case class Flag(name: String, bit: Int) extends Condition(name) {
  if (bit < 0 || bit >= Flag.conditions) throw new ProgramError(s"flag $name is bit $bit; conditions are bits 0 to ${Flag.conditions - 1}")
}

object Flag {
  /** flags that can be conditions; those above are for the verdict */
  val conditions = 16
  val ecn = 16
  val hardDrop = 17
  val noDrop = 18
  val width = 19
}

object Condition {
  case object Always extends Condition("always")
  /** the accumulator is below 0 */
  case object Negative extends Condition("acc<0")
  /** the accumulator as an unsigned number does not fit so many bits */
  case object Over24 extends Condition("acc>>24")
  case object Over32 extends Condition("acc>>32")
  case object Over36 extends Condition("acc>>36")
  /** the request found its queue empty; with one packet or none */
  case object Empty extends Condition("empty")
  case object Few extends Condition("few")
  /** the queue's average was outside the band before */
  case object Fresh extends Condition("fresh")
  /** fresh, and the first packet in the band is not exempt: it counts from 0 */
  case object Restarts extends Condition("restarts")
  /** fresh, and the first packet is exempt; or few */
  case object Spared extends Condition("spared")
  /** the commit restarts the counts */
  case object Acts extends Condition("acts")

  val all: Seq[Condition] = Seq(Always, Negative, Over24, Over32, Over36, Empty, Few, Fresh, Restarts, Spared, Acts)
}

/** What an instruction does besides. */
sealed abstract class Effect(val text: String)

object Effect {
  case object None extends Effect("")
  /** the flags become the word that is read */
  case object LoadFlags extends Effect("")
  case object SetFresh extends Effect("fresh")
  case object ClearFresh extends Effect("stale")
  /** the packet is selected by chance, by force, or not at all */
  case object Select extends Effect("select")
  case object Force extends Effect("force")
  case object Spare extends Effect("spare")
  /** the verdict is told; the commit comes two cycles later */
  case object Verdict extends Effect("verdict")
  /** the program ends */
  case object Done extends Effect("done")

  val all: Seq[Effect] = Seq(None, LoadFlags, SetFresh, ClearFresh, Select, Force, Spare, Verdict, Done)
}

/** A part of the evidence that the accumulator tells. */
sealed abstract class Evidence(val text: String)

object Evidence {
  case object None extends Evidence("")
  case object Average extends Evidence("average")
  case object Count extends Evidence("count")
  case object Probability extends Evidence("p")
  case object Slots extends Evidence("slots")

  val all: Seq[Evidence] = Seq(None, Average, Count, Probability, Slots)
}

/** Bits of the accumulator that point into a table. */
sealed abstract class Index(val text: String)

object Index {
  case object None extends Index("")
  /** acc[8:0] */
  case object Low extends Index("acc[8:0]")
  /** acc[14:9] */
  case object High extends Index("acc[14:9]")
  /** acc[29:24], the exponent of a scaled register */
  case object Exponent extends Index("acc[29:24]")

  val all: Seq[Index] = Seq(None, Low, High, Exponent)
}

/** One instruction; docs/modules/compact.md has the table of its fields. */
case class Instruction(
    note: String,
    acc: Sum,
    x: Option[Multiplicand],
    p: Option[Limb],
    flags: Option[Word],
    store: Option[Word],
    when: Condition,
    goto: Option[String],
    effect: Effect,
    tell: Evidence,
    index: Index
) {
  /** the words that it reads; more than one is an error */
  val reads: Seq[Word] =
    (Seq(acc.right, x.getOrElse(Nothing)).collect { case FromMemory(word) => word } ++ p.map(_.word) ++ flags).distinct

  /** it uses the product that the step before began */
  val takesProduct: Boolean = acc.right == P
  val ends: Boolean = effect == Effect.Done

  private def source(of: Multiplicand): String = of match {
    case FromMemory(word) => word.name
    case Shifted(bits)    => s"acc>>$bits"
    case _                => "acc"
  }

  /** as the listing shows it */
  def text: String = {
    val does = Seq(
      if (acc == Sum.keep) "" else s"acc = ${acc.text}",
      x.fold("")(of => s"x = ${source(of)}"),
      p.fold("")(limb => s"p = x*$limb"),
      flags.fold("")(word => s"flags = ${word.name}"),
      store.fold("")(word => s"${word.name} = acc"),
      if (index == Index.None) "" else s"index = ${index.text}",
      if (tell == Evidence.None) "" else s"tell ${tell.text}",
      effect.text).filter(_.nonEmpty).mkString("; ")
    val depends = if (when == Condition.Always) "" else s"if ${when.text}"
    goto match {
      case Some(to)             => Seq(does, s"goto $to $depends".trim).filter(_.nonEmpty).mkString("; ")
      case _ if depends.isEmpty => if (does.isEmpty) "-" else does
      case _                    => s"$depends: $does"
    }
  }
}
