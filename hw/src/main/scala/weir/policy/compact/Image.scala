package weir.policy.compact
import spinal.core._

/** Programs made into what the engine's two memories hold at power-on.
  *
  * @param romWords steps that the ROM holds, a power of two
  */
class Image(val programs: Seq[Program], val romWords: Int = 512) {
  for (p <- programs) new Hazards(p).check()
  private val total = programs.map(_.instructions.size).sum
  if (total > romWords) throw new ProgramError(
    s"${programs.map(p => s"${p.name} (${p.instructions.size})").mkString(", ")} have $total steps; the ROM holds $romWords")

  val layout = new Layout(programs)
  val addressWidth: Int = log2Up(romWords)
  /** where each program begins */
  val base: Map[Program, Int] = programs.zip(programs.scanLeft(0)(_ + _.instructions.size)).toMap

  private val entries = for (p <- programs; (name, n) <- p.entries) yield name -> (base(p) + n)
  for ((name, same) <- entries.groupBy(_._1) if same.size > 1) throw new ProgramError(s"two programs have an entry $name")
  /** address of an entry */
  def entry(name: String): Int = entries.toMap.getOrElse(name,
    throw new ProgramError(s"entry $name does not exist; entries are ${entries.map(_._1).mkString(", ")}"))

  /** fields of a microword, from the lowest bit on */
  val fields: Seq[(String, Int)] = Seq("readSpace" -> 2, "readWord" -> 6, "limb" -> 2, "loadX" -> 1, "xSource" -> 2,
    "left" -> 2, "right" -> 2, "minus" -> 1, "store" -> 1, "storeShared" -> 1, "storeWord" -> 6, "condition" -> 5,
    "negated" -> 1, "branch" -> 1, "target" -> addressWidth, "effect" -> 4, "tell" -> 3, "index" -> 2)
  val width: Int = fields.map(_._2).sum

  private def encode(p: Program, i: Instruction): BigInt = {
    val (readSpace, readWord) = i.reads.headOption.fold((0, 0))(layout.address)
    val (storeSpace, storeWord) = i.store.fold((0, 0))(layout.address)
    def condition(c: Condition): Int = c match {
      case Not(of)        => condition(of)
      case Flag(_, bit)   => Image.flagCodes + bit
      case other          => Condition.all.indexOf(other)
    }
    val values = Map[String, Int](
      "readSpace" -> readSpace, "readWord" -> readWord,
      "limb" -> i.p.fold(0)(_.number),
      "loadX" -> (if (i.x.isEmpty) 0 else 1),
      "xSource" -> (i.x match {
        case Some(Acc)        => 1
        case Some(Shifted(_)) => 2
        case _                => 0
      }),
      "left" -> (i.acc.left match {
        case Zero       => 0
        case Acc        => 1
        case Shifted(_) => 2
      }),
      "right" -> (i.acc.right match {
        case Nothing       => 0
        case P             => 1
        case FromMemory(_) => 2
      }),
      "minus" -> (if (i.acc.minus) 1 else 0),
      "store" -> (if (i.store.isEmpty) 0 else 1), "storeShared" -> storeSpace, "storeWord" -> storeWord,
      "condition" -> condition(i.when), "negated" -> (if (i.when.isInstanceOf[Not]) 1 else 0),
      "branch" -> (if (i.goto.isEmpty) 0 else 1), "target" -> i.goto.fold(0)(base(p) + p.labels(_)),
      "effect" -> Effect.all.indexOf(i.effect), "tell" -> Evidence.all.indexOf(i.tell),
      "index" -> Index.all.indexOf(i.index))
    fields.foldRight(BigInt(0)) { case ((name, bits), word) =>
      require(values(name) >= 0 && values(name) < (1 << bits), s"microword field $name=${values(name)} does not fit $bits bits")
      word << bits | values(name)
    }
  }

  def rom: Seq[BigInt] =
    (for (p <- programs; i <- p.instructions) yield encode(p, i)).padTo(romWords, BigInt(0))
}

object Image {
  /** code of the condition that is flag 0 */
  val flagCodes = 16
}
