package weir.policy.compact
import java.nio.file.Path
import weir.control.registers.Written


/** The listing of a program: each step with its address, and each way through it with its cycles. */
object Listing {
  /** Writes `<directory>/<program>.lst` for every program of an image. */
  def write(directory: Path, image: Image): Unit =
    Written.write(directory.toFile, image.programs.map(p => s"${p.name}.lst" -> text(p, image)): _*)

  private def text(p: Program, image: Image): String = {
    val named = p.labels.groupMap(_._2)(_._1)
    val steps = for ((i, n) <- p.instructions.zipWithIndex) yield {
      val labels = named.getOrElse(n, Nil).toSeq.sorted.map(label => s"$label:\n").mkString
      f"$labels%s  ${image.base(p) + n}%3d  ${i.text}%-66s ${if (i.note.isEmpty) "" else s"; ${i.note}"}%s".stripTrailing
    }
    val ways = for ((name, start) <- p.entries; path <- new Hazards(p).paths(start)) yield path
    val table = ways.groupBy(_.labels).toSeq.map { case (labels, same) =>
      val verdict = same.flatMap(_.verdict).maxOption.fold("-")(steps => s"${steps + Listing.toVerdict}")
      f"  $verdict%7s ${same.map(_.steps).max + Listing.toReady}%7d  ${labels.mkString(" > ")}%s"
    }.sorted
    s"""program ${p.name}: ${p.instructions.size} steps of ${image.romWords}
       |A step takes a cycle. `x = ` and `p = ` count from the next step on; a branch takes one more step with it.
       |
       |${steps.mkString("\n")}
       |
       |Cycles from a request to its verdict, and to the next request, by labels passed; the most where a skipped step
       |does not count
       |  verdict    next  way
       |${table.mkString("\n")}
       |""".stripMargin
  }

  /** cycles beside the steps: until the first is carried out, and the verdict's register; until the next request */
  val toVerdict = 2
  val toReady = 2
}
