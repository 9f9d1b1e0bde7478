package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.axis.{Axis, AxisBeat}
import weir.control.counters.FrameEnd

/** From the MAC to the buffer: checks frames, reads their headers and packs their beats into 128-bit words.
  *
  * Latency: 2 cycles from a beat on `s_axis` to the word it completes and to `end` (last beat). Throughput: one beat
  * per cycle, always; words come every second cycle, or one per frame for frames of one beat.
  *
  * Limits: no word is given for a beat that takes the frame over `maxFrame`, so an oversize frame ends without a
  * last word. Every frame gives exactly one `end`.
  *
  * Reset and `discard`: the outputs fall silent one cycle later; the frame that is open on the wire is discarded
  * up to its tlast, and so is every frame that starts meanwhile. `gate.open` survives reset for that.
  */
class Ingress(c: WeirConfig) extends Component {
  val io = new Bundle {
    val s_axis = slave(Stream(AxisBeat(c.dataWidth)))
    /** level: discard what arrives and forget what is in flight */
    val discard = in Bool()
    val config = in(IngressConfig(c))
    val word = master(Flow(IngressWord(c)))
    val end = master(Flow(IngressEnd(c)))
    /** a frame is open or something is in flight */
    val busy = out Bool()
  }
  noIoPrefix()
  Axis.name(io.s_axis, "s_axis")
  io.s_axis.ready := True

  /** A queue that is not built is queue 0. */
  private def built(queue: UInt): UInt =
    if (c.queues == (1 << c.queueWidth)) queue else (queue < c.queues) ? queue | U(0, c.queueWidth bits)

  /** Which beats count. */
  val gate = new Area {
    /** the wire is inside a frame: without reset, so that a reset within a frame is noticed */
    val open = ClockDomain.current.withBootReset()(RegInit(False))
    val first = !open
    val skip = RegInit(True)
    when(io.s_axis.valid) { open := !io.s_axis.tlast }
    when(io.discard) {
      skip := True
    } elsewhen (io.s_axis.valid && first) {
      skip := False
    }
    val take = io.s_axis.valid && !io.discard && (first || !skip)
  }

  /** Where in the frame a beat stands, and what of the configuration holds for it. */
  val place = new Area {
    val limit = RegNext(io.config.maxFrame.min(U(c.maxFrameBytes, c.lengthWidth bits)))
    /** beats so far, up to 15: headers end before that */
    val counter = Reg(UInt(4 bits))
    val beat = gate.first ? U(0, 4 bits) | counter
    /** beats so far modulo a cell */
    val phaseCounter = Reg(UInt(3 bits))
    val phase = gate.first ? U(0, 3 bits) | phaseCounter
    /** whole beats that still fit into the limit */
    val roomCounter = Reg(UInt(c.lengthWidth - 3 bits))
    val spentFlag = Reg(Bool())
    val room = gate.first ? (limit >> 3) | roomCounter
    val spent = !gate.first && spentFlag
    val noRoom = room === 0
    when(io.s_axis.valid) {
      counter := beat + (beat =/= 15).asUInt
      phaseCounter := phase + 1
      roomCounter := room - 1
      spentFlag := spent || noRoom
    }
    /** of the limit, bytes beyond whole beats; with the default queue, as they were at the frame's first beat */
    val tail = RegNextWhen(limit(2 downto 0), io.s_axis.valid && gate.first)
    val defaultQueue = RegNextWhen(built(io.config.defaultQueue), io.s_axis.valid && gate.first)
  }

