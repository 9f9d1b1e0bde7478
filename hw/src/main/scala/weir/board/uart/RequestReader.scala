package weir.board.uart
import spinal.core._
import spinal.lib._

/** Walks through a request in the [[RequestBuffer]], byte by byte. A byte is there three cycles after the one before it was
  * taken, after a `seek` or a `skip`.
  */
class RequestReader(c: UartConfig) extends Component {
  /** bytes of the request */
  val length = in UInt (c.lengthWidth bits)
  /** goes to this byte */
  val seek = in(Flow(UInt(2 bits)))
  /** leaves so many bytes out */
  val skip = in(Flow(UInt(c.lengthWidth bits)))
  val byte = master(Stream(Bits(8 bits)))
  /** bytes that have not been taken */
  val left = out(Reg(UInt(c.lengthWidth bits)))
  val read = new Bundle {
    val address = out(Reg(UInt(log2Up(c.requestBytes) bits)))
    val data = in Bits (8 bits)
  }

  /** bit n: `address` has stood for n + 1 cycles */
  val stands = Reg(Bits(2 bits)) init 0
  stands := stands(0) ## True
  private def move(): Unit = stands := 0

  byte.valid := stands(1)
  byte.payload := read.data
  when(byte.fire) {
    read.address := read.address + 1
    left := left - 1
    move()
  }
  when(skip.valid) {
    read.address := read.address + skip.payload.resized
    left := left - skip.payload
    move()
  }
  when(seek.valid) {
    read.address := seek.payload.resized
    left := length - seek.payload
    move()
  }
}
