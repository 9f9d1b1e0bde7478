package weir.board.uart
import spinal.core._
import spinal.lib._

/** Bytes out of a serial line: 8 data bits, no parity, one stop bit.
  *
  * Each bit is looked at in its middle, counted from the falling edge of the start bit, so a byte is right as long as
  * the sender's bits are off by less than (1/2 − 1.5 cycles)/9.5: 5 % at 62 cycles a bit. Pulses of one cycle are not
  * seen, nor a start bit that has gone by its middle. The next start bit may come half a bit after the middle of the stop bit.
  * If the stop bit is low, there is no byte but `broken` for a cycle, and the line has to be high again before anything
  * is heard: a break is one such error.
  */
class UartReceive(c: UartConfig) extends Component {
  val rxd = in Bool ()
  val byte = out(Flow(Bits(8 bits)))
  val broken = out Bool ()

  val line = new Area {
    val synchronous = BufferCC(rxd, init = True)
    val before = RegNext(synchronous) init True
    val earlier = RegNext(before) init True
    /** the majority of three samples */
    val high = RegNext((synchronous && before) || (synchronous && earlier) || (before && earlier)) init True
  }

  val timer = new BitTimer(c)
  val bits = new Area {
    /** the line has been high */
    val armed, busy = RegInit(False)
    /** bits that have passed, the start bit included */
    val passed = Reg(UInt(4 bits))
    val data = Reg(Bits(8 bits))
    val ends = busy && timer.due && passed === 9
    when(line.high)(armed := True)
    when(!busy) {
      passed := 0
      timer.restart(half = true)
      busy := armed && !line.high
    } elsewhen (timer.due) {
      passed := passed + 1
      when(passed =/= 9)(data := line.high ## data(7 downto 1))
      when(passed === 0 && line.high)(busy := False)
      when(passed === 9) {
        busy := False
        armed := line.high
      }
    }
  }
  byte.valid := RegNext(bits.ends && line.high) init False
  byte.payload := bits.data
  broken := RegNext(bits.ends && !line.high) init False
}
