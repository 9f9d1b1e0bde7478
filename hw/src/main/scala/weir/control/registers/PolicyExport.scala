package weir.control.registers
import java.io.File
import weir.control.trace.{TraceField, TraceRecord}
import weir.policy.{Parameter, ParameterKind, Policy}


/** Writes what software and people know of policies: `weir_policies.h`, which weir.h includes, libweir's tables
  * `weir_policies.c`, `weir_policies.json` for the tools of this repository, and the tables of docs/policies.md and
  * docs/policy-registers.md. It depends on [[Policy.all]] only.
  */
object PolicyExport {
  def write(dir: File): Unit = Written.write(dir, "weir_policies.h" -> header, "weir_policies.c" -> tables,
    "weir_policies.json" -> json, "weir_policy_registers.md" -> registers, "weir_policies.md" -> policies,
    "weir_parameters.md" -> parameters)

  import Written.{quoted => text}

  private def identifier(p: Policy) = p.name.replace('-', '_')
  private def constant(p: Policy) = s"WEIR_POLICY_${identifier(p).toUpperCase}"
  private val set = Policy.all.filter(_.parameters.nonEmpty)

  /** Of a policy, the one whose parameters and registers belong to it too. */
  private def base(p: Policy): Option[Policy] = {
    require(p.needs.size <= 1, s"Policy ${p.name}: libweir has one base for a policy, not ${p.needs.size}")
    p.needs.headOption
  }
  for (p <- Policy.all; (name, same) <- (p.parameters ++ base(p).toSeq.flatMap(_.parameters)).groupBy(_.name))
    require(same.size == 1, s"Policy ${p.name} has ${same.size} parameters $name")

  private def isWhole(q: Parameter) = q.kind == ParameterKind.Flag || q.kind == ParameterKind.Choice

  private def header: String = {
    def member(q: Parameter) = {
      val unit = if (q.unit.isEmpty) "" else s": ${q.unit}"
      s"\t${if (isWhole(q)) "int" else "double"} ${q.name}; /* ${q.help}$unit */"
    }
    def struct(p: Policy) = s"struct weir_${identifier(p)} {\n${p.parameters.map(member).mkString("\n")}\n};"
    s"""/* Policies of Weir and what can be set for each. ${Written.origin} */
       |#ifndef WEIR_POLICIES_H
       |#define WEIR_POLICIES_H
       |
       |enum weir_policy {
       |${Policy.all.map(p => s"\t${constant(p)} = ${p.id}, /* ${p.help} */").mkString("\n")}
       |};
       |
       |${set.map(struct).mkString("\n\n")}
       |
       |#define WEIR_POLICY_MEMBERS ${set.map(p => s"struct weir_${identifier(p)} ${identifier(p)};").mkString(" ")}
       |
       |#endif
       |""".stripMargin
  }

  /** Bits that say which amounts were given in bytes; the first is that of `reserve`, which every queue has. */
  private val inBytes: Map[Parameter, Long] = {
    val amounts = set.flatMap(_.parameters).filter(_.kind == ParameterKind.Amount)
    require(amounts.size < 32, s"there are ${amounts.size} amounts, more than in_bytes has bits")
    amounts.zipWithIndex.map { case (q, n) => q -> (2L << n) }.toMap
  }

