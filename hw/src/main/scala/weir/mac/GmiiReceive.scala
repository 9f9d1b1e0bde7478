package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat

/** Receives frames from GMII at 1 Gb/s: finds the start-of-frame delimiter, checks the FCS and takes it off, makes beats
  * of 8 bytes.
  *
  * One byte per cycle of 125 MHz, gaps of one byte or more. The last beat comes 5 cycles after the last byte. `tuser` on
  * it as of [[XgmiiReceive]]. A frame of 4 bytes or less, or without a delimiter, gives no beat; the preamble may be of
  * any length. The sink cannot hold beats back. Reset forgets the frame; the rest of it is ignored.
  */
class GmiiReceive extends Component {
  val io = new Bundle {
    val gmii = in(GmiiByte())
    val beat = master(Flow(AxisBeat(64)))
    val end = master(Flow(ReceiveEnd()))
  }
  noIoPrefix()
  io.gmii.data.setName("gmii_rxd")
  io.gmii.valid.setName("gmii_rx_dv")
  io.gmii.error.setName("gmii_rx_er")
  FlowAxis.name(io.beat, "m_axis")

  val port = new Area {
    val data = RegNext(io.gmii.data)
    val valid = RegNext(io.gmii.valid) init False
    val error = RegNext(io.gmii.error)
  }

  object State extends SpinalEnum {
    val skip, preamble, data = newElement()
  }

  /** The bytes of a frame, FCS included. */
  val parse = new Area {
    /** after reset up to the end of what is on the line */
    val state = RegInit(State.skip)
    private val inside = state === State.data
    when(!port.valid) {
      state := State.preamble
    } elsewhen (state === State.preamble) {
      when(port.data === Xgmii.sfd) {
        state := State.data
      } elsewhen (port.data =/= Xgmii.preamble) {
        state := State.skip
      }
    }
    val valid = RegNext(inside && port.valid) init False
    val last = RegNext(inside && !port.valid) init False
    val starts = RegNext(!inside) init True
    val data = RegNextWhen(port.data, inside)
    val error = RegNextWhen(port.error, inside)
  }

  val check = new Area {
    val crc = Reg(Bits(32 bits))
    val bytes = Reg(UInt(MacLimits.lengthWidth bits))
    val error = Reg(Bool())
    when(parse.starts) {
      crc.setAll()
      bytes := 0
      error := False
    }
    when(parse.valid) {
      crc := Crc32.next(crc, parse.data)
      when(!bytes.andR)(bytes := bytes + 1)
      when(parse.error)(error := True)
    }
    val end = Flow(ReceiveEnd())
    end.valid := RegNext(parse.last) init False
    end.bytes := RegNextWhen(bytes, parse.last)
    end.badFcs := RegNextWhen(crc =/= Crc32.residue, parse.last)
    end.error := RegNextWhen(error, parse.last)
    end.runt := RegNextWhen(bytes < MacLimits.minBytes, parse.last)
    end.oversize := RegNextWhen(bytes > MacLimits.maxBytes, parse.last)
  }
  io.end << check.end.m2sPipe()

  /** Leaves the last four bytes out, and holds a full word back until the next byte or the end. */
  val words = new Area {
    val bytes = History(parse.data, 0 to 4, when = parse.valid)
    /** bytes in the delay line, stays at 4 */
    val waiting = Reg(UInt(3 bits))
    val count = Reg(UInt(4 bits))
    val word = Reg(Bits(64 bits))
    private val push = parse.valid && waiting === 4
    when(parse.starts) {
      waiting := 0
      count := 0
    }
    when(parse.valid && waiting =/= 4)(waiting := waiting + 1)
    when(push) {
      word := bytes(4) ## word(63 downto 8)
      count := (count === 8) ? U(1, 4 bits) | count + 1
    }
    private val held = RegNextWhen(word, push && count === 8)
    val ended = RegNext(parse.last) init False
    val endCount = RegNextWhen(count, parse.last)
    val full = RegNext(push && count === 8) init False

    val beat = Flow(AxisBeat(64))
    beat.valid := full || (ended && endCount =/= 0)
    beat.tdata := full ? held | (word |>> ((U(8) - endCount) @@ U(0, 3 bits)))
    beat.tkeep := 0xFF
    when(!full)(beat.tkeep := B(0xFF, 8 bits) |>> (U(8) - endCount))
    beat.tlast := !full
    beat.tuser(0) := !full && check.end.bad
  }
  io.beat << words.beat.m2sPipe()
}
