package weir.control.registers

import weir.WeirConfig
import weir.policy.Policy

/** What a host may do with a register. */
sealed abstract class Access(val text: String, val writable: Boolean)

object Access {
  case object ReadOnly extends Access("r", writable = false)
  /** reads answer 0 */
  case object WriteOnly extends Access("w", writable = true)
  case object ReadWrite extends Access("rw", writable = true)
}

/** What stands behind a register. */
sealed abstract class Kind(val text: String)

object Kind {
  /** fixed by the build */
  case object Constant extends Kind("constant")
  /** a value of the running core */
  case object Live extends Kind("live")
  /** copied by SNAPSHOT, answered by the counter unit */
  case object Counter extends Kind("counter")
  /** a write starts something */
  case object Trigger extends Kind("trigger")
  /** configuration, taken over by APPLY or CORE_APPLY */
  case object Shadow extends Kind("shadow")
  /** storage that no apply takes over */
  case object Storage extends Kind("storage")
}

/** Bits `high` to `low` of a register. */
case class Field(name: String, high: Int, low: Int, description: String) {
  require(low >= 0 && high >= low && high <= 31, s"Field $name=$high:$low must lie in 31:0, high bit first")
  val width: Int = high - low + 1
  /** after shifting right by `low` */
  val mask: BigInt = (BigInt(1) << width) - 1
}

/** A reset or constant value. `text` says it where it depends on the build. */
case class Value(text: String, of: WeirConfig => BigInt, fixed: Option[BigInt])

object Value {
  def apply(number: BigInt): Value = Value(number.toString, _ => number, Some(number))
  def built(text: String)(of: WeirConfig => BigInt): Value = Value(text, of, None)
}

/** One 32-bit register.
  *
  * @param offset byte offset in its block
  * @param bits   width, if there are no fields; bits above are written in vain and read 0
  * @param policy the register exists only in builds with this policy
  * @param jumbo  the register exists only in builds that know jumbo frames
  * @param trace  the register exists only in builds with a trace
  */
case class Register(
    name: String,
    offset: Int,
    access: Access,
    kind: Kind,
    reset: Value = Value(0),
    bits: Int = 32,
    fields: Seq[Field] = Nil,
    description: String = "",
    policy: Option[Policy] = None,
    jumbo: Boolean = false,
    trace: Boolean = false
) {
  require(name.matches("[A-Z][A-Z0-9_]*"), s"Register.name=$name must be upper case letters, digits and _")
  require(offset >= 0 && offset % 4 == 0, f"Register $name.offset=0x$offset%X must be a multiple of 4")
  require(bits >= 1 && bits <= 32, s"Register $name.bits=$bits must be 1 to 32")
  for (pair <- fields.combinations(2); Seq(a, b) = pair) {
    require(a.name != b.name, s"Register $name has two fields ${a.name}")
    require(a.low > b.high || b.low > a.high, s"Register $name: fields ${a.name} and ${b.name} overlap")
  }

  val word: Int = offset / 4
  /** the bits that exist */
  val mask: BigInt =
    if (fields.isEmpty) (BigInt(1) << bits) - 1 else fields.map(f => f.mask << f.low).reduce(_ | _)

  for (value <- reset.fixed)
    require((value & ~mask) == 0, s"Register $name.reset=$value has bits outside its fields (mask 0x${mask.toString(16)})")

  def field(name: String): Field =
    fields.find(_.name == name).getOrElse(throw new NoSuchElementException(s"register ${this.name} has no field $name"))
  def exists(c: WeirConfig): Boolean = policy.forall(c.has) && (c.jumbo || !jumbo) && (c.trace || !trace)
}

/** Registers side by side.
  *
  * @param prefix between `WEIR_` and a register's name in C and Python
  * @param bytes  size of the block
  */
case class Block(name: String, prefix: String, bytes: Int, registers: Seq[Register]) {
  for ((offset, same) <- registers.groupBy(_.offset) if same.size > 1)
    throw new IllegalArgumentException(
      f"requirement failed: Block $name: ${same.map(_.name).mkString(", ")} share offset 0x$offset%X")
  for ((register, same) <- registers.groupBy(_.name))
    require(same.size == 1, s"Block $name has ${same.size} registers $register")
  for (r <- registers)
    require(r.offset < bytes, f"Block $name: ${r.name} at 0x${r.offset}%X lies outside 0x$bytes%X bytes")

  private val byName = registers.map(r => r.name -> r).toMap
  def apply(name: String): Register =
    byName.getOrElse(name, throw new NoSuchElementException(s"block ${this.name} has no register $name"))
  def built(c: WeirConfig): Seq[Register] = registers.filter(_.exists(c))
}
