package weir.egress

import spinal.core._
import spinal.lib._
import weir.{DeepFifo, ShortFifo, WeirConfig}
import weir.buffer._
import weir.frame.{MarkWords, RewriteBeat, RewriteInfo}
import weir.jumbo.{Half, PackEntry, PackGroup, PackWord}

/** Reads granted packets out of the buffer, beat by beat, and gives their cells back.
  *
  * Words are read ahead into a FIFO, at least two for every three cycles against one in two that the stream takes, so a
  * frame never runs dry. Two frames may be granted that have not left: one that is being sent and one that
  * is prefetched; in a core with jumbo frames up to 96, as long as the packets of the next would not all have departed before the line has sent
  * what was granted (`reach`). Packets to be discarded give their cells back at once. The first beat of a packet leaves four cycles
  * after its departure if nothing is before it. A packet's cells are free when its last word has been asked for.
  *
  * @param frames  in a core with jumbo frames: granted and not left, at most
  * @param packets so many of them can wait to be read: see `jobs`
  */
class Egress(c: WeirConfig, frames: Int = 96, packets: Int = 1024) extends Component {
  private val depth = 16

  val io = new Bundle {
    val grant = slave(Flow(Grant(c)))
    val departure = slave(Flow(Departure(c)))
    /** with a departure that is not discarded */
    val kept = in Bool ()
    /** with a departure that is not discarded and is a whole frame: first and last of its group */
    val alone = c.jumbo generate (in Bool ())
    val room = out Bool ()
    /** what is granted keeps the line busy for as long as a group's packets may need to be discarded, or as long as it can */
    val covered = out Bool ()
    val read = master(Flow(CellRead(c)))
    val word = slave(Flow(Bits(c.wordWidth bits)))
    val lookup = master(Stream(c.cellId))
    val next = slave(Flow(c.cellId))
    /** has to be taken in three cycles of four */
    val free = master(Stream(Chain(c)))
    /** in a core without jumbo frames */
    val beat = !c.jumbo generate master(Stream(RewriteBeat(c)))
    /** in a core with jumbo frames: what [[weir.jumbo.Pack]] takes; CE marks are in the words */
    val group = c.jumbo generate master(Stream(PackGroup(c)))
    val entry = c.jumbo generate master(Flow(PackEntry(c)))
    val packWord = c.jumbo generate master(Stream(PackWord(c)))
    /** a frame is as good as sent; and a beat of it */
    val left, leaves = c.jumbo generate (in Bool ())
    /** packets in the queues that share a frame with one before them */
    val grouped = c.jumbo generate in(c.count)
    /** Pack has places for the entries of another group */
    val entriesFit = c.jumbo generate (in Bool ())
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
    /** words that are full */
    val full = UInt(10 bits)
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
    /** for Pack: the last word, of no more than 8 bytes */
    val half = c.jumbo generate Bool()
  }

  /** Packets to be read: two; or those of two frames (no packet of a jumbo frame takes fewer than 24 bytes: 383 each), or of 1248 beats
    * (416) and of the frame that was granted last (383).
    */
  val jobs = new Area {
    val push, pop = Stream(Job())
    val occupancy = UInt(2 bits)
    push.valid := io.kept
    push.chain := io.departure.descriptor.chain
    push.full := (io.departure.descriptor.length >> 4).resized
    push.lastBytes := io.departure.descriptor.length(3 downto 0)
    push.info.mark := io.departure.descriptor.mark
    push.info.ecn := io.departure.descriptor.ecn
    push.info.ipVersion := io.departure.descriptor.ipVersion
    push.info.ipOffset := io.departure.descriptor.ipOffset
    if (c.jumbo) {
      val fifo = new DeepFifo(Job(), packets)
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

  val fifo = new ShortFifo(Word(), depth)
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
    /** words that are left, but for the first; one more if the last is full: without an adder between a departure and this */
    val left = Reg(UInt(10 bits))
    /** the last word is full */
    val even = Reg(Bool())
    val asked = RegInit(False)

    /** few chains wait to be given back */
    val freed = RegInit(True)
    // whether there is one is known late, for a packet may begin in the cycle of its departure
    jobs.pop.ready := !active && credit.free && freed
    val starting = jobs.pop.fire
    private val ends = jobs.pop.lastBytes === 0
    val lastWord = Mux(even, left === 2, left === 1)
    val cellEnd = index.andR
    val single = Mux(ends, jobs.pop.full === 1, jobs.pop.full === 0)
    /** another cell follows the one being read */
    private val inCell = (U(c.wordsPerCell) - index).resize(10 bits)
    val more = Mux(even, left > inCell + 1, left > inCell)
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

    // a packet whose reading begins
    when(starting) {
      job := jobs.pop.payload
      cell := jobs.pop.chain.first
      index := 1
      left := jobs.pop.full
      even := ends
      known := False
      asked := False
    }
    when(starting)(active := !single)
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
      fifo.io.push.half := RegNextWhen(label.last && Half(label.lastBytes), io.word.valid)
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
      to.half := from.half
    }
    val sums = new Sums(c)
    sums.io.departure << io.departure
    sums.io.tick := io.tick
    io.entry << sums.io.entry
    io.sent << sums.io.sent
    /** of all frames that are granted */
    val groups = new DeepFifo(PackGroup(c), 1 << log2Up(frames))
    /** a cycle later than the departure, and three before its first word. A group of several comes later after its last departure, and before the next departure: never both */
    private val single = RegNext(io.alone) init False
    groups.io.push.valid := single || sums.io.group.valid
    groups.io.push.payload := sums.io.group.payload
    when(single)(groups.io.push.grouped := False)
    // its first word is two cycles away: what depends on the group starts from flip-flops
    io.group << groups.io.pop.m2sPipe()
    gone := io.left
  }

