package weir.board.uart
import spinal.core._
import spinal.lib._

/** Payloads as the frames of docs/register-protocol.md: flag, stuffed bytes, CRC, flag. The first byte may follow the flag in
  * the next cycle; between bytes are at least eight, for the CRC.
  */
class FrameEncoder extends Component {
  val payload = slave(Stream(Fragment(Bits(8 bits))))
  val byte = master(Stream(Bits(8 bits)))

  object Step extends SpinalEnum {
    val begin, body, check, end = newElement()
  }
  val step = RegInit(Step.begin)
  /** an escape has been sent, its byte has not */
  val escaped = RegInit(False)
  val crc = new SerialCrc
  val checked = Reg(UInt(2 bits)) init 0

  val data = (step === Step.check) ? ~crc.state(7 downto 0) | payload.fragment
  val special = data === Protocol.flag || data === Protocol.escape
  /** of the frame's inside: can be sent now */
  val ready = !crc.busy && ((step === Step.check) || payload.valid)
  val whole = byte.fire && (escaped || !special)

  byte.valid := ready
  byte.payload := escaped ? (data ^ Protocol.turn) | (special ? B(Protocol.escape, 8 bits) | data)
  payload.ready := step === Step.body && whole
  switch(step) {
    is(Step.begin) {
      byte.valid := payload.valid
      byte.payload := Protocol.flag
      when(byte.fire) {
        crc.restart()
        step := Step.body
      }
    }
    is(Step.body) {
      when(byte.fire)(escaped := special && !escaped)
      when(payload.fire) {
        crc.feed(payload.fragment)
        when(payload.last)(step := Step.check)
      }
    }
    is(Step.check) {
      when(byte.fire)(escaped := special && !escaped)
      when(whole) {
        crc.skipByte()
        checked := checked + 1
        when(checked === 3)(step := Step.end)
      }
    }
    is(Step.end) {
      byte.valid := True
      byte.payload := Protocol.flag
      when(byte.fire)(step := Step.begin)
    }
  }
}
