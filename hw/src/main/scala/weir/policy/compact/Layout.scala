package weir.policy.compact

/** Where the words of a set of programs lie in the engine's memory of 1,024 words:
  * {{{
  *   0x000  a page of 64 words for each of four queues: 32 registers as written, 32 states
  *   0x100  64 words that all queues share: what a request brings, constants, scratch
  *   0x140  three tables of 64 words
  *   0x200  a table of 512 words
  * }}}
  */
class Layout(programs: Seq[Program]) {
  private val words: Seq[Word] = programs.flatMap(_.instructions).flatMap(i => i.reads ++ i.store).distinct
  private def names = programs.map(_.name).mkString(" and ")

  private def numbered(of: Seq[Word], first: Int, room: Int, what: String): Map[Word, Int] = {
    if (first + of.size > room) throw new ProgramError(
      s"$names use ${first + of.size} $what; there are $room: ${of.map(_.name).mkString(", ")}")
    of.zipWithIndex.map { case (word, n) => word -> (first + n) }.toMap
  }
  private val states = numbered(words.collect { case w: State => w }, Layout.rawWords, Layout.page, "words of a queue")
  private val shared = numbered(words.collect { case w @ (_: Const | _: Scratch) => w }, Input.all.size, Layout.page,
    "shared words")
  val tables: Seq[Table] = words.collect { case t: Table => t }
  for ((place, same) <- tables.groupBy(_.place) if same.size > 1)
    throw new ProgramError(s"tables ${same.map(_.name).mkString(" and ")} share place $place")

  /** The space of an address, and the number in it. */
  def address(word: Word): (Int, Int) = word match {
    case raw: Raw     => (Layout.queue, raw.register.word)
    case state: State => (Layout.queue, states(state))
    case input: Input => (Layout.common, input.order)
    case t: Table     => if (t.place == Table.large) (Layout.largeTable, 0) else (Layout.smallTable, t.place)
    case other        => (Layout.common, shared(other))
  }

  /** What the memory holds at power-on. */
  def memory: Seq[BigInt] = {
    val content = Array.fill(Layout.words)(BigInt(0))
    for ((Const(value), n) <- shared) content(Layout.commonBase + n) = value & Layout.mask
    for (t <- tables; (entry, n) <- t.entries.zipWithIndex)
      content((if (t.place == Table.large) Layout.words / 2 else Layout.commonBase + Layout.page * t.place) + n) = entry
    content.toSeq
  }
}

object Layout {
  val words = 1024
  val wordWidth = 48
  val mask: BigInt = (BigInt(1) << wordWidth) - 1
  val page = 64
  val rawWords = 32
  val queues = 4
  val commonBase: Int = queues * page

  /** spaces of a read address */
  val queue = 0
  val common = 1
  val smallTable = 2
  val largeTable = 3
}
