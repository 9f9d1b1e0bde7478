package weir.egress

import spinal.core._
import spinal.lib._
import weir.{DeepFifo, WeirConfig}
import weir.buffer._
import weir.frame.{MarkWords, RewriteBeat, RewriteInfo}
import weir.jumbo.{PackEntry, PackGroup, PackWord}

/** Reads granted packets out of the buffer, beat by beat, and gives their cells back.
  *
  * Words are read ahead into a FIFO, at least two for every three cycles against one in two that the stream takes, so a
  * frame never runs dry. Two frames may be granted that have not left: one that is being sent and one that
  * is prefetched; in a core with jumbo frames up to four, if those that wait are shorter than 256 bytes together before the last is
  * granted. Packets to be discarded give their cells back at once. The first beat of a packet leaves four cycles
  * after its departure if nothing is before it. A packet's cells are free when its last word has been asked for.
  */
class Egress(c: WeirConfig) extends Component {
  private val depth = 16

  val io = new Bundle {
    val grant = slave(Flow(Grant(c)))
    val departure = slave(Flow(Departure(c)))
    val room = out Bool ()
    val read = master(Flow(CellRead(c)))
    val word = slave(Flow(Bits(c.wordWidth bits)))
    val lookup = master(Stream(c.cellId))
    val next = slave(Flow(c.cellId))
    val free = master(Flow(Chain(c)))
    /** in a core without jumbo frames */
    val beat = !c.jumbo generate master(Stream(RewriteBeat(c)))
    /** in a core with jumbo frames: what [[weir.jumbo.Pack]] takes; CE marks are in the words */
    val group = c.jumbo generate master(Stream(PackGroup(c)))
    val entry = c.jumbo generate master(Flow(PackEntry(c)))
    val packWord = c.jumbo generate master(Stream(PackWord(c)))
    /** a frame is as good as sent */
    val left = c.jumbo generate (in Bool ())
    /** log2 of the spacing's unit in ns */
    val tick = c.jumbo generate in(UInt(5 bits))
    /** a group is sent as one frame of so many bytes: a cycle after its last departure */
    val sent = c.jumbo generate master(Flow(c.length))
    val busy = out Bool ()
  }
  noIoPrefix()

  /** What has to be read of a packet. */
  case class Job() extends Bundle {
    val chain = Chain(c)
    val words = UInt(10 bits)
    /** bytes of the last word, 0 = 16 */
    val lastBytes = UInt(4 bits)
    val info = RewriteInfo()
  }

  /** What goes with a word. */
  case class Label() extends Bundle {
    val first, last = Bool()
    val lastBytes = UInt(4 bits)
    val info = RewriteInfo()
  }

  case class Word() extends Bundle {
    val data = Bits(c.wordWidth bits)
    val label = Label()
  }

  /** Packets to be read: two, or all of two groups. */
  val jobs = new Area {
    val push, pop = Stream(Job())
    val occupancy = UInt(2 bits)
    push.valid := io.departure.valid && !io.departure.discard
    push.chain := io.departure.descriptor.chain
    push.words := ((io.departure.descriptor.length + 15) >> 4).resized
    push.lastBytes := io.departure.descriptor.length(3 downto 0)
    push.info.mark := io.departure.descriptor.mark
    push.info.ecn := io.departure.descriptor.ecn
    push.info.ipVersion := io.departure.descriptor.ipVersion
    push.info.ipOffset := io.departure.descriptor.ipOffset
    if (c.jumbo) {
      val fifo = new DeepFifo(Job(), 1024)
      fifo.io.push << push
      pop << fifo.io.pop
      occupancy := 0
    } else {
      val fifo = new StreamFifo(Job(), depth = 2, withAsyncRead = true, withBypass = true)
      fifo.io.push << push
      pop << fifo.io.pop
      occupancy := fifo.io.occupancy
    }
  }

  val fifo = new StreamFifo(Word(), depth, withAsyncRead = true, withBypass = true)
  /** words in the FIFO or on their way to it */
  val credit = new Area {
    val used = Reg(UInt(log2Up(depth + 1) bits)) init 0
    val free = used =/= depth
  }

  val reader = new Area {
    val active = RegInit(False)
    val job = Reg(Job())
    val cell, following = Reg(c.cellId)
    /** `following` comes after `cell` */
    val known = RegInit(False)
    val index = Reg(UInt(log2Up(c.wordsPerCell) bits))
    val left = Reg(UInt(10 bits))
    val asked = RegInit(False)

    val starting = !active && jobs.pop.valid && credit.free
    jobs.pop.ready := starting
    val lastWord = left === 1
    val cellEnd = index.andR
    val single = jobs.pop.words === 1
    /** another cell follows the one being read */
    val more = left > (U(c.wordsPerCell) - index).resize(10 bits)
    val reading = active && credit.free && (!cellEnd || lastWord || known)

    io.read.valid := starting || reading
    io.read.cell := Mux(active, cell, jobs.pop.chain.first)
    io.read.index := Mux(active, index, U(0))

    io.lookup.valid := active && more && !known && !asked
    io.lookup.payload := cell
    when(io.lookup.fire)(asked := True)
    when(io.next.valid) {
      following := io.next.payload
      known := True
      asked := False
    }

    val label = Label()
    label.first := starting
    label.last := Mux(active, lastWord, single)
    val shown = Mux(active, job, jobs.pop.payload)
    label.lastBytes := shown.lastBytes
    label.info := shown.info

    when(starting) {
      job := jobs.pop.payload
      cell := jobs.pop.chain.first
      index := 1
      left := jobs.pop.words - 1
      active := !single
      known := False
      asked := False
    }
    when(reading) {
      index := index + 1
      left := left - 1
      when(cellEnd) {
        cell := following
        known := False
      }
      when(lastWord)(active := False)
    }
    val finished = RegNext((starting && single) || (reading && lastWord)) init False
    val chain = RegNext(shown.chain)
  }

