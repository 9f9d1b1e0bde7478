package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.{Axis, AxisBeat}

/** Sends frames on 64-bit XGMII: preamble, padding to 60 bytes, FCS, terminate, gaps of 12 bytes on average.
  *
  * A frame starts in lane 0 or lane 4. Deficit idle count (IEEE 802.3, 46.3.1.4): a gap is 12 − r bytes, r = length
  * mod 4, while the deficit stays below 4, and 16 − r otherwise; a minimum frame takes 84 bytes, 10.5 words.
  * Latency 9 cycles from the first beat to the start character. `s_axis_tready` is high for a frame's beats, low for at
  * least two words between frames.
  *
  * `s_axis_tvalid` must not drop inside a frame. If it does, or if `tuser` is set on the last beat, the frame ends with
  * error characters in place of its FCS; after an underrun the rest of it is discarded. Reset sends idles at once.
  */
class XgmiiTransmit extends Component {
  val io = new Bundle {
    val s_axis = slave(Stream(AxisBeat(64)))
    val xgmii = out(XgmiiWord())
    val end = master(Flow(TransmitEnd()))
  }
  noIoPrefix()
  Axis.name(io.s_axis, "s_axis")
  io.xgmii.data.setName("xgmii_txd")
  io.xgmii.control.setName("xgmii_txc")

  /** One word on its way to the port, its bytes still where they are in a frame that starts in lane 0. */
  case class Slot() extends Bundle {
    /** the preamble; a word of data, the last one; the word after the last one, for what is left of the FCS */
    val start, data, last, tail = Bool()
    /** the frame starts in lane 4 */
    val shifted = Bool()
    val bad = Bool()
    /** bytes of data, 1 to 8; of the last word also with `tail` */
    val count = UInt(4 bits)
    val word = Bits(64 bits)
  }

  object State extends SpinalEnum {
    val gap, data, fill, tail = newElement()
  }

  /** Takes beats and decides what each word is. */
  val frame = new Area {
    val state = RegInit(State.gap)
    /** words of the gap that are left */
    val gapWords = Reg(UInt(2 bits)) init 0
    /** deficit of idles, 0 to 3 */
    val deficit = Reg(UInt(2 bits)) init 0
    val shifted, nextShifted = RegInit(False)
    /** after an underrun: up to the next `tlast` nothing is sent */
    val discard = RegInit(False)
    /** word of the frame, stays at 8 */
    val index = Reg(UInt(4 bits))
    val words = Reg(UInt(MacLimits.lengthWidth - 3 bits))
    val bad, underrun = Reg(Bool())
    val slot = Slot()

    private val taking = state === State.data
    private val source = io.s_axis
    source.ready := taking || discard
    private val starts = state === State.gap && gapWords === 0 && source.valid && !discard
    private val starved = taking && !source.valid
    private val sourceLast = taking && (source.tlast || starved)
    private val keepCount = CountOne(source.tkeep)
    private val padded = state === State.fill
    private val worth = padded ? U(0, 4 bits) | ((source.tlast && !starved) ? keepCount | U(8, 4 bits))
    private val eighth = index === 7
    private val ends = (sourceLast || padded) && index >= 7
    private val count = UInt(4 bits)
    count := 8
    when(ends)(count := (eighth && worth < 4) ? U(4, 4 bits) | worth)
    private val nowBad = bad || starved || (source.fire && source.tlast && source.tuser(0))

    slot.start := starts
    slot.data := taking || padded
    slot.last := ends
    slot.tail := state === State.tail
    slot.shifted := starts ? nextShifted | shifted
    slot.bad := (taking && nowBad) || (!taking && bad)
    slot.count := (state === State.tail) ? RegNextWhen(count, ends) | count
    slot.word := 0
    when(taking && !starved) {
      for (lane <- 0 until 8) when(source.tkeep(lane)) {
        slot.word(8 * lane, 8 bits) := source.tdata(8 * lane, 8 bits)
      }
    }

    when(discard && source.fire && source.tlast)(discard := False)
    when(starts) {
      state := State.data
      shifted := nextShifted
      index := 0
      words := 0
      bad := False
      underrun := False
    }
    when(taking || padded) {
      index := (index === 8) ? U(8, 4 bits) | index + 1
      when(!words.andR)(words := words + 1)
    }
    when(taking) {
      bad := nowBad
      when(starved) {
        underrun := True
        discard := True
      }
      when(sourceLast)(state := State.fill)
    }
    // The gap, in half words: the frame's end within its word, the deficit, the half word of its start.
    private val deficits = deficit +^ count(1 downto 0)
    private val longEnd = count < 4 || count === 8
    private val halves = U(1, 3 bits) + longEnd.asUInt + deficits(2).asUInt + shifted.asUInt
    when(ends) {
      state := (count >= 4) ? State.tail | State.gap
      deficit := deficits(1 downto 0)
      gapWords := halves(2 downto 1)
      nextShifted := halves(0)
    }
    when(state === State.tail)(state := State.gap)
    when(state === State.gap) {
      when(gapWords =/= 0)(gapWords := gapWords - 1)
      when(gapWords === 0 && !starts) {
        deficit := 0
        nextShifted := False
      }
    }
    val end = Flow(TransmitEnd())
    end.valid := ends
    end.bytes := ((words @@ U(0, 3 bits)) + count).resize(MacLimits.lengthWidth) + 4
    when(words.andR)(end.bytes.setAll())
    end.aborted := slot.bad
    end.underrun := underrun || starved
  }
  io.end << frame.end.m2sPipe()

