package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.admission.Spacing
import weir.control.counters.FrameEnd

/** Cuts the packets of jumbo frames into words.
  *
  * Beside its packets' words a jumbo frame costs a few cycles: its end, its first two words, two words of packets;
  * with an outer IPv4 header its verdict has to be there before its first word moves. A packet of L bytes behind E
  * bytes of Ethernet header costs ceil((E + L) / 16) cycles.
  *
  * In transit all that is before the packets is cut first, as if it were one: its words are those of the frame.
  *
  * Words of the jumbo frame are in `low` and `high`, the packet's first byte in `low`. The window of 16 bytes that becomes a
  * word starts at byte `at` of the two, or up to 14 bytes before them where the Ethernet header stands in its stead.
  *
  * Limits: a jumbo frame is skipped to its end when `kill` or `full` say so, when its verdict is that it is malformed, or
  * when packets need more words than there are. Reset: waits for the first word of a frame.
  */
class JumboSplitter(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** the words of jumbo frames; beside a first word is what is known of its frame */
    val feed = slave(Stream(UnpackFifoWord(c)))
    val token = slave(Stream(LengthToken(c)))
    /** the lengths of this frame are not wanted any more */
    val flush = out Bool ()
    /** nearly no place is left for words that wait */
    val full = in Bool ()
    /** the jumbo frame is not wanted any more */
    val kill = in Bool ()
    /** between frames, from the next cycle on at the latest */
    val done = out Bool ()
    val item = master(Stream(SplitItem(c)))
    /** the jumbo frame's first 20 bytes */
    val ethernet = out(Bits(160 bits))
    val busy = out Bool ()
  }
  noIoPrefix()

  object State extends SpinalEnum(binaryOneHot) {
    val start, second, third, load, run, skip, finish = newElement()
  }
  import State._

  val state = RegInit(start)
  private val token = io.token.payload
  private val isLength = io.token.valid && token.kind === RowKind.lengths
  private val isVerdict = io.token.valid && token.kind =/= RowKind.lengths

  private val word = io.feed.payload
  private val alone = word.hasEnd || word.refused

  /** What is known of the jumbo frame. */
  val frame = new Area {
    val first = Reg(Bits(c.wordWidth bits))
    val behind = Reg(Bits(32 bits))
    val tags = Reg(UInt(2 bits))
    val l3 = Reg(Bool())
    /** its packets stay together */
    val transit = Reg(Bool())
    val outerEcn = Reg(UInt(2 bits))
    /** its last word, or its end without a word, has been taken */
    val ended = Reg(Bool())
    /** its verdict has been taken */
    val judged = Reg(Bool())
    val overflow, malformed = Reg(Bool())
    val fate = Reg(JumboFate(c))
  }
  io.ethernet := frame.behind ## frame.first

  /** Two words of the frame. */
  val window = new Area {
    val low, high = Reg(Bits(c.wordWidth bits))
    val highValid = Reg(Bool())
    /** `low` lies behind the frame */
    val empty = Reg(Bool())
    val at = Reg(SInt(5 bits))
  }

  /** The packet that is being cut. */
  val packet = new Area {
    val active = Reg(Bool())
    /** no packet of the frame has been cut */
    val fresh = Reg(Bool())
    val opens = Reg(Bool())
    /** no packet, but all that is before the packets */
    val header = Reg(Bool())
    val length, lastByte = Reg(c.length)
    val waitNs = Reg(UInt(Spacing.waitWidth bits))
    val number = Reg(UInt(2 bits))
    val index = Reg(UInt(log2Up(c.wordsPerCell) bits))
    /** words behind this one */
    val left = Reg(UInt(c.lengthWidth - 4 bits))
    val last = Reg(Bool())
    /** `low` is not needed for the next word */
    val advances = Reg(Bool())
    /** where the packet ends, from the start of its last word's `low`; known from the second word on */
    val end = Reg(UInt(5 bits))
  }

  val step = new Area {
    val ready = state === run && packet.active && (window.highValid || frame.ended) && !window.empty
    val fires = ready && io.item.ready
    private val isFirst = packet.number === 0
    private val past = window.at >= 0
    private val middle = past ? window.at | (window.at.asUInt ^ 16).asSInt
    val at = SInt(5 bits)
    at := middle
    when(isFirst && frame.tags === 1)(at := window.at + 12)
    when(isFirst && frame.tags === 2)(at := window.at + 8)
    when(packet.header)(at := 0)
    when(isFirst) {
      // `at` of the last word is that of the first, less the tags, modulo 16
      packet.end := (window.at.asUInt(3 downto 0) - (frame.tags @@ U(0, 2 bits))).resize(5 bits) + packet.lastByte(3 downto 0) + 1
    }
    when(packet.last)(at := JumboSplitter.firstAt(packet.end(3 downto 0)))
  }

  io.item.valid := step.ready || state === finish
  io.item.window := window.high ## window.low
  io.item.at := window.at
  io.item.place.isEnd := False
  io.item.place.header := packet.header
  io.item.place.number := packet.number
  io.item.place.index := packet.index
  io.item.place.last := packet.last
  io.item.place.opens := packet.opens
  io.item.place.tags := frame.tags
  io.item.place.l3 := frame.l3 && (packet.header || !frame.transit)
  io.item.place.outerEcn := frame.outerEcn
  io.item.place.length := packet.length
  io.item.place.lastByte := packet.lastByte
  io.item.place.waitNs := packet.waitNs
  val end = new Area {
    val fate = JumboFate(c)
    fate := frame.fate
    when(frame.fate.kind === FrameEnd.good) {
      when(frame.overflow)(fate.kind := FrameEnd.overflow)
      when(frame.malformed)(fate.kind := FrameEnd.malformed)
    }
    when(state === finish) {
      io.item.place.isEnd := True
      io.item.place.number := 3
      io.item.place.waitNs := fate.asBits.asUInt.resized
    }
  }

  private def take(): Unit = {
    when(word.hasEnd) {
      frame.ended := True
      frame.fate.kind := word.kind
      frame.fate.bytes := word.bytes
    }
  }
  private def takeLow(): Unit = {
    take()
    window.low := word.data
    window.empty := !word.hasWord
  }
  /** The word with the jumbo header is in `low`. */
  private def begin(): Unit = {
    state := token.start(2) ? load | run
    window.at := JumboSplitter.firstAt(token.start(1 downto 0) @@ U(0, 2 bits))
    window.highValid := False
    packet.active := False
    packet.fresh := True
  }
  /** All that is before the packets goes first, as it came: a packet whose IP header is the frame's own. The frame's first word is in `low` already. */
  private def beginHeader(): Unit = {
    val length = (token.quads << 2).resize(c.lengthWidth)
    state := run
    take()
    window.empty := False
    window.high := word.data
    window.highValid := word.hasWord
    window.at := (frame.tags @@ U(0, 2 bits)).resize(5 bits).asSInt
    packet.active := isLength
    packet.header := True
    packet.opens := False
    packet.length := length - 14 - (frame.tags @@ U(0, 2 bits))
    packet.lastByte := length - 1
    packet.left := (length - 1) >> 4
    packet.last := False
    packet.advances := True
    packet.number := 0
    packet.index := 0
    packet.end := (length(3 downto 0) === 0).asUInt @@ length(3 downto 0)
  }
  private def judge(): Unit = {
    io.token.ready := True
    frame.judged := True
    frame.malformed := frame.malformed || token.kind =/= RowKind.good
    state := frame.ended ? finish | skip
  }

  private val refills = !window.highValid || (packet.active && !window.empty && io.item.ready && packet.advances)
  io.feed.ready := state === second || state === third || (state === start && (alone || io.token.valid || io.full)) ||
    (!frame.ended && (state === load || state === skip || (state === run && refills)))
  io.token.ready := False
  io.flush := state === skip && !frame.judged

  switch(state) {
    is(start) {
      // until a frame begins these are written over and over
      frame.ended := word.hasEnd
      frame.tags := JumboForm.tags(word.forms)
      frame.l3 := JumboForm.isL3(word.forms)
      frame.transit := token.transit
      frame.judged := alone
      frame.malformed := word.hasEnd
      frame.overflow := !word.hasEnd && (alone || io.full)
      when(io.feed.valid && (alone || io.token.valid || io.full)) {
        take()
        frame.first := word.data
        window.low := word.data
        state := word.hasEnd ? finish | ((alone || io.full) ? skip | second)
      }
    }
    is(second) {
      when(io.feed.valid) {
        frame.behind := word.data(31 downto 0)
        frame.outerEcn := frame.tags(1) ? word.data(57 downto 56).asUInt |
          (frame.tags(0) ? word.data(25 downto 24).asUInt | frame.first(121 downto 120).asUInt)
        begin()
        when(frame.l3)(state := third)
        when(frame.transit)(beginHeader()) otherwise (takeLow())
      }
    }
    is(third) {
      when(io.feed.valid) {
        takeLow()
        begin()
      }
    }
    is(load) {
      when(frame.ended) {
        window.empty := True
        state := run
      } elsewhen (io.feed.valid) {
        takeLow()
        state := run
      }
    }
    is(run) {
      when(refills && !frame.ended && io.feed.valid) {
        take()
        window.high := word.data
        window.highValid := word.hasWord
      } elsewhen (step.fires && packet.advances) {
        window.highValid := False
      }
      when(step.fires) {
        window.at := step.at
        when(packet.advances) {
          window.low := window.high
          window.empty := !window.highValid
        }
        packet.number := packet.number + (packet.number =/= 3).asUInt
        packet.index := packet.index + 1
        packet.left := packet.left - 1
        packet.last := packet.left === 1
        packet.advances := (packet.left === 1) ? packet.end(4) | (step.at >= 0)
      }
      when(!packet.active || (step.fires && packet.last)) {
        packet.active := isLength
        when(isLength) {
          io.token.ready := True
          packet.header := False
          packet.opens := packet.fresh
          packet.fresh := False
          packet.length := token.length
          packet.lastByte := token.lastByte
          packet.waitNs := token.waitNs
          packet.left := token.lastByte >> 4
          packet.last := False
          packet.advances := frame.tags === 0 && (step.fires ? step.at | window.at) >= S(0)
          packet.number := 0
          packet.index := 0
        }
        when(isVerdict)(judge())
      }
      when(packet.active && window.empty) {
        frame.malformed := True
        state := skip
      }
    }
    is(skip) {
      when(io.feed.valid && !frame.ended)(take())
      when(io.token.valid && !frame.judged) {
        io.token.ready := True
        when(isVerdict) {
          frame.judged := True
          when(token.kind =/= RowKind.good)(frame.malformed := True)
        }
      }
      val ends = frame.ended || (io.feed.valid && word.hasEnd)
      when(ends && (frame.judged || isVerdict))(state := finish)
    }
    is(finish) {
      when(io.item.ready)(state := start)
    }
  }

  private val cutting = state === second || state === third || state === load || state === run
  when(cutting && (io.full || io.kill) && !(state === run && (!packet.active || (step.fires && packet.last)) && isVerdict)) {
    state := skip
    frame.overflow := frame.overflow || io.full
  }
  io.busy := state =/= start
  io.done := state === start || (state === finish && io.item.ready)
}

object JumboSplitter {
  /** `at` of the first word of a packet whose first byte is that of `low`: its bytes 14 and 15 are the packet's first. */
  private def firstAt(byte: UInt): SInt = byte.resize(5 bits).asSInt - 14
}
