package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.{Axis, AxisBeat}

/** Sends frames on GMII at 1 Gb/s: preamble, padding to 60 bytes, FCS, a gap of 12 bytes.
  *
  * One byte per cycle of 125 MHz; a minimum frame takes 84. The preamble starts 3 cycles after the first beat is
  * offered; a beat is taken with its last byte, every 8 cycles.
  *
  * `s_axis_tvalid` must not drop inside a frame. If it does, or if `tuser` is set on the last beat, the last byte, which
  * padding may follow, is sent with `gmii_tx_er` and the FCS is inverted; after an underrun the rest is discarded. Reset ends at once.
  */
class GmiiTransmit extends Component {
  val io = new Bundle {
    val s_axis = slave(Stream(AxisBeat(64)))
    val gmii = out(GmiiByte())
    val end = master(Flow(TransmitEnd()))
  }
  noIoPrefix()
  Axis.name(io.s_axis, "s_axis")
  io.gmii.data.setName("gmii_txd")
  io.gmii.valid.setName("gmii_tx_en")
  io.gmii.error.setName("gmii_tx_er")

  object State extends SpinalEnum {
    val idle, preamble, data, pad, fcs, gap = newElement()
  }

  val frame = new Area {
    val state = RegInit(State.idle)
    /** byte of the preamble, the FCS, the gap, or of the word */
    val step = Reg(UInt(4 bits)) init 0
    val bytes = Reg(UInt(MacLimits.lengthWidth bits))
    val bad, underrun = Reg(Bool())
    val discard = RegInit(False)
    /** the byte in this state, but for the FCS */
    val byte = Bits(8 bits)
    val failed = Bool()

    private val source = io.s_axis
    private val inData = state === State.data
    private val starved = inData && !source.valid
    private val lane = step(2 downto 0)
    private val endsBeat = lane === 7 || !(source.tkeep |>> (lane + U(1, 4 bits)))(0)
    private val endsFrame = inData && (starved || (endsBeat && source.tlast))
    source.ready := discard || (inData && endsBeat)
    private val counted = inData || state === State.pad
    private val enough = bytes >= MacLimits.minBytes - 5
    failed := starved || (endsFrame && source.tuser(0))

    byte := state.mux(
      State.preamble -> ((step === 7) ? B(Xgmii.sfd, 8 bits) | B(Xgmii.preamble, 8 bits)),
      State.data -> (starved ? B(0, 8 bits) | source.tdata.subdivideIn(8 bits)(lane)),
      default -> B(0, 8 bits)
    )

    step := step + 1
    when(counted && !bytes.andR)(bytes := bytes + 1)
    when(discard && source.fire && source.tlast)(discard := False)
    switch(state) {
      is(State.idle) {
        step := 0
        bytes := 0
        bad := False
        underrun := False
        when(source.valid && !discard)(state := State.preamble)
      }
      is(State.preamble) {
        when(step === 7) {
          state := State.data
          step := 0
        }
      }
      is(State.data) {
        step(3) := False
        when(endsFrame) {
          state := enough ? State.fcs | State.pad
          step := 0
        }
        when(failed)(bad := True)
        when(starved) {
          underrun := True
          discard := True
        }
      }
      is(State.pad) {
        when(enough) {
          state := State.fcs
          step := 0
        }
      }
      is(State.fcs) {
        when(step === 3) {
          state := State.gap
          step := 0
        }
      }
      is(State.gap) {
        // the idle state is the last byte of the gap
        when(step === MacLimits.gapBytes - 2)(state := State.idle)
      }
    }
    val end = Flow(TransmitEnd())
    end.valid := state === State.fcs && step === 3
    end.bytes := bytes.andR ? bytes | bytes + 4
    end.aborted := bad
    end.underrun := underrun
  }
  io.end << frame.end.m2sPipe()

  /** The FCS, a cycle later. */
  val check = new Area {
    private def is(states: SpinalEnumElement[State.type]*) = RegNext(states.map(frame.state === _).orR) init False
    val active = is(State.preamble, State.data, State.pad, State.fcs)
    val counted = is(State.data, State.pad)
    val fcs = is(State.fcs)
    val failed = RegNext(frame.failed) init False
    val byte = RegNext(frame.byte)
    val crc = Reg(Bits(32 bits))
    when(counted) {
      crc := Crc32.next(crc, byte)
    } elsewhen fcs {
      crc := crc |>> 8
    } otherwise crc.setAll()
  }

  val port = new Area {
    io.gmii.data := RegNext(check.fcs ? (check.crc(7 downto 0) ^ B(8 bits, default -> !frame.bad)) | check.byte) init 0
    io.gmii.valid := RegNext(check.active) init False
    io.gmii.error := RegNext(check.failed) init False
  }
}
