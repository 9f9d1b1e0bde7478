package weir.board.uart
import spinal.core._
import spinal.lib._

/** The frames of docs/register-protocol.md out of bytes: takes the stuffing off, checks the CRC.
  *
  * Payload and CRC are written as they come. `frame` says that a good one has ended, with the length of its payload; what is
  * no frame ends without a word: a wrong CRC, fewer than 6 bytes, more than `requestBytes`, 0x7D before 0x7E, a line error inside,
  * or no `room` when a byte of it came. The byte of a flag comes at least 80 cycles after the one before it, the CRC needs 8.
  */
class FrameDecoder(c: UartConfig) extends Component {
  val byte = in(Flow(Bits(8 bits)))
  /** the line had an error */
  val lineBroken = in Bool ()
  /** a frame can be written */
  val room = in Bool ()
  val write = out(Flow(BufferWrite(c)))
  val frame = out(Flow(UInt(c.lengthWidth bits)))

  val crc = new SerialCrc
  val state = new Area {
    val used = Reg(UInt(c.lengthWidth bits)) init 0
    val escaped, broken = RegInit(False)
  }
  val isFlag = byte.payload === Protocol.flag
  val data = byte.payload ^ (state.escaped ? B(Protocol.turn, 8 bits) | B(0, 8 bits))
  val isData = byte.valid && !isFlag && (state.escaped || byte.payload =/= Protocol.escape)
  val fits = room && state.used =/= c.requestBytes

  write.valid := isData && fits
  write.address := state.used.resized
  write.data := data
  frame.valid := byte.valid && isFlag && !state.broken && !state.escaped && state.used >= Protocol.leastBytes && crc.right
  frame.payload := state.used - Protocol.crcBytes

  when(byte.valid && !isFlag) {
    state.escaped := !isData
    when(isData) {
      state.used := state.used + fits.asUInt
      crc.feed(data)
      when(!fits)(state.broken := True)
    }
  }
  when(lineBroken)(state.broken := True)
  when(byte.valid && isFlag) {
    state.used := 0
    state.escaped := False
    state.broken := False
    crc.restart()
  }
}
