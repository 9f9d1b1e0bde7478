package weir.receive
import spinal.core._

/** The Toeplitz hash of receive side scaling, its lowest bits, over source, destination and ports, with the key of
  * Microsoft's "RSS Hashing Functions": a linear function of the input's bits, so that it can be summed up word by word.
  */
object FlowHash {
  private val key: Seq[Int] = Seq(
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa)

  private def keyBit(n: Int): Boolean = ((key(n / 8) >> (7 - n % 8)) & 1) == 1
  /** What input bit `n` adds to bit `bit` (0 lowest) of the 32-bit hash. */
  private def column(n: Int, bit: Int): Boolean = keyBit(n + 31 - bit)

  /** The part of the hash's lowest `width` bits that some bytes of the input make.
    *
    * @param word  bytes, the first in bits 7:0
    * @param bytes place in the word → place in the hash's input
    */
  def part(word: Bits, bytes: Map[Int, Int], width: Int): Bits = {
    val bits = for ((at, input) <- bytes.toSeq.sorted; bit <- 0 until 8) yield (word(8 * at + 7 - bit), 8 * input + bit)
    Cat((0 until width).map(bit => bits.filter { case (_, n) => column(n, bit) }.map(_._1).foldLeft(False: Bool)(_ ^ _)))
  }
}
