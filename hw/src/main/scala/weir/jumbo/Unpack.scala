package weir.jumbo

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.csr.FrameEnd
import weir.frame.{IngressEnd, IngressWord}

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
class Unpack(c: WeirConfig) extends Component {
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

  val recognise = new Recognise(c)
  val contents = new Contents(c)
  val lengths = new Lengths(c)
  val waiting = new Waiting(c)
  val turnout = new Turnout(c)
  val split = new Split(c)
  val realign = new Realign(c)

  recognise.io.word << io.word
  recognise.io.end << io.end
  recognise.io.config := io.config
  recognise.io.refuse := lengths.io.refuse
  recognise.io.table := contents.io.table
  contents.io.piece << recognise.io.piece
  contents.io.comes := recognise.io.comes
  lengths.io.row << contents.io.row
  lengths.io.flush := split.io.flush
  waiting.io.push << recognise.io.push
  waiting.io.pop := turnout.io.pop
  waiting.io.rows := lengths.io.rows
  turnout.io.head << waiting.io.head
  turnout.io.second << waiting.io.second
  turnout.io.token.valid := lengths.io.token.valid
  turnout.io.token.payload := lengths.io.token.payload
  turnout.io.full := waiting.io.low
  turnout.io.done := split.io.done
  turnout.io.clear := !split.io.busy && !realign.io.busy
  split.io.feed << turnout.io.feed
  split.io.token.valid := lengths.io.token.valid
  split.io.token.payload := lengths.io.token.payload
  lengths.io.token.ready := split.io.token.ready || turnout.io.turns
  split.io.full := waiting.io.low
  realign.io.item << split.io.item
  realign.io.ethernet := split.io.ethernet
  realign.io.config := io.config

  /** Words of a frame that is not split. */
  val plain = new Area {
    val word = waiting.io.head.payload
    val valid = turnout.io.passes
    val skip = RegInit(False)
    val offered = turnout.io.gives && !skip
    val taken = valid && (!offered || io.packet.ready)
    turnout.io.passed := taken
    when(offered && !io.packet.ready && waiting.io.low) { skip := True }
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
      when((io.abort && (open || offered)) || (offered && !io.packet.ready && waiting.io.low)) {
        fate := FrameEnd.overflow
        lost := True
      }
    }
    split.io.kill := lost && !realign.io.ends

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
  private val passing = turnout.io.free
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

  io.busy := waiting.io.busy || turnout.io.busy || split.io.busy || realign.io.busy
}
