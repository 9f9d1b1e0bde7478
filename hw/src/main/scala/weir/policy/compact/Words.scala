package weir.policy.compact
import scala.language.implicitConversions
import weir.control.registers.Register


/** A program that cannot be built; the message says where and what to do. */
class ProgramError(message: String) extends IllegalArgumentException(message)

/** A word of the engine's memory, 48 bits, by the name that listings show. */
sealed abstract class Word {
  def name: String
  /** 18 bits of it for the multiplier: 0 the lowest; limb 2 has 12. */
  def apply(limb: Int): Limb = {
    if (limb < 0 || limb > 2) throw new ProgramError(s"limb $limb of $name does not exist; a word has limbs 0, 1 and 2")
    Limb(this, limb)
  }
}

object Word {
  /** A word that is named as the sum is loaded. */
  implicit def load(word: Word): Sum = Sum(Zero, minus = false, FromMemory(word))
  implicit def operand(word: Word): FromMemory = FromMemory(word)
}

case class Limb(word: Word, number: Int) {
  override def toString: String = s"${word.name}.$number"
}

/** A register of the queue's block, as the host wrote it. */
case class Raw(register: Register) extends Word {
  def name: String = register.name
  if (register.word >= Layout.rawWords) throw new ProgramError(
    s"register $name is word ${register.word} of its block; the engine keeps words 0 to ${Layout.rawWords - 1}")
}

/** A word that each queue has. */
case class State(name: String) extends Word

/** A constant, signed. */
case class Const(value: BigInt) extends Word {
  if (value < -(BigInt(1) << 47) || value >= (BigInt(1) << 47))
    throw new ProgramError(s"constant $value does not fit a word; it must be -2^47 to 2^47-1")
  val name: String = if (value >= 1024 && value.bitCount == 1) s"2^${value.bitLength - 1}" else value.toString
}

/** A word for what a program has to keep until it ends. */
case class Scratch(name: String) extends Word

/** The entry of a table that `index` points at: of 64 entries, or the one of 512. */
case class Table(name: String, place: Int, entries: Seq[BigInt]) extends Word {
  val size: Int = if (place == Table.large) 512 else 64
  if (place < 1 || place > Table.large) throw new ProgramError(s"table $name has place $place; places are 1 to ${Table.large}")
  if (entries.size != size) throw new ProgramError(s"table $name has ${entries.size} entries; place $place holds $size")
  for ((entry, n) <- entries.zipWithIndex if entry < 0 || entry.bitLength > 48)
    throw new ProgramError(s"entry $n of table $name is $entry; it must be 0 to 2^48-1")
}

object Table {
  /** places 1 to 3 have 64 entries */
  val large = 4
}

/** What a request brings. The words are written one a cycle, in this order, from the request on: an instruction may
  * read word n if n others were executed before it.
  */
case class Input(name: String, order: Int) extends Word

object Input {
  /** time of the request, ns */
  val now = Input("now", 0)
  /** the queue in its unit, UQ21.22 */
  val quantity = Input("quantity", 1)
  /** bytes of the packet */
  val length = Input("length", 2)
  /** the draw U, at bit 12 and at bit 10 */
  val draw12 = Input("draw12", 3)
  val draw10 = Input("draw10", 4)

  val all: Seq[Input] = Seq(now, quantity, length, draw12, draw10)
}
