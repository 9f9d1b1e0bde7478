package weir.control.registers
import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

/** What generated files share. */
private[weir] object Written {
  val origin = "Generated from hw/src/main/scala; do not edit."

  /** Writes files into `dir`; those that would not change stay untouched, so that nothing is built again. */
  def write(dir: File, files: (String, String)*): Unit = {
    dir.mkdirs()
    for ((name, text) <- files) {
      val path = new File(dir, name).toPath
      val bytes = text.getBytes(UTF_8)
      if (!Files.exists(path) || !java.util.Arrays.equals(Files.readAllBytes(path), bytes)) Files.write(path, bytes)
    }
  }

  /** A text of C, JSON or Python. */
  def quoted(s: String): String = "\"" + s.replace("\\", "\\\\").replace("\"", "\\\"") + "\""
  def json(p: (String, String)*): String = p.map { case (k, v) => s"${quoted(k)}: $v" }.mkString("{", ", ", "}")
  def jsonList(items: Seq[String], indent: String): String =
    if (items.isEmpty) "[]" else items.mkString(s"[\n$indent  ", s",\n$indent  ", s"\n$indent]")
  def table(head: Seq[String], rows: Seq[Seq[String]]): String = {
    def line(cells: Seq[String]) = cells.map(c => if (c.isEmpty) " " else s" $c ").mkString("|", "|", "|")
    (Seq(line(head), head.map(_ => "---").mkString("|", "|", "|")) ++ rows.map(line)).mkString("\n")
  }
}