  private def tables: String = {
    def row(p: Policy)(q: Parameter) = {
      val choices = if (q.choices.isEmpty) "NULL" else text(q.choices.mkString("|"))
      val more = Seq(
        s".offset = WEIR_AT(${identifier(p)}.${q.name})", s".span = WEIR_SPAN_${q.span.text.toUpperCase}",
        s".advice = ${text(q.advice)}") ++ inBytes.get(q).map(bit => s".in_bytes = ${bit}u") ++
        (if (q.whole) Some(".whole = true") else None) ++ (if (q.optional) Some(".optional = true") else None)
      val range = s"WEIR_KIND_${q.kind.text.toUpperCase}, ${q.min}, ${q.max}"
      s"""\t{ .parameter = { ${text(q.name)}, ${text(q.unit)}, $range, ${text(q.default)},
         |\t                 $choices, ${text(q.source)},
         |\t                 ${text(q.help)} },
         |\t  ${more.mkString(", ")} },""".stripMargin
    }
    def lists(p: Policy) =
      s"""static const struct weir_row rows_${identifier(p)}[] = {
         |${p.parameters.map(row(p)).mkString("\n")}
         |};
         |static const struct weir_register_name words_${identifier(p)}[] = {
         |${p.registers.map(r => s"\t{ ${text(r.name)}, WEIR_Q_${r.name} },").mkString("\n")}
         |};
         |extern const struct weir_policy_ops weir_policy_${identifier(p)};
         |""".stripMargin
    def entry(p: Policy) = {
      val name = identifier(p)
      val own = if (p.parameters.isEmpty) "" else s" WEIR_ROWS(rows_$name), WEIR_WORDS(words_$name),"
      val ops = if (p.parameters.isEmpty) " .ops = &nothing," else s" .ops = &weir_policy_$name,"
      val state = if (p.tickState.isEmpty) "" else s" .state = state_$name, .state_count = WEIR_LENGTH(state_$name),"
      val needs = base(p).fold("")(b => s" .base = &weir_policies[${Policy.all.indexOf(b)}],")
      val info = Seq(s"${constant(p)}, ${text(p.name)}", text(p.help), s"${text(p.source)}, ${text(p.plot.text)}")
      s"\t{ .info = { ${info.mkString(",\n\t            ")} },\n\t $needs$own$ops$state },"
    }
    def field(f: TraceField) = {
      val parts = f.parts.map(p => s"{ ${p.word}, ${p.high}, ${p.low} }").mkString(", ")
      val choices = f.choices.filterNot(_ => f.name == "policy").map(_._1)
      require(choices.isEmpty || f.choices.map(_._2) == choices.indices,
        s"Trace field ${f.name}: its values must count from 0")
      require(f.parts.size <= 2,
        s"Trace field ${f.name}: struct weir_trace_field has room for 2 parts, not ${f.parts.size}")
      s"\t{ ${text(f.name)}, ${f.kinds.map(1 << _.id).sum}u, ${f.parts.size}, { $parts }, ${f.fraction}," +
        s" ${if (choices.isEmpty) "NULL" else text(choices.mkString("|"))}, ${text(f.meaning)} },"
    }
    def state(p: Policy) =
      s"static const struct weir_trace_field state_${identifier(p)}[] = {\n${p.tickState.map(field).mkString("\n")}\n};\n"
    s"""/* libweir's tables of policies and of trace fields. ${Written.origin} */
       |#include "internal.h"
       |#include "weir_regs.h"
       |
       |/* of a policy without parameters */
       |static const struct weir_policy_ops nothing;
       |
       |${set.map(lists).mkString("\n")}
       |${Policy.all.filter(_.tickState.nonEmpty).map(state).mkString("\n")}
       |const struct weir_policy_entry weir_policies[] = {
       |${Policy.all.map(entry).mkString("\n")}
       |};
       |const size_t weir_policy_count = WEIR_LENGTH(weir_policies);
       |
       |const struct weir_trace_field weir_trace_fields[] = {
       |${TraceRecord.fields.map(field).mkString("\n")}
       |};
       |const size_t weir_trace_field_count = WEIR_LENGTH(weir_trace_fields);
       |""".stripMargin
  }

  private def json: String = {
    def one(p: Policy) = Written.json(
      "number" -> s"${p.id}", "name" -> text(p.name), "help" -> text(p.help), "source" -> text(p.source),
      "demo" -> p.demo.fold("null") { case (settings, remark) =>
        Written.json("settings" -> text(settings), "remark" -> text(remark))
      },
      "bench" -> text(p.bench), "latency" -> s"${p.latency}", "at_departure" -> s"${p.atDeparture}",
      "needs" -> Policy.all.filter(p.needs).map(n => text(n.name)).mkString("[", ", ", "]"),
      "unit" -> p.engine.fold("null")(e => text(e.name)))
    s"${Written.jsonList(Policy.all.map(one), "")}\n"
  }

  /** By name's prefix, as in `RED_*`. */
  private def groups(p: Policy): Seq[String] = p.registers.map(_.name.takeWhile(_ != '_') + "_*").distinct

  private def registers: String = {
    val policies = Written.table(Seq("number", "policy", "registers"), Policy.all.map(p =>
      Seq(s"${p.id}", p.name, (base(p).toSeq :+ p).flatMap(groups).reduceOption(_ + ", " + _).getOrElse("the limits"))))
    val rows = for (p <- Policy.all; r <- p.registers) yield r.offset -> Seq(f"0x${r.offset}%03X", r.name, {
      val fields = r.fields.map { f =>
        val range = if (f.width == 1) s"${f.low}" else s"${f.high}:${f.low}"
        s"${f.name} $range" + (if (f.description.isEmpty) "" else s" (${f.description})")
      }
      val bits = if (r.fields.isEmpty) s"${r.bits} bits" else fields.mkString(", ")
      val reset = r.reset.fixed.filter(_ != 0).map(v => if (v == r.mask) "reset all ones" else s"reset $v")
      (Seq(r.description, bits) ++ reset).mkString("; ")
    })
    s"$policies\n\n${Written.table(Seq("offset", "name", "content"), rows.sortBy(_._1).map(_._2))}"
  }

  private def policies: String = Written.table(Seq("number", "policy", "acts at, by", "latency", "source"),
    Policy.all.map(p => Seq(s"${p.id}", s"[${p.name}](modules/${if (p.engine.isEmpty) "arrival-decision" else p.name}.md)", p.acts,
      if (p.engine.isEmpty) "–" else s"${p.latency}", p.source)))

  private def parameters: String = {
    def bound(q: Parameter) = q.kind match {
      case ParameterKind.Flag => "off, on"
      case ParameterKind.Choice => q.choices.mkString(", ")
      case _ => s"${plain(q.min)} to ${plain(q.max)}${if (q.unit.isEmpty) "" else s" ${q.unit}"}"
    }
    def plain(n: BigDecimal) = if (n.isWhole) n.toBigInt.toString else n.bigDecimal.toPlainString
    Written.table(Seq("policy", "name", "range", "default", "meaning", "source"),
      for (p <- set; q <- p.parameters) yield Seq(p.name, s"`${q.name}`", bound(q), q.default, q.help, q.source))
  }
}
