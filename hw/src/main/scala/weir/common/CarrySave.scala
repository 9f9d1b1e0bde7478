package weir.common
import spinal.core._

/** Sums of many terms with one carry chain: terms that do not overlap share a row, a level of full adders (one LUT)
  * turns three rows into two where there are three, and only the last two rows are added.
  */
object CarrySave {
  /** Bits from column `start` on; there is nothing below and above. */
  private case class Row(bits: UInt, start: Int) {
    def end: Int = start + bits.getWidth
    def cut(width: Int): Row = if (end > width) Row(bits.resize(width - start), start) else this
    def whole: UInt = if (start == 0) bits else bits @@ U(0, start bits)
  }

  /** A row in parts at common columns, or none where a row has nothing. */
  private type Parts = Seq[Option[UInt]]

  /** Terms packed into rows; a term counts `2^offset` times. */
  private def pack(terms: Seq[(UInt, Int)]): Seq[Row] =
    terms.sortBy(_._2).foldLeft(Seq.empty[Row]) { case (rows, (term, offset)) =>
      rows.indexWhere(_.end <= offset) match {
        case -1                           => rows :+ Row(term, offset)
        case r if rows(r).end == offset   => rows.updated(r, Row(term @@ rows(r).bits, rows(r).start))
        case r => rows.updated(r, Row(term @@ U(0, offset - rows(r).end bits) @@ rows(r).bits, rows(r).start))
      }
    }

  /** Σ term·2^offset, `width` bits of it. */
  def sum(terms: Seq[(UInt, Int)], width: Int): UInt =
    last(two(pack(terms), width))

  /** The same and `carry`, which enters the last addition. */
  def sum(terms: Seq[(UInt, Int)], width: Int, carry: Bool): UInt = {
    val Seq(a, b) = two(pack(terms), width)._1
    ((a @@ carry) + (b @@ carry)) >> 1
  }

  /** `from − Σ term·2^offset`, `width` bits of it: −x is ~x + 1, and the ones fit where carries enter. */
  def difference(from: UInt, terms: Seq[(UInt, Int)], width: Int): UInt =
    difference(Seq(from), terms, width)

  /** The same of the sum of `from`. */
  def difference(from: Seq[UInt], terms: Seq[(UInt, Int)], width: Int): UInt = {
    val inverted = pack(terms).map(t => ~t.whole.resize(width))
    last(two((from.map(_.resize(width)) ++ inverted).map(Row(_, 0)), width, inverted.size))
  }

  private def last(rowsAndOnes: (Seq[UInt], Int)): UInt = rowsAndOnes match {
    case (Seq(a), _)       => a
    case (Seq(a, b), 0)    => a + b
    case (Seq(a, b), _)    => a - ~b
  }

  /** Two rows or less, and of the ones, less than the rows, those that are left. */
  private def two(all: Seq[Row], width: Int, ones: Int = 0): (Seq[UInt], Int) =
    if (all.size <= 2) (all.map(_.whole.resize(width)), ones)
    else {
      val rows = all.map(_.cut(width))
      val columns = (rows.flatMap(r => Seq(r.start, r.end)) ++ (0 until width by limb)).filter(_ < width).distinct.sorted
      val parts = columns zip (columns.tail :+ width)
      val (few, left) = reduced(rows.map(row => parts.map { case (low, high) =>
        Option.when(low >= row.start && high <= row.end)(
          row.bits(high - row.start - 1 downto low - row.start))
      }), parts.map { case (low, high) => high - low }, ones)
      (few.map(row => (row zip parts).map { case (part, (low, high)) => part.getOrElse(U(0, high - low bits)) }
        .reduce((low, high) => high @@ low)), left)
    }

  /** No part is wider: words are quick in the cycle model. */
  private val limb = 64

  /** Full adders until two rows are left, and the ones that are left. */
  @annotation.tailrec
  private def reduced(all: Seq[Parts], widths: Seq[Int], ones: Int): (Seq[Parts], Int) = all match {
    case a +: b +: c +: more =>
      val enters = Option.when(ones > 0)(True)
      val (sum, carry, _) = (Seq(a, b, c).transpose zip widths).foldLeft((Seq(): Parts, Seq(): Parts, enters)) {
        case ((sums, carries, enters), (three, width)) =>
          val (sum, carry, leaves) = added(three.flatten, enters, width)
          (sums :+ sum, carries :+ carry, leaves)
      }
      reduced(more ++ Seq(sum, carry), widths, if (ones > 0) ones - 1 else 0)
    case _ => (all, ones)
  }

  /** A part of up to three rows as two, and the carry that leaves it. Two rows stay as they are if no carry enters. */
  private def added(rows: Seq[UInt], enters: Option[Bool], width: Int): (Option[UInt], Option[UInt], Option[Bool]) =
    if (rows.size + enters.size <= 2) (rows.headOption, rows.lift(1).orElse(enters.map(_.asUInt.resize(width))), None)
    else {
      val sum = rows.reduce(_ ^ _)
      val pairs = rows.combinations(2).map { case Seq(x, y) => x & y }.toSeq
      val carry = pairs.reduceOption(_ | _).getOrElse(U(0, width bits))
      val low = enters.getOrElse(False).asUInt
      (Some(sum), Some(if (width == 1) low else carry(width - 2 downto 0) @@ low), Some(carry.msb))
    }
}
