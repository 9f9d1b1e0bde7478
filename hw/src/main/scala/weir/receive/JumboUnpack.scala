package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.control.counters.FrameEnd

/** Splits jumbo frames (docs/jumbo.md) into the frames of their packets, and passes all other frames on.
  *
  * Latency: a frame of 57 bytes or more that is not split ends one cycle after its end came, if nothing is before it.
  * Throughput: a word a cycle; a packet of L bytes behind E bytes of Ethernet header takes ceil((E + L) / 16) words, a jumbo
  * frame five cycles more, six with an outer IPv4 header.
  *
  * Limits: when fewer than 64 of 512 words can be stored, a jumbo frame is skipped, and a frame that finds `packet` not
  * ready: both end as overflow. A word that is offered is withdrawn then, and when `abort` comes. A jumbo frame that is
  * found malformed when packets have been given ends with `jumbo` only, in a packet or behind one.
  *
  * Reset: silent from the next cycle; nothing is inside.
  */
class JumboUnpack(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** at most every second cycle, but for the last word of a frame */
    val word = slave(Flow(IngressWord(c)))
    val end = slave(Flow(IngressEnd(c)))
    val config = in(UnpackConfig(c))
    val packet = master(Stream(IngressWord(c)))
    /** in the cycle in which `packet` takes a last word, or alone */
    val packetEnd = master(Flow(UnpackEnd(c)))
    val jumbo = master(Flow(JumboEnd(c)))
    /** the packets since the last `jumbo` cannot be kept */
    val abort = in Bool ()
    val busy = out Bool ()
  }
  noIoPrefix()

  val detector = new JumboDetector(c)
  val headerCheck = new JumboHeaderCheck(c)
  val lengthFifo = new LengthFifo(c)
  val wordFifo = new UnpackFifo(c)
  val demux = new JumboDemux(c)
  val splitter = new JumboSplitter(c)
  val realign = new UnpackRealign(c)

  detector.io.word << io.word
  detector.io.end << io.end
  detector.io.config := io.config
  detector.io.refuse := lengthFifo.io.refuse
  detector.io.table := headerCheck.io.table
  headerCheck.io.piece << detector.io.piece
  headerCheck.io.comes := detector.io.comes
  lengthFifo.io.row << headerCheck.io.row
  lengthFifo.io.flush := splitter.io.flush
  wordFifo.io.push << detector.io.push
  wordFifo.io.pop := demux.io.pop
  wordFifo.io.rows := lengthFifo.io.rows
  demux.io.head << wordFifo.io.head
  demux.io.second << wordFifo.io.second
  demux.io.token.valid := lengthFifo.io.token.valid
  demux.io.token.payload := lengthFifo.io.token.payload
  demux.io.full := wordFifo.io.low
  demux.io.done := splitter.io.done
  demux.io.clear := !splitter.io.busy && !realign.io.busy
  splitter.io.feed << demux.io.feed
  splitter.io.token.valid := lengthFifo.io.token.valid
  splitter.io.token.payload := lengthFifo.io.token.payload
  lengthFifo.io.token.ready := splitter.io.token.ready || demux.io.turns
  splitter.io.full := wordFifo.io.low
  realign.io.item << splitter.io.item
  realign.io.ethernet := splitter.io.ethernet
  realign.io.config := io.config

  /** Words of a frame that is not split. */
  val plain = new Area {
    val word = wordFifo.io.head.payload
    val valid = demux.io.passes
    val skip = RegInit(False)
    val offered = demux.io.gives && !skip
    val taken = valid && (!offered || io.packet.ready)
    demux.io.passed := taken
    when(offered && !io.packet.ready && wordFifo.io.low) { skip := True }
    when(taken && word.hasEnd) { skip := False }
  }

  /** Words of packets, and what becomes of the jumbo frame. */
  val inner = new Area {
    val word = realign.io.word
    private val isWord = word.valid && !word.isEnd
    val isEnd = word.valid && word.isEnd
    /** other than good, a [[FrameEnd]]: what follows up to the end is dropped */
    val fate = Reg(UInt(3 bits)) init FrameEnd.good
    val lost = RegInit(False)
    val offered = word.valid && word.gives && !lost
    val taken = offered && io.packet.ready
    word.ready := !word.gives || lost || io.packet.ready
    /** a word has been offered since the last end */
    val open = RegInit(False)
    when(offered) { open := True }
    when(!lost) {
      when(isWord && word.wrong) {
        fate := FrameEnd.malformed
        lost := True
      }
      when((io.abort && (open || offered)) || (offered && !io.packet.ready && wordFifo.io.low)) {
        fate := FrameEnd.overflow
        lost := True
      }
    }
    splitter.io.kill := lost && !realign.io.ends

    val count, discarded = Reg(UInt(9 bits)) init 0
    val discardedBytes = Reg(UInt(16 bits)) init 0
    when(taken && word.last && !word.header) { count := count + 1 }
    when(isWord && word.last && word.discard && !word.wrong && !lost) {
      discarded := discarded + 1
      discardedBytes := discardedBytes + word.length
    }
    when(isEnd) {
      fate := FrameEnd.good
      lost := False
      open := False
      count := 0
      discarded := 0
      discardedBytes := 0
    }
  }

  /** A word would be of a frame that passes, from a register: `packet.ready` may depend on the word, and which words move depends on `packet.ready`. */
  private val passing = demux.io.free
  io.packet.valid := plain.offered || inner.offered
  io.packet.data := passing ? plain.word.data | inner.word.data
  io.packet.first := passing ? plain.word.first | inner.word.first
  io.packet.last := passing ? plain.word.hasEnd | inner.word.last
  io.packet.index := passing ? plain.word.index | inner.word.index

  val end = new Area {
    private val e = io.packetEnd.payload
    io.packetEnd.valid := (plain.taken && plain.word.hasEnd) || (inner.taken && inner.word.last)
    private val overflows = plain.skip && plain.word.kind === FrameEnd.good
    e.inner := !passing
    e.header := !passing && inner.word.header
    e.waitNs := inner.word.waitNs
    e.kind := overflows ? U(FrameEnd.overflow, 3 bits) | plain.word.kind
    e.bytes := plain.word.bytes
    e.meta.length := plain.word.bytes.resized
    e.meta.queue := plain.word.queue
    e.meta.ecn := plain.word.ecn
    e.meta.ipVersion := plain.word.ipVersion
    e.meta.ipOffset := plain.word.ipOffset
    e.meta.exempt := plain.word.exempt
    when(!passing) {
      e.kind := FrameEnd.good
      e.bytes := inner.word.length.resized
      e.meta.length := inner.word.length
      e.meta.queue := inner.word.payload.queue
      e.meta.exempt := inner.word.exempt
      e.meta.ecn := inner.word.ecn
      e.meta.ipVersion := inner.word.ipVersion
      e.meta.ipOffset := inner.word.ipOffset
    }
  }

  val jumbo = new Area {
    private val found = JumboFate(c)
    found.assignFromBits(inner.word.waitNs.asBits.resize(found.getBitsWidth))
    private val outer = found.kind === FrameEnd.bad || found.kind === FrameEnd.runt || found.kind === FrameEnd.oversize
    io.jumbo.valid := inner.isEnd
    io.jumbo.kind := (outer || !inner.lost) ? found.kind | inner.fate
    io.jumbo.bytes := found.bytes
    io.jumbo.count := inner.count
    io.jumbo.discarded := inner.discarded
    io.jumbo.discardedBytes := inner.discardedBytes
  }

  io.busy := wordFifo.io.busy || demux.io.busy || splitter.io.busy || realign.io.busy
}
