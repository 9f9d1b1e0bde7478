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

  /** Σ term·2^offset, `width` bits of it, [[Meaningful]] with `enable`. */
  def sum(terms: Seq[(UInt, Int)], width: Int, enable: Bool): UInt =
    rows(pack(terms).map(_.resize(width)), width, enable)

  /** The same and `carry`, which enters the last addition. */
  def sum(terms: Seq[(UInt, Int)], width: Int, carry: Bool, enable: Bool): UInt = {
    val Seq(a, b) = two(pack(terms).map(_.resize(width)), width, enable)._1
    ((a @@ carry) + (b @@ carry)) >> 1
  }

  /** `from − Σ term·2^offset`, `width` bits of it: −x is ~x + 1, and the ones fit where carries enter. */
  def difference(from: UInt, terms: Seq[(UInt, Int)], width: Int, enable: Bool): UInt =
    difference(Seq(from), terms, width, enable)

  /** The same of the sum of `from`. */
  def difference(from: Seq[UInt], terms: Seq[(UInt, Int)], width: Int, enable: Bool): UInt = {
    val inverted = pack(terms).map(t => ~t.resize(width))
    rows(from.map(_.resize(width)) ++ inverted, width, enable, inverted.size)
  }

  /** Σ rows + ones, ones less than the number of rows */
  private def rows(all: Seq[UInt], width: Int, enable: Bool, ones: Int = 0): UInt = {
    val (few, left) = two(all, width, enable, ones)
    last(few, left)
  }

  /** Two rows or less, and the ones that are left */
  private def two(all: Seq[UInt], width: Int, enable: Bool, ones: Int = 0): (Seq[UInt], Int) =
    if (all.size <= 2) (all, ones)
    else {
      val (two, left) = reduced(all.map(limbs(_, width).map(Meaningful(enable)(_))), enable, ones)
      (two.map(_.reduce((low, high) => high @@ low)), left)
    }

  private def last(rows: Seq[UInt], ones: Int): UInt = rows match {
    case Seq(a)    => a
    case Seq(a, b) => if (ones == 0) a + b else a - ~b
  }

  /** The rows are bits side by side up to the last addition: in words they are quick in the cycle model. */
  private def limbs(row: UInt, width: Int): Seq[UInt] =
    (0 until width by limb).map(low => row(math.min(low + limb, width) - 1 downto low))
  private val limb = 64

  /** Full adders until two rows are left, and the ones that are left. */
  @annotation.tailrec
  private def reduced(all: Seq[Seq[UInt]], enable: Bool, ones: Int): (Seq[Seq[UInt]], Int) = all match {
    case a +: b +: c +: more =>
      val columns = (a, b, c).zipped.toSeq
      val sum = columns.map { case (x, y, z) => Meaningful(enable)(x ^ y ^ z) }
      val carry = columns.map { case (x, y, z) => Meaningful(enable)((x & y) | (x & z) | (y & z)) }
      val enters = U(if (ones > 0) 1 else 0, 1 bit) +: carry.init.map(_.msb.asUInt)
      val shifted = (carry zip enters).map { case (x, e) =>
        if (x.getWidth == 1) e else x(x.getWidth - 2 downto 0) @@ e
      }
      reduced(more ++ Seq(sum, shifted), enable, if (ones > 0) ones - 1 else 0)
    case _ => (all, ones)
  }
}