  /** A header that would start with an ethertype at a byte of this beat, registered. */
  class Header(at: Int) extends Area {
    private val bytes = io.s_axis.tdata.subdivideIn(8 bits)
    private val ethertype = bytes(at) ## bytes(at + 1)
    private val version = bytes(at + 2)(7 downto 4).asUInt
    private val ihl = bytes(at + 2)(3 downto 0).asUInt
    private val traffic = bytes(at + 3)
    // Versions 4 and 6 differ in one bit, which is enough to choose the fields.
    private val six = version(1)
    private def taken[T <: Data](value: T): T = RegNextWhen(value, io.s_axis.valid)
    val tag = taken(ethertype === 0x8100 || ethertype === 0x88a8)
    val v4 = taken(ethertype === 0x0800 && version === 4 && ihl >= 5)
    val v6 = taken(ethertype === 0x86dd && version === 6)
    val dscp = taken(six ? (bytes(at + 2)(3 downto 0) ## traffic(7 downto 6)) | traffic(7 downto 2))
    val ecn = taken((six ? traffic(5 downto 4) | traffic(1 downto 0)).asUInt)
    /** length of the IP header in 32-bit words */
    val words = taken(six ? U(10, 4 bits) | ihl)
  }

  /** The registered beat with everything that needs only the beat itself. */
  val beat = new Area {
    private val keep = io.s_axis.tkeep
    private val bytes = io.s_axis.tdata.subdivideIn(8 bits)
    private val contiguous = keep(0) && (1 until keep.getWidth).map(i => keep(i - 1) || !keep(i)).reduce(_ && _)
    val valid = RegNext(gate.take) init False
    private def taken[T <: Data](value: T): T = RegNextWhen(value, io.s_axis.valid)
    val data = taken(io.s_axis.tdata)
    val last = taken(io.s_axis.tlast)
    val ones = taken(CountOne(keep))
    val broken = taken(io.s_axis.tlast ? (!contiguous || io.s_axis.tuser(0)) | !keep.andR)
    val number = taken(place.beat)
    val phase = taken(place.phase)
    val isFirst = taken(gate.first)
    val isSecond = taken(place.beat === 1)
    val isThird = taken(place.beat === 2)
    val room = taken(!place.spent && !place.noRoom)
    val tight = taken(!place.spent && place.noRoom)
    val groupHigh = taken(bytes(0) === 0x01 && bytes(1) === 0x80 && bytes(2) === 0xc2)
    val groupLow = taken(bytes(3) === 0 && bytes(4) === 0 && bytes(5)(7 downto 4) === 0)
    val low = new Header(at = 0)
    val high = new Header(at = 4)
  }

  /** The IP header: an ethertype at byte 12, or at 16 or 20 behind tags. All in beats 1 and 2. */
  val parse = new Area {
    val tagged = RegNextWhen(beat.high.tag, beat.valid && beat.isSecond)
    val decide = (beat.isSecond && !beat.high.tag) || (beat.isThird && tagged)
    val useLow = beat.isThird && !beat.low.tag
    val v4 = useLow ? beat.low.v4 | beat.high.v4
    val v6 = useLow ? beat.low.v6 | beat.high.v6
    val dscp = useLow ? beat.low.dscp | beat.high.dscp
    val isIpSoFar = v4 || v6
    private val now = beat.valid && decide
    private val tags = beat.isSecond ? U(0, 2 bits) | (useLow ? U(1, 2 bits) | U(2, 2 bits))
    val ipVersion = RegNextWhen(v6 ## v4, now)
    val ipOffset = RegNextWhen(tags, now)
    val ecn = RegNextWhen(useLow ? beat.low.ecn | beat.high.ecn, now)
    /** the IP header ends at byte 4 * headerEnd + 2: (14 - 2) / 4 = 3 words stand before it, and the tags */
    val headerEnd = RegNextWhen((useLow ? beat.low.words | beat.high.words).resize(5 bits) + tags + 3, now)
    // A header ends in beat 4 or later, so what an earlier frame left behind never counts for a shorter one.
    val complete = beat.number > (headerEnd >> 1) ||
      (beat.number === (headerEnd >> 1) && beat.ones >= (headerEnd(0) ? U(6) | U(2)))
    val isIp = complete && ipVersion.orR
  }

  /** The queue of an IP frame, looked up in two steps, eight DSCPs at a time: known before the IP header has ended. */
  val classify = new Area {
    private val decided = beat.valid && parse.decide
    private val decidedBefore = RegNext(decided) init False
    val column = io.config.dscpQueue.grouped(8)
      .map(g => RegNextWhen(Vec(g)(parse.dscp(2 downto 0).asUInt), decided)).toSeq
    val row = RegNextWhen(parse.dscp(5 downto 3).asUInt, decided)
    val queue = RegNextWhen(built(Vec(column)(row)), decidedBefore)
  }

  val word = new Area {
    val fits = beat.room || (beat.tight && beat.last && beat.ones =/= 0 && beat.ones <= place.tail)
    val valid = RegNext(beat.valid && !io.discard && fits && (beat.phase(0) || beat.last)) init False
    val lowHalf = RegNextWhen(beat.data, beat.valid && !beat.phase(0))
    val highHalf = RegNextWhen(beat.data, beat.valid && beat.phase(0))
    val first = RegNextWhen(beat.number <= 1, beat.valid)
    val last = RegNextWhen(beat.last, beat.valid)
    val index = RegNextWhen(beat.phase(2 downto 1), beat.valid)
    io.word.valid := valid
    io.word.data := highHalf ## lowHalf
    io.word.first := first
    io.word.index := index
    io.word.last := last
  }

  val end = new Area {
    val valid = RegNext(beat.valid && !io.discard && beat.last) init False
    /** running count of the frame */
    val bytes = Reg(UInt(24 bits))
    val broken = Reg(Bool())
    val exempt = RegNextWhen(beat.groupHigh && beat.groupLow, beat.valid && beat.isFirst)
    private val brokenNow = beat.broken || (broken && !beat.isFirst)
    private val sum = (beat.isFirst ? U(0, 24 bits) | bytes) +^ beat.ones
    when(beat.valid) {
      bytes := sum.msb ? U(0xffffff, 24 bits) | sum(23 downto 0)
      broken := brokenNow
    }
    private val runt = beat.isFirst || (beat.isSecond && beat.ones < 6)
    private def ended[T <: Data](value: T): T = RegNextWhen(value, beat.valid && beat.last)
    val kind = ended(brokenNow ? U(FrameEnd.bad, 3 bits) | (runt ? U(FrameEnd.runt, 3 bits) |
      (word.fits ? U(FrameEnd.good, 3 bits) | U(FrameEnd.oversize, 3 bits))))
    val queue = ended(parse.isIp ? classify.queue | place.defaultQueue)
    val ecn = ended(parse.isIp ? parse.ecn | U(0, 2 bits))
    val ipVersion = ended(parse.isIp ? parse.ipVersion.asUInt | U(IpVersion.none, 2 bits))
    val ipOffset = ended(parse.isIp ? parse.ipOffset | U(0, 2 bits))
    io.end.valid := valid
    io.end.kind := kind
    io.end.bytes := bytes
    io.end.meta.length := bytes.resize(c.lengthWidth)
    io.end.meta.queue := queue
    io.end.meta.ecn := ecn
    io.end.meta.ipVersion := ipVersion
    io.end.meta.ipOffset := ipOffset
    io.end.meta.exempt := exempt
  }

  io.busy := gate.open || beat.valid || word.valid || end.valid
}
