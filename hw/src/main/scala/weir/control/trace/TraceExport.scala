package weir.control.trace
import java.io.File
import weir.control.registers.Written
import weir.policy.Policy


/** Writes what decodes trace records: `weir_trace.h` for C and C++, `weir_trace.md` for people. It depends on
  * [[TraceRecord]] only.
  */
object TraceExport {
  def write(dir: File): Unit = Written.write(dir, "weir_trace.h" -> header, "weir_trace.md" -> markdown)

  private val choices = TraceRecord.fields.filter(_.choices.nonEmpty)
  /** a number whose fixed-point form is too wide for 32 bits is there raw and as a double */
  private def isReal(f: TraceField) = f.fraction > 0
  private def kinds(f: TraceField) = f.kinds.map(1 << _.id).sum
  private def ctype(f: TraceField) = if (f.width > 32) "uint64_t" else "uint32_t"

  /** C of a field's value, out of `words`. */
  private def value(f: TraceField): String = f.placed.map { case (part, from) =>
    val shifted = s"words[${part.word}]" + (if (part.low > 0) s" >> ${part.low}" else "")
    val masked = if (part.high == 31) shifted else f"$shifted & 0x${(1L << part.width) - 1}%Xu"
    if (f.width <= 32) (if (from == 0) s"($masked)" else s"($masked) << $from")
    else s"(uint64_t)($masked)" + (if (from == 0) "" else s" << $from")
  }.mkString(" | ")

  private def accessor(prefix: String)(f: TraceField): String =
    s"static inline ${ctype(f)} weir_record_$prefix${f.name}(const uint32_t *words) { return ${value(f)}; }"

  private def header: String = {
    def enumeration(f: TraceField) = {
      val names = f.choices.map { case (name, n) =>
        s"WEIR_RECORD_${f.name.toUpperCase}_${name.toUpperCase.replace('-', '_')} = $n"
      }
      s"enum weir_record_${f.name} { ${names.mkString(", ")} };"
    }
    def member(f: TraceField) =
      if (isReal(f)) s"\tuint64_t ${f.name}_raw; /* ${f.meaning} */\n\tdouble ${f.name};"
      else s"\t${ctype(f)} ${f.name}; /* ${f.meaning} */"
    val real = TraceRecord.fields.filter(isReal).map(f => s"REAL(${f.name}, ${kinds(f)}, ${f.fraction})")
    val plain = TraceRecord.fields.filterNot(isReal).map(f => s"FIELD(${f.name}, ${kinds(f)})")
    val named = choices.filterNot(f => f.name == "policy" || f.name == "unit")
    s"""/* Trace records of Weir. ${Written.origin} */
       |#ifndef WEIR_TRACE_H
       |#define WEIR_TRACE_H
       |
       |#include <stdint.h>
       |
       |#define WEIR_RECORD_WORDS ${TraceRecord.words}
       |#define WEIR_RECORD_STATE ${TraceRecord.state.start}
       |#define WEIR_STATE_WORDS ${TraceRecord.state.size}
       |
       |${named.map(enumeration).mkString("\n")}
       |
       |/* What a kind of record does not have is 0. */
       |struct weir_trace_record {
       |${TraceRecord.fields.map(member).mkString("\n")}
       |\tuint32_t state[WEIR_STATE_WORDS]; /* of a tick: the policy's state after it */
       |};
       |
       |/* One field out of a record's words; of a record of a kind that has it. */
       |${TraceRecord.fields.map(accessor("")).mkString("\n")}
       |
       |/* Of a tick of a policy. */
       |${Policy.all.flatMap(p => p.tickState.map(accessor(p.name.replace('-', '_') + "_"))).mkString("\n")}
       |
       |/* FIELD(name, kinds) or REAL(name, kinds, fraction bits) of each field; kinds: bit n, records of kind n have it. */
       |#define WEIR_TRACE_FIELDS(FIELD, REAL) ${(plain ++ real).mkString(" ")}
       |
       |#endif
       |""".stripMargin
  }

  private def place(part: TracePart): String = {
    val bits = if (part.width == 32) "" else if (part.width == 1) s", ${part.low}" else s", ${part.high}:${part.low}"
    s"word ${part.word}$bits"
  }
  private def places(f: TraceField): String = f.parts.reverse.map(place).mkString("; ")
  private def explained(f: TraceField): String = {
    val named = f.choices.filterNot(_ => f.name == "policy").map { case (name, n) => s"$n $name" }
    f.meaning + (if (named.isEmpty) "" else named.mkString(": ", ", ", ""))
  }

  private def markdown: String = {
    val fields = Written.table(Seq("field", "bits, highest first", "arrival", "departure", "tick", "meaning"),
      for (f <- TraceRecord.fields; has = TraceKind.all.map(k => if (f.kinds.contains(k)) "×" else ""))
        yield Seq(f.name, places(f)) ++ has :+ explained(f))
    val ticks = Written.table(Seq("policy", "field", "bits, highest first", "meaning"),
      for (p <- Policy.all; f <- p.tickState) yield Seq(p.name, f.name, places(f), f.meaning))
    val evidence = Policy.all.filter(_.evidence.nonEmpty).map(p => s"- [${p.name}](modules/${p.name}.md): ${p.evidence}.")
    val (first, last) = (TraceRecord.state.start, TraceRecord.state.end)
    Seq(
      "A field that lies in two words is written with its high bits first. A kind without a field has 0 there, or another field.",
      fields,
      s"What ticks of a policy tell besides, in words $first to $last; policies without a row have no ticks:",
      ticks,
      "Arrival records whose fields a policy fills otherwise:",
      evidence.mkString("\n")
    ).mkString("\n\n") + "\n"
  }
}
