package weir.common
import spinal.core._

/** The fixed-point numbers of the policies: unsigned, so many bits before the point and so many after it. */
object Fixed {
  /** UQ`whole`.`fraction` */
  case class Format(whole: Int, fraction: Int) {
    val width: Int = whole + fraction
    def apply(): UInt = UInt(width bits)
    def apply(bits: BigInt): UInt = U(bits, width bits)
    def zero: UInt = apply(0)
    /** 1 */
    def one: UInt = apply(BigInt(1) << fraction)
    /** all bits are `bit` */
    def all(bit: Bool): UInt = U(width bits, default -> bit)
  }

  /** an average in its queue's unit; [[distance]] is from it to a threshold */
  val average = Format(21, 22)
  /** in the queue's unit */
  val threshold = Format(21, 11)
  /** w, and what w leaves of an average */
  val weight = Format(0, 36)
  /** p that may be 1 */
  val probability = Format(1, 32)
  /** max_p, p below 1 */
  val fraction = Format(0, 32)
  /** κ: the size of a packet in mean packets */
  val size = Format(12, 20)
  /** counts of packets, in packets or mean packets: h, g */
  val spread = Format(16, 20)
  /** idle slots */
  val slots = Format(22, 0)

  /** The difference of an average and a threshold, or of an average and twice a threshold. */
  def distance: SInt = SInt(average.width + 1 bits)
  def doubleDistance: SInt = SInt(average.width + 2 bits)
}
