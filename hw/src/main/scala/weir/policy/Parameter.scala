package weir.policy

import weir.buffer.Buffer

/** What a parameter is; `enum weir_kind` of libweir says what each takes. */
sealed abstract class ParameterKind(val text: String)

object ParameterKind {
  case object Flag extends ParameterKind("flag")
  case object Choice extends ParameterKind("choice")
  case object Size extends ParameterKind("size")
  case object Amount extends ParameterKind("amount")
  case object Count extends ParameterKind("count")
  case object Number extends ParameterKind("number")
  case object Rate extends ParameterKind("rate")
  case object Time extends ParameterKind("time")
  case object Percent extends ParameterKind("percent")
}

/** What narrows a range on a device. */
sealed abstract class Span(val text: String)

object Span {
  case object Any extends Span("any")
  case object Buffer extends Span("buffer")
  case object Queues extends Span("queues")
}

/** What a host sets of a policy, in natural units. libweir's table with its ranges, messages and defaults, help and
  * completion of weirctl and the table of docs/libweir.md come from here; the conversion to registers is C
  * (sw-driver/lib/policy_<name>.c).
  *
  * @param unit     "bytes", "packets", "bit/s", "us", "1/s", "%", "", or "queue unit"
  * @param default  a value of its kind, or how it is derived
  * @param source   where name and meaning come from; its words find the parameter too
  * @param advice   ends the message when a value is out of range
  * @param whole    a whole number
  * @param optional may stay unset
  */
case class Parameter(
    name: String,
    kind: ParameterKind,
    unit: String,
    min: BigDecimal,
    max: BigDecimal,
    default: String,
    source: String,
    help: String,
    advice: String,
    choices: Seq[String] = Nil,
    span: Span = Span.Any,
    whole: Boolean = false,
    optional: Boolean = false
) {
  require(name.matches("[a-z][a-z0-9_]*"), s"Parameter.name=$name must be lower case letters, digits and _")
  require(min <= max, s"Parameter $name: its range $min to $max is empty")
  require((kind == ParameterKind.Choice) == choices.nonEmpty, s"Parameter $name: choices are those of a choice")
  require(Seq(unit, default, source, help, advice).forall(!_.exists(c => c == '"' || c == '\\' || c == '\n')),
    s"Parameter $name: its texts may not hold quotes, backslashes or ends of lines")
}

/** Short forms in which parameters are declared. */
object Parameters {
  import ParameterKind._

  /** the longest queue */
  val mostBytes: BigDecimal = (1 << 21) - 1
  /** registers have 32 bits of ns */
  val mostUs: BigDecimal = BigDecimal(4000000)

  def switch(name: String, default: String, source: String, help: String): Parameter =
    Parameter(name, Flag, "", 0, 1, default, source, help, "choose off or on")
  def choice(name: String, choices: Seq[String], default: String, source: String, help: String): Parameter =
    Parameter(name, Choice, "", 0, choices.size - 1, default, source, help, s"choose ${choices.mkString("|")}", choices)
  def time(name: String, min: BigDecimal, default: String, source: String, help: String, advice: String): Parameter =
    Parameter(name, Time, "us", min, mostUs, default, source, help, advice)
  def number(name: String, unit: String, min: BigDecimal, max: BigDecimal, default: String, source: String,
      help: String, advice: String): Parameter = Parameter(name, Number, unit, min, max, default, source, help, advice)
  def count(name: String, unit: String, min: BigDecimal, max: BigDecimal, default: String, source: String,
      help: String, advice: String): Parameter = Parameter(name, Count, unit, min, max, default, source, help, advice,
        whole = true)
  /** bit/s */
  def rate(name: String, default: String, source: String, help: String, advice: String): Parameter =
    Parameter(name, Rate, "bit/s", 1000, BigDecimal(100000000000L), default, source, help, advice)
  /** a quantity of queue, in the queue's unit */
  def amount(name: String, min: BigDecimal, default: String, source: String, help: String, advice: String): Parameter =
    Parameter(name, Amount, "queue unit", min, mostBytes, default, source, help, advice, span = Span.Buffer)
  /** bytes of queue */
  def held(name: String, default: String, source: String, help: String, advice: String): Parameter =
    Parameter(name, Size, "bytes", 0, mostBytes, default, source, help, advice, span = Span.Buffer)
  /** bytes of a packet */
  def length(name: String, min: BigDecimal, default: String, source: String, help: String, advice: String): Parameter =
    Parameter(name, Size, "bytes", min, 9216, default, source, help, advice, whole = true)
}