  private def clear(slot: Slot): Slot = {
    for (flag <- Seq(slot.start, slot.data, slot.last, slot.tail, slot.shifted)) flag init False
    slot
  }
  /** slot n is n cycles behind the decision */
  val slots = Vec.fill(8)(Slot())
  slots(0) := frame.slot
  for (n <- 1 until 8) slots(n) := clear(RegNext(slots(n - 1)))

  val fcs = new Area {
    val contribution = RegNextWhen(Crc32.of(slots(1).word), slots(1).data)
    val state = Reg(Bits(32 bits))
    when(slots(2).start)(state.setAll()) elsewhen slots(2).data(state := Crc32.zeros(state, 8) ^ contribution)
    /** the zeros behind the last byte, taken back in three steps */
    private def back(state: Bits, slot: Slot, bit: Int) =
      RegNextWhen(((U(8) - slot.count)(bit) ? Crc32.without(state, 1 << bit) | state), slot.last)
    val one = back(state, slots(3), 0)
    val two = back(one, slots(4), 1)
    val four = back(two, slots(5), 2)
  }

  /** The word at the port, were the frame to start in lane 0. */
  val aligned = new Area {
    private val ending = slots(6)
    private val end = B(Xgmii.terminate, 8 bits) ## (ending.bad ? Cat(Seq.fill(4)(B(Xgmii.error, 8 bits))) | ~fcs.four)
    /** FCS and terminate behind the data of the last word */
    val placed = RegNextWhen(end.resize(128) |<< (ending.count @@ U(0, 3 bits)), ending.last)
    private val slot = slots(7)
    val word = Xgmii.idles
    when(slot.start) {
      word.data := B(Xgmii.sfd, 8 bits) ## Cat(Seq.fill(6)(B(Xgmii.preamble, 8 bits))) ## B(Xgmii.start, 8 bits)
      word.control := 1
    }
    for (lane <- 0 until 8) {
      when(slot.data && (!slot.last || slot.count > lane)) {
        word.data(8 * lane, 8 bits) := slot.word(8 * lane, 8 bits)
        word.control(lane) := False
      }
      val place = (slot.last ? U(lane, 4 bits) | U(lane + 8, 4 bits)) - slot.count
      val reached = slot.last ? (slot.count <= lane) | True
      when((slot.last || slot.tail) && reached && place <= 4) {
        word.data(8 * lane, 8 bits) := slot.last ? placed(8 * lane, 8 bits) | placed(64 + 8 * lane, 8 bits)
        word.control(lane) := place === 4 || slot.bad
      }
    }
    val shifted = RegNext(slot.shifted) init False
    val starting = RegNext(slot.start) init False
    val out = Xgmii.register(word)
  }

  val port = new Area {
    private val now = aligned.out
    /** the upper half of the word before */
    val data = RegNext(now.data(63 downto 32)) init (Xgmii.idleData >> 32)
    val control = RegNext(now.control(7 downto 4)) init 0xF
    val word = XgmiiWord()
    word := now
    when(aligned.shifted) {
      word.data := now.data(31 downto 0) ## (aligned.starting ? B(Xgmii.idleData >> 32, 32 bits) | data)
      word.control := now.control(3 downto 0) ## (aligned.starting ? B(0xF, 4 bits) | control)
    }
    val out = Xgmii.register(word)
  }
  io.xgmii := port.out
}
