package weir.aqm

import spinal.core._

/** Sums of many terms with one carry chain: terms that do not overlap share a row, a level of full adders (one LUT)
  * turns three rows into two, and only the last two rows are added.
  */
object CarrySave {
  /** Terms packed into rows; a term counts `2^offset` times. */
  private def pack(terms: Seq[(UInt, Int)]): Seq[UInt] =
    terms.sortBy(_._2).foldLeft(Seq.empty[UInt]) { case (rows, (term, offset)) =>
      rows.indexWhere(_.getWidth <= offset) match {
        case -1 => rows :+ (if (offset == 0) term else term @@ U(0, offset bits))
        case r if rows(r).getWidth == offset => rows.updated(r, term @@ rows(r))
        case r => rows.updated(r, term @@ U(0, offset - rows(r).getWidth bits) @@ rows(r))
      }
    }

  /** Σ term·2^offset, `width` bits of it. */
  def sum(terms: Seq[(UInt, Int)], width: Int): UInt = rows(pack(terms).map(_.resize(width)), width)

  /** `from − Σ term·2^offset`, `width` bits of it: −x is ~x + 1, and the ones fit where carries enter. */
  def difference(from: UInt, terms: Seq[(UInt, Int)], width: Int): UInt = {
    val inverted = pack(terms).map(t => ~t.resize(width))
    rows(from.resize(width) +: inverted, width, inverted.size)
  }

  /** Σ rows + ones, ones less than the number of rows */
  private def rows(all: Seq[UInt], width: Int, ones: Int = 0): UInt = all match {
    case Seq(a) => a
    case Seq(a, b) => if (ones == 0) a + b else a - ~b
    case a +: b +: c +: more =>
      val carry = (a & b) | (a & c) | (b & c)
      val shifted = carry(width - 2 downto 0) @@ U(if (ones > 0) 1 else 0, 1 bit)
      rows(more ++ Seq(a ^ b ^ c, shifted), width, if (ones > 0) ones - 1 else 0)
  }
}
