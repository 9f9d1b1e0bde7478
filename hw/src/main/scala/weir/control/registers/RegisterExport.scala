package weir.control.registers
import java.io.File
import weir.control.trace.TraceRecord

/** Writes what software and people read about the registers. The output depends on [[RegisterMap]] only. */
object RegisterExport {
  private val blocks = Seq(RegisterMap.core, RegisterMap.queue)
  private val origin = "Generated from RegisterMap.scala; do not edit."

  /** Writes `weir_regs.json`, `.h`, `.md` and `.py` into `dir`. */
  def write(dir: File): Unit =
    Written.write(dir, Seq("json" -> json, "h" -> header, "md" -> markdown, "py" -> python)
      .map { case (extension, text) => s"weir_regs.$extension" -> text }: _*)

  /** A constant of C and Python: name, value, comment. */
  private case class Constant(name: String, value: BigInt, comment: String = "")

  /** `RX_PACKETS_LO` and `RX_PACKETS_HI` make the 64-bit `RX_PACKETS`; `RX_PACKETS_…` and `RX_BYTES_…` the pair `RX`. */
  private def spans(block: Block): Seq[Constant] = {
    val wide = block.registers.filter(r => r.kind == Kind.Counter && r.name.endsWith("_LO"))
      .map(r => Constant(r.name.stripSuffix("_LO"), r.offset, "64 bits"))
    val pairs = wide.filter(_.name.endsWith("_PACKETS"))
      .map(w => Constant(w.name.stripSuffix("_PACKETS"), w.value, "packets, bytes: 64 bits each"))
    (wide ++ pairs).sortBy(s => (s.value, s.name)).map(s => s.copy(name = s"WEIR_${block.prefix}${s.name}"))
  }

  private def constants(block: Block): Seq[Constant] =
    block.registers.sortBy(_.offset).flatMap { r =>
      val name = s"WEIR_${block.prefix}${r.name}"
      Constant(name, r.offset, s"${r.access.text}, ${r.description}") +: r.fields.flatMap(f => Seq(
        Constant(s"${name}_${f.name}_SHIFT", f.low, f.description), Constant(s"${name}_${f.name}_MASK", f.mask)))
    } ++ spans(block)

  private val general = Seq(
    Constant("WEIR_MAGIC_VALUE", RegisterMap.magic, "what WEIR_MAGIC reads"),
    Constant("WEIR_Q_BASE", RegisterMap.queueBase, "block of queue 0"),
    Constant("WEIR_Q_STRIDE", RegisterMap.queueStride, "from a queue's block to the next"),
    Constant("WEIR_TRACE_WORDS", TraceRecord.words, "words of a trace record")
  )

  private val sections: Seq[(String, Seq[Constant])] = Seq(
    "" -> general,
    "Block 0: addresses" -> constants(RegisterMap.core),
    "Queue q: offsets from WEIR_Q_BASE + q * WEIR_Q_STRIDE" -> constants(RegisterMap.queue))
  for ((name, same) <- sections.flatMap(_._2).groupBy(_.name))
    require(same.size == 1, s"RegisterMap gives ${same.size} constants the name $name; rename a register or field")

  private def hex(n: BigInt, digits: Int = 3): String = "0x" + n.toString(16).toUpperCase.reverse.padTo(digits, '0').reverse
  private def number(c: Constant): String = if (c.name.endsWith("_SHIFT")) c.value.toString else hex(c.value)

  private def header: String = {
    def line(c: Constant) =
      s"#define ${c.name} ${number(c)}u" + (if (c.comment.isEmpty) "" else s" /* ${c.comment} */")
    val body = sections.map { case (title, constants) =>
      (if (title.isEmpty) "" else s"/* $title */\n") + constants.map(line).mkString("\n") }
    s"""/* Registers of Weir. $origin */
       |#ifndef WEIR_REGS_H
       |#define WEIR_REGS_H
       |
       |${body.mkString("\n\n")}
       |
       |#endif
       |""".stripMargin
  }

  private def python: String = {
    def line(c: Constant) = s"${c.name} = ${number(c)}" + (if (c.comment.isEmpty) "" else s"  # ${c.comment}")
    val body = sections.map { case (title, constants) =>
      (if (title.isEmpty) "" else s"# $title\n") + constants.map(line).mkString("\n") }
    s"\"\"\"Registers of Weir. $origin\"\"\"\n\n${body.mkString("\n\n")}\n"
  }

  private def markdown: String = blocks.map { block =>
    val rows = block.registers.sortBy(_.offset).map { r =>
      val reset = if (r.reset.fixed.exists(_ > 65535)) hex(r.reset.fixed.get) else r.reset.text
      val fields = r.fields.map { f =>
        val range = if (f.width == 1) s"${f.low}" else s"${f.high}:${f.low}"
        s"${f.name} $range" + (if (f.description.isEmpty) "" else s" (${f.description})")
      }
      val needs = r.policy.map(p => s"with the policy ${p.name}") ++ (if (r.jumbo) Some("with jumbo frames") else None) ++
        (if (r.trace) Some("with a trace") else None)
      val meaning = ((r.description +: fields) ++ needs).filter(_.nonEmpty).mkString("; ")
      s"| ${hex(r.offset)} | ${r.name} | ${r.access.text} | ${if (r.access.text == "w") "" else reset} | $meaning |"
    }
    val title = if (block.prefix.isEmpty) "Block 0" else
      s"Queue block: queue q at ${hex(RegisterMap.queueBase)} + q · ${hex(RegisterMap.queueStride)}"
    val head = Seq("| offset | name | access | reset | meaning |", "|---|---|---|---|---|")
    s"### $title\n\n${(head ++ rows).mkString("\n")}\n"
  }.mkString(s"<!-- $origin -->\n\n", "\n", "")

  private def json: String = {
    import Written.{json => pairs, jsonList => list, quoted => text}
    def field(f: Field) = pairs("name" -> text(f.name), "high" -> s"${f.high}", "low" -> s"${f.low}",
      "description" -> text(f.description))
    def register(block: Block)(r: Register) = pairs(
      "name" -> text(r.name), "constant" -> text(s"WEIR_${block.prefix}${r.name}"), "offset" -> s"${r.offset}",
      "access" -> text(r.access.text), "kind" -> text(r.kind.text), "mask" -> s"${r.mask}",
      "reset" -> r.reset.fixed.fold(text(r.reset.text))(_.toString),
      "policy" -> r.policy.fold("null")(p => text(p.name)), "jumbo" -> s"${r.jumbo}", "trace" -> s"${r.trace}",
      "fields" -> r.fields.map(field).mkString("[", ", ", "]"), "description" -> text(r.description))
    def one(block: Block, base: Int, stride: Int) = pairs(
      "name" -> text(block.name), "base" -> s"$base", "stride" -> s"$stride",
      "registers" -> list(block.registers.sortBy(_.offset).map(register(block)), "    "))
    val version = s"${RegisterMap.major}.${RegisterMap.minor}.${RegisterMap.patch}"
    s"""{
       |  "version": ${text(version)},
       |  "blocks": ${list(Seq(one(RegisterMap.core, 0, 0),
            one(RegisterMap.queue, RegisterMap.queueBase, RegisterMap.queueStride)), "  ")}
       |}
       |""".stripMargin
  }
}
