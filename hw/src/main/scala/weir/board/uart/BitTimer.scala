package weir.board.uart
import spinal.core._

/** Tells when a bit is over. Bits have the length of the baud rate on the average; each is off by less than a cycle. */
class BitTimer(c: UartConfig) extends Area {
  val left = Reg(UInt(log2Up(c.bitUnits + 1) bits))
  val due = left <= c.cycleUnits
  left := left - c.cycleUnits
  when(due)(left := left + (c.bitUnits - c.cycleUnits))

  /** The bit ends a whole bit, or half of it, from now. */
  def restart(half: Boolean): Unit = left := (if (half) c.bitUnits / 2 else c.bitUnits)
}
