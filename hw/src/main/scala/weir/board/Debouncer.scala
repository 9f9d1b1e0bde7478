package weir.board
import spinal.core._
import spinal.lib._

/** A button that bounces: its level counts when it has rested at another one for 2^20 cycles (17 ms at 62.5 MHz).
  *
  * @param pin high while it is pressed, of any clock
  */
class Debouncer(pin: Bool) extends Area {
  private val level = BufferCC(pin, init = False)
  val rest = Reg(UInt(20 bits)) init 0
  val pressed = RegInit(False)
  private val settled = rest.andR && level =/= pressed
  when(level === pressed)(rest := 0) otherwise (rest := rest + 1)
  when(settled)(pressed := level)
  /** pulse: it went down */
  val press: Bool = settled && level
}
