package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat

/** Receives frames from 64-bit XGMII: start in lane 0 or lane 4, gaps of 5 bytes or more, FCS checked and taken off.
  *
  * Latency 8 cycles from the word with the terminate to the last beat, 9 if that word holds more than 4 bytes; line rate.
  * A frame whose FCS is wrong, which holds an error character, does not end with terminate, is shorter than 64 bytes or
  * longer than 9220 with its FCS, has `tuser` on its last beat. One of 4 bytes or less, or without a start-of-frame delimiter in its lane, gives no beat. The sink
  * cannot hold beats back. Reset forgets the frame; what is left of it on the line is ignored.
  */
class XgmiiReceive extends Component {
  val io = new Bundle {
    val xgmii = in(XgmiiWord())
    val beat = master(Flow(AxisBeat(64)))
    val end = master(Flow(ReceiveEnd()))
  }
  noIoPrefix()
  io.xgmii.data.setName("xgmii_rxd")
  io.xgmii.control.setName("xgmii_rxc")
  FlowAxis.name(io.beat, "m_axis")

  /** A lane with the control characters told apart. */
  case class Lane() extends Bundle {
    val data = Bits(8 bits)
    val control, start, terminate, error = Bool()
  }

  val port = new Area {
    val word = Xgmii.register(io.xgmii)
    val lanes = Vec.tabulate(8) { n =>
      val lane = Lane()
      lane.data := word.data(8 * n, 8 bits)
      lane.control := word.control(n)
      lane.start := lane.control && lane.data === Xgmii.start
      lane.terminate := lane.control && lane.data === Xgmii.terminate
      lane.error := lane.control && lane.data === Xgmii.error
      lane
    }
  }

  /** Turns words so that the start character is in lane 0. */
  val align = new Area {
    val before = RegNext(port.lanes)
    /** low in the first cycle after reset: `before` may be of the time before */
    val known = RegNext(True) init False
    val shifted = Reg(Bool())
    private val atFirst = before(0).start && known
    private val atFifth = before(4).start && known
    val turned = atFifth || (shifted && !atFirst)
    shifted := turned
    val lanes = RegNext(turned ? Vec(before.drop(4) ++ port.lanes.take(4)) | before)
    val start = RegNext(atFirst || atFifth) init False
  }

  /** What a word is to the frame. */
  val parse = new Area {
    private val lanes = align.lanes
    private val controls = lanes.map(_.control).asBits
    private val opens = align.start && !controls(7 downto 1).orR && lanes(7).data === Xgmii.sfd
    val inside = RegInit(False)
    /** any control character but an error ends the frame */
    private val enders = Vec(lanes.map(lane => lane.control && !lane.error)).asBits
    private val first = OHMasking.first(enders)
    val ends = inside && enders.orR
    private val clean = (first & lanes.map(_.terminate).asBits).orR
    private val before = Vec.tabulate(8)(lane => !enders(lane downto 0).orR)
    private val errors = (Vec(lanes.map(_.error)).asBits & before.asBits).orR
    when(ends)(inside := False)
    when(opens)(inside := True)

    val valid = RegNext(inside) init False
    val last = RegNext(ends) init False
    val opened = RegNext(opens) init False
    val count = RegNextWhen(OHToUInt(first), inside)
    val faulty = RegNextWhen(errors || (ends && !clean), inside)
    val word = RegNextWhen(Vec.tabulate(8)(n => lanes(n).data & B(8 bits, default -> before(n))).asBits, inside)
  }

  val check = new Area {
    val contribution = RegNextWhen(Crc32.of(parse.word), parse.valid)
    val slot = new Area {
      val valid = RegNext(parse.valid) init False
      val last = RegNext(parse.valid && parse.last) init False
      val opened = RegNext(parse.opened) init False
      val count = RegNextWhen(parse.count, parse.valid)
      val faulty = RegNextWhen(parse.faulty, parse.valid)
      val word = RegNextWhen(parse.word, parse.valid)
    }
    val state = Reg(Bits(32 bits))
    private val nextState = Crc32.zeros(state, 8) ^ contribution
    /** whole words of the frame */
    val full = Reg(UInt(MacLimits.lengthWidth - 3 bits))
    val broken = Reg(Bool())
    when(slot.valid) {
      state := nextState
      broken := broken || slot.faulty
      when(!slot.last && !full.andR)(full := full + 1)
    }
    // a word that ends a frame and starts the next one is both: what follows belongs to the next
    when(slot.opened) {
      state.setAll()
      full := 0
      broken := False
    }
    /** of the frame that ends */
    val finish = new Area {
      val valid = RegNext(slot.valid && slot.last) init False
      val crc = RegNextWhen(nextState, slot.valid)
      val words = RegNextWhen(full, slot.valid)
      val error = RegNextWhen(broken || slot.faulty, slot.valid)
      val count = RegNextWhen(slot.count, slot.valid)
    }
  }

  val result = new Area {
    private val f = check.finish
    private val wanted = (0 until 8).map(n => B(Crc32.zeros(Crc32.residue, 8 - n), 32 bits))
    private val bytes = f.words @@ f.count
    val end = Flow(ReceiveEnd())
    end.valid := RegNext(f.valid) init False
    end.badFcs := RegNextWhen(f.crc =/= Vec(wanted)(f.count), f.valid)
    end.error := RegNextWhen(f.error, f.valid)
    end.runt := RegNextWhen(f.words < MacLimits.minBytes / 8, f.valid)
    end.oversize := RegNextWhen(bytes > MacLimits.maxBytes, f.valid)
    end.bytes := RegNextWhen(bytes, f.valid)
  }
  io.end << result.end

  /** Holds a word back until it is known that it is no part of the FCS. */
  val strip = new Area {
    private def late[T <: Data](value: T) = RegNext(RegNext(value))
    private val valid = Delay(check.slot.valid, 2, init = False)
    private val last = Delay(check.slot.last, 2, init = False)
    private val count = late(check.slot.count)
    private val word = late(check.slot.word)
    val held = RegInit(False)
    val heldWord = RegNextWhen(word, valid)
    /** the last word goes out a cycle later, alone */
    val rest = RegInit(False)
    val restCount = Reg(UInt(2 bits))
    val restBad = Reg(Bool())
    when(valid)(held := !last)
    rest := valid && last && count > 4
    restCount := (count - 5).resized
    restBad := result.end.bad

    val beat = Flow(AxisBeat(64))
    beat.valid := (valid && held) || rest
    beat.tdata := heldWord
    beat.tkeep := 0xFF
    beat.tlast := rest || (last && count <= 4)
    beat.tuser := 0
    when(rest) {
      beat.tkeep := Vec((0 until 4).map(n => B((2 << n) - 1, 8 bits)))(restCount)
      beat.tuser(0) := restBad
    } elsewhen beat.tlast {
      beat.tkeep := Vec((0 until 8).map(n => B((16 << (n min 4)) - 1, 8 bits)))(count)
      beat.tuser(0) := result.end.bad
    }
  }
  io.beat << strip.beat.m2sPipe()
}
