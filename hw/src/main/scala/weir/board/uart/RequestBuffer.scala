package weir.board.uart
import spinal.core._
import spinal.lib._

/** A byte of a frame. */
case class BufferWrite(c: UartConfig) extends Bundle {
  val address = UInt(log2Up(c.requestBytes) bits)
  val data = Bits(8 bits)
}

/** Room for two requests: one that is answered and one that comes in meanwhile. A third one finds no room.
  *
  * `read.data` is the byte at `read.address` two cycles earlier, of the request that `request` offers with its length.
  */
class RequestBuffer(c: UartConfig) extends Component {
  val write = in(Flow(BufferWrite(c)))
  val frame = in(Flow(UInt(c.lengthWidth bits)))
  val room = out Bool ()
  val request = master(Stream(UInt(c.lengthWidth bits)))
  val read = new Bundle {
    val address = in UInt (log2Up(c.requestBytes) bits)
    val data = out Bits (8 bits)
  }

  val full = Vec(RegInit(False), 2)
  val lengths = Vec(Reg(UInt(c.lengthWidth bits)), 2)
  val writing, reading = RegInit(U(0, 1 bits))
  val memory = Mem(Bits(8 bits), 2 * c.requestBytes)
  memory.write(writing @@ write.address, write.data, write.valid)
  read.data := RegNext(memory.readSync(reading @@ read.address))

  room := !full(writing)
  when(frame.valid) {
    full(writing) := True
    lengths(writing) := frame.payload
    writing := ~writing
  }
  request.valid := full(reading)
  request.payload := lengths(reading)
  when(request.fire) {
    full(reading) := False
    reading := ~reading
  }
}
