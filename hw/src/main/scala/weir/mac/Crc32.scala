package weir.mac
import spinal.core._

/** CRC-32 of IEEE 802.3 (3.2.9) as linear maps. The state is the register of the bitwise form that shifts right, lowest
  * bit of a byte first; it starts as all ones, and the FCS is its complement, lowest byte first.
  *
  * Zero bytes act on the state by an invertible map. So a word that is not full is taken as filled up with zeros, which
  * needs one circuit for all lengths; a receiver compares with what those zeros make of the residue, and a transmitter
  * takes them back with [[without]].
  */
object Crc32 {
  private val polynomial = 0xEDB88320L
  val ones: Long = 0xFFFFFFFFL
  /** The state after a frame with its right FCS. */
  val residue: Long = 0xDEBB20E3L

  private def shift(state: Long): Long = (state >> 1) ^ (if ((state & 1) != 0) polynomial else 0)
  private def unshift(state: Long): Long =
    if ((state >> 31) != 0) (((state ^ polynomial) << 1) | 1) & ones else (state << 1) & ones
  private def repeat(times: Int, step: Long => Long)(state: Long): Long = (0 until times).foldLeft(state)((s, _) => step(s))

  /** The state `bytes` zero bytes later. */
  def zeros(state: Long, bytes: Int): Long = repeat(8 * bytes, shift)(state)

  /** What the bits of `input` contribute to the state, when bit i alone makes `column(i)`. */
  private def linear(input: Bits, column: Int => Long): Bits = {
    val columns = (0 until input.getWidth).map(column)
    def row(bit: Int) = columns.zipWithIndex.collect { case (c, i) if ((c >> bit) & 1) != 0 => BigInt(1) << i }.sum
    Vec((0 until 32).map(bit => (input & B(row(bit), input.getWidth bits)).xorR)).asBits
  }

  /** The state `bytes` zero bytes later. */
  def zeros(state: Bits, bytes: Int): Bits = linear(state, i => zeros(1L << i, bytes))

  /** The state `bytes` zero bytes earlier. */
  def without(state: Bits, bytes: Int): Bits = linear(state, i => repeat(8 * bytes, unshift)(1L << i))

  /** What the bytes of `data`, lowest first, add to the state that as many zeros leave. */
  def of(data: Bits): Bits = {
    val bytes = data.getWidth / 8
    linear(data, i => zeros(1L << (i % 8), bytes - i / 8))
  }

  /** The state after the bytes of `data`. */
  def next(state: Bits, data: Bits): Bits = zeros(state, data.getWidth / 8) ^ of(data)
}