  val pushed = new Area {
    /** cycles of a read in [[CellStore]] */
    val label = Label()
    label.assignFromBits(Delay(reader.label.asBits, 3))
    if (c.jumbo) {
      val marking = new MarkWords(c)
      marking.io.word.valid := io.word.valid
      marking.io.word.data := io.word.payload
      marking.io.word.first := label.first
      marking.io.word.info := label.info
      fifo.io.push.valid := marking.io.marked.valid
      fifo.io.push.data := marking.io.marked.payload
      fifo.io.push.label := RegNextWhen(label, io.word.valid)
    } else {
      fifo.io.push.valid := io.word.valid
      fifo.io.push.data := io.word.payload
      fifo.io.push.label := label
    }
  }

  /** a frame has left the FIFO of words, or Pack's */
  private val gone = Bool()

  /** A word becomes two beats, or one if it is the last and half full. */
  val beats = !c.jumbo generate new Area {
    val upper = RegInit(False)
    val word = fifo.io.pop.m2sPipe()
    val bytes = word.label.lastBytes
    val half = word.label.last && bytes =/= 0 && bytes <= 8
    val ends = upper || half
    val keepLow = Mux(half, bytes, U(8, 4 bits))
    val keepHigh = Mux(word.label.last && bytes =/= 0, bytes - 8, U(8, 4 bits))
    val count = Mux(upper, keepHigh, keepLow)

    io.beat.valid := word.valid
    io.beat.data := Mux(upper, word.data(c.wordWidth - 1 downto c.dataWidth), word.data(c.dataWidth - 1 downto 0))
    io.beat.keep := B(for (lane <- 0 until c.dataWidth / 8) yield count > lane)
    io.beat.first := word.label.first && !upper
    io.beat.last := word.label.last && ends
    io.beat.info := word.label.info
    word.ready := io.beat.ready && ends
    when(io.beat.fire)(upper := !ends)
    gone := word.fire && word.label.last
  }

  /** Words and groups for Pack. */
  val packing = c.jumbo generate new Area {
    io.packWord.translateFrom(fifo.io.pop) { (to, from) =>
      to.data := from.data
      to.first := from.label.first
      to.last := from.label.last
      to.lastBytes := from.label.lastBytes
    }
    val sums = new Sums(c)
    sums.io.departure << io.departure
    sums.io.tick := io.tick
    io.entry << sums.io.entry
    io.sent << sums.io.sent
    /** of two groups, and singles before them */
    val groups = new StreamFifo(PackGroup(c), 4, withAsyncRead = true, withBypass = true)
    val single = io.departure.valid && io.departure.first && io.departure.last && !io.departure.discard
    groups.io.push.valid := single || sums.io.group.valid
    groups.io.push.payload := sums.io.group.payload
    when(single)(groups.io.push.grouped := False)
    io.group << groups.io.pop
    gone := io.left
  }

  when(io.read.valid && !fifo.io.pop.fire)(credit.used := credit.used + 1)
  when(!io.read.valid && fifo.io.pop.fire)(credit.used := credit.used - 1)

  /** Frames behind the one that is being sent: while they are short another is prefetched, or the packets of a long group
    * would be walked through for longer than the frames before it take.
    */
  val prefetched = c.jumbo generate new Area {
    val lengths = new StreamFifo(c.length, 4, withAsyncRead = true)
    /** a frame is being sent, or is next */
    val first = RegInit(False)
    val bytes = Reg(UInt(16 bits)) init 0
    val sent = packing.single || io.sent.valid
    val length = io.sent.valid ? io.sent.payload | io.departure.descriptor.length
    val another = gone && lengths.io.pop.valid
    val waits = sent && first && !(gone && !lengths.io.pop.valid)
    lengths.io.push.valid := waits
    lengths.io.push.payload := length
    lengths.io.pop.ready := gone
    when(sent)(first := True) elsewhen (gone && !another)(first := False)
    private def only(condition: Bool, value: UInt): UInt = condition ? value.resize(16) | U(0, 16 bits)
    when(sent || gone)(bytes := bytes + only(waits, length) - only(another, lengths.io.pop.payload))
    val few = bytes < 256
  }
  /** Frames that were granted and have not left. */
  val pending = new Area {
    val count = Reg(UInt(3 bits)) init 0
    val came = io.grant.valid && !io.grant.discard
    /** granted, but then refused by its policy */
    val refused = io.departure.valid && io.departure.refused && io.departure.last
    count := count + came.asUInt - gone.asUInt - refused.asUInt
    io.room := count < 2 || (if (c.jumbo) count < 4 && prefetched.few else False)
  }

  io.busy := pending.count =/= 0 || reader.finished || io.departure.valid

  val freeing = new Area {
    val read = Flow(Chain(c))
    read.valid := reader.finished
    read.payload := reader.chain
    val discarded = Flow(Chain(c))
    discarded.valid := io.departure.valid && io.departure.discard
    discarded.payload := io.departure.descriptor.chain
    // frames of one word may be finished cycle by cycle
    io.free << (if (c.jumbo) weir.FlowMerge.queued(read, discarded, depth = 4) else weir.FlowMerge(read, discarded))
  }
}