  when(io.read.valid && !fifo.io.pop.fire)(credit.used := credit.used + 1)
  when(!io.read.valid && fifo.io.pop.fire)(credit.used := credit.used - 1)

  /** Another frame is prefetched while less is left to be sent than its departures may take: its packets, of which there are no more than share
    * frames in all queues, depart one in four cycles; 32 cycles, or 96 of a long group, are for what comes before and after. 1248 beats are enough for a jumbo
    * frame in transit of 287 packets of 28 bytes, the shortest that come at line rate.
    */
  val reach = c.jumbo generate new Area {
    private val (short, around, long) = (32, 96, 64)
    private val most = 1248
    val sent = io.alone || io.sent.valid
    private val length = io.sent.valid ? io.sent.payload | io.departure.descriptor.length
    /** of a frame that was granted */
    val comes = RegNext(sent) init False
    val beats = RegNextWhen(((length +^ 7) >> 3).resize(11), sent)
    /** one less */
    private val others = RegNextWhen(((length - 1) >> 3).resize(11), sent)
    /** beats of granted frames that have not left */
    val left = Reg(UInt(14 bits)) init 0
    /** in the next cycle, if no beat leaves and if one does: that is known late */
    private val stays = left + (comes ? beats.resize(14) | U(0, 14 bits))
    private val shrinks = left + (comes ? others.resize(14) | U((1 << 14) - 1, 14 bits))
    left := io.leaves ? shrinks | stays
    /** `beats` less so many */
    private val lessened = Seq(short, around, most).map(base =>
      base -> RegNextWhen((length.resize(c.lengthWidth + 1).asSInt + (7 - 8 * base)) >> 3, sent)).toMap
    /** `left` of the next cycle is no less than `reach` = `base` + 4 · `sharing`: by the sign of their difference, with one carry chain from registers */
    private def reaches(leaves: Boolean, base: Int, sharing: UInt): Bool = {
      val width = c.countWidth + 4
      val rows = Seq(left.resize(width).asBits, (comes ? lessened(base) | S(-base, 12 bits)).resize(width).asBits, ~(sharing << 2).resize(width).asBits)
      val sums = rows.reduce(_ ^ _)
      val carries = rows.combinations(2).map(_.reduce(_ & _)).reduce(_ | _) |<< 1
      // -x is ~x + 1, and the beat that leaves takes that one
      !((sums ## True).asUInt + (carries ## Bool(!leaves)).asUInt).msb
    }
    private def covers(leaves: Boolean): Bool = Mux(io.grouped > (most - around) / 4, reaches(leaves, most, U(0, c.countWidth bits)),
      Mux(io.grouped >= long, reaches(leaves, around, io.grouped), reaches(leaves, short, io.grouped)))
    // from a register: behind it are the scheduler and the queues
    val enough = RegNext(Mux(io.leaves, covers(leaves = true), covers(leaves = false))) init True
    /** `left` is not on its way; any departure counts as a frame's last */
    val few = !enough && !io.departure.valid && !io.sent.valid && !comes && io.entriesFit
  }
  /** Frames that were granted and have not left. */
  val pending = new Area {
    val count = Reg(UInt((if (c.jumbo) log2Up(frames + 1) else 2) bits)) init 0
    val came = io.grant.valid && !io.grant.discard
    /** granted, but then refused by its policy */
    val refused = io.departure.valid && io.departure.refused && io.departure.last
    // `gone` and `came` are known last: they only choose
    private val (less2, less1, more1) = (count - 2, count - 1, count + 1)
    private val one = refused ? less1 | count
    count := gone ? (came ? one | (refused ? less2 | less1)) | (came ? (refused ? count | more1) | one)
    /** `count` will be less than `most`: each change judged before it is known which it is; a grant is known last */
    private def less(most: Int): Bool = {
      def than(n: Int): Bool = count.resize(count.getWidth + 1) < n
      def judged(came: Int): Bool =
        (gone && refused) ? than(most + 2 - came) | ((gone || refused) ? than(most + 1 - came) | than(most - came))
      came ? judged(1) | judged(0)
    }
    // from registers: behind `room` are the scheduler and the queues
    val few = RegNext(less(2)) init True
    val fits = c.jumbo generate (RegNext(less(frames)) init True)
    io.room := few || (if (c.jumbo) fits && reach.few else False)
    io.covered := (if (c.jumbo) !few && reach.enough || !fits || !io.entriesFit else !few)
  }

  io.busy := pending.count =/= 0 || reader.finished || io.departure.valid || io.free.valid

  /** Frames of one word may be finished one a cycle, and packets are discarded one in four: those that wait hold up the reader. */
  val freeing = new Area {
    /** seen a cycle later than what is finished: from a departure to the free list it is far */
    val discarded = new StreamFifo(Chain(c), 4, withAsyncRead = true)
    val finished = new StreamFifo(Chain(c), 4, withAsyncRead = true, withBypass = true)
    discarded.io.push.valid := io.departure.valid && io.departure.discard
    discarded.io.push.payload := io.departure.descriptor.chain
    finished.io.push.valid := reader.finished
    finished.io.push.payload := reader.chain
    /** one is on its way, another may be started */
    reader.freed := finished.io.occupancy === 0
    io.free << StreamArbiterFactory().lowerFirst.noLock.on(Seq(discarded.io.pop, finished.io.pop))
  }
}
