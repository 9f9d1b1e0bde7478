package weir.common
import spinal.core._

/** Values that exist once a queue. */
object PerQueue {
  /** The value of `queue`; with one queue there is nothing to choose. */
  def apply[T <: Data](values: Vec[T], queue: UInt): T = if (values.size == 1) values(0) else values(queue.resized)

  /** Bit q is high if `valid` and `queue` is q. */
  def select(queues: Int, valid: Bool, queue: UInt): Bits = {
    val bits = B(0, queues bits)
    when(valid)(for (q <- 0 until queues) when(queue === q)(bits(q) := True))
    bits
  }

  /** Bit `queue` of a value with a bit a queue. */
  def bit(bits: Bits, queue: UInt): Bool = if (bits.getWidth == 1) bits(0) else bits(queue.resized)
}
