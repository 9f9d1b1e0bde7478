package weir.board.uart
import spinal.core._
import spinal.lib._

/** Bytes onto a serial line: 8 data bits, no parity, one stop bit. Bytes follow each other without a gap if the next one
  * is there as the stop bit ends. The line is high in reset and from then on; it comes from a register.
  */
class UartTransmit(c: UartConfig) extends Component {
  val byte = slave(Stream(Bits(8 bits)))
  val txd = out Bool ()

  val timer = new BitTimer(c)
  /** bits to come, the one on the line included */
  val left = Reg(UInt(4 bits)) init 0
  val bits = Reg(Bits(9 bits)) init 0x1FF
  byte.ready := left === 0 || (left === 1 && timer.due)
  when(left === 0)(timer.restart(half = false))
  when(left =/= 0 && timer.due) {
    left := left - 1
    bits := True ## bits(8 downto 1)
  }
  when(byte.fire) {
    left := 10
    bits := byte.payload ## False
  }
  txd := bits(0)
}
