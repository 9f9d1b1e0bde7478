package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{CellRead, Chain, Departure, Grant}
import weir.common.ShortFifo

/** What has to be read of a packet. */
case class ReadJob(c: WeirConfig) extends Bundle {
  val chain = Chain(c)
  /** words that are full */
  val full = UInt(10 bits)
  /** bytes of the last word, 0 = 16 */
  val lastBytes = UInt(4 bits)
  val info = RewriteInfo()
}

/** What goes with a word. */
case class WordLabel() extends Bundle {
  val first, last = Bool()
  /** it is the last, and of no more than 8 bytes */
  val half = Bool()
  val lastBytes = UInt(4 bits)
  val info = RewriteInfo()
}

case class LabelledWord(c: WeirConfig) extends Bundle {
  val data = Bits(c.wordWidth bits)
  val label = WordLabel()
}

/** Reads granted packets out of the buffer, beat by beat, and gives their cells back.
  *
  * Words are read ahead into a FIFO, at least two for every three cycles against one in two that the stream takes, so a
  * frame never runs dry. Two frames may be granted that have not left: one that is being sent and one that is
  * prefetched; [[GroupFrames]] of a core with jumbo frames prefetch more. Packets to be discarded give their cells back
  * at once. The first beat of a packet leaves four cycles after its departure if nothing is before it. A packet's cells
  * are free when its last word has been asked for.
  *
  * @param frames  in a core with jumbo frames: granted and not left, at most
  * @param packets in a core with jumbo frames: so many of them can wait to be read ([[GroupFrames]])
  */
class Egress(c: WeirConfig, frames: Int = 96, packets: Int = 1024) extends Component {
  private val depth = 16

  val io = new Bundle {
    val grant = slave(Flow(Grant(c)))
    val departure = slave(Flow(Departure(c)))
    /** with a departure that is not discarded */
    val kept = in Bool ()
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
    val groups = c.jumbo generate slave(GroupFramesPorts(c))
    val busy = out Bool ()
  }
  noIoPrefix()

  /** packets to be read */
  val jobs = new Area {
    val push, pop = Stream(ReadJob(c))
    push.valid := io.kept
    push.chain := io.departure.descriptor.chain
    push.full := (io.departure.descriptor.length >> 4).resized
    push.lastBytes := io.departure.descriptor.length(3 downto 0)
    push.info.mark := io.departure.descriptor.mark
    push.info.ecn := io.departure.descriptor.ecn
    push.info.ipVersion := io.departure.descriptor.ipVersion
    push.info.ipOffset := io.departure.descriptor.ipOffset
  }

  val fifo = new ShortFifo(LabelledWord(c), depth)
  /** words in the FIFO or on their way to it */
  val credit = new Area {
    val used = Reg(UInt(log2Up(depth + 1) bits)) init 0
    val free = used =/= depth
  }

  val reader = new Area {
    val active = RegInit(False)
    val job = Reg(ReadJob(c))
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

    val label = WordLabel()
    label.first := starting
    label.last := Mux(active, lastWord, single)
    val shown = Mux(active, job, jobs.pop.payload)
    label.half := label.last && Half(shown.lastBytes)
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

  /** words out of the buffer: a read in [[CellRam]] takes three cycles */
  val words = new Area {
    val label = WordLabel()
    label.assignFromBits(Delay(reader.label.asBits, 3))
  }

  when(io.read.valid && !fifo.io.pop.fire)(credit.used := credit.used + 1)
  when(!io.read.valid && fifo.io.pop.fire)(credit.used := credit.used - 1)

  /** Frames that were granted and have not left. */
  val pending = new Area {
    val count = Reg(UInt(log2Up((if (c.jumbo) frames else 2) + 1) bits)) init 0
    /** a frame has left the FIFO of words, or JumboPack's */
    val gone = Bool()
    val came = io.grant.valid && !io.grant.discard
    /** granted, but then refused by its policy */
    val refused = io.departure.valid && io.departure.refused && io.departure.last
    // `gone` and `came` are known last: they only choose
    private val (less2, less1, more1) = (count - 2, count - 1, count + 1)
    private val one = refused ? less1 | count
    count := gone ? (came ? one | (refused ? less2 | less1)) | (came ? (refused ? count | more1) | one)
    /** `count` will be less than `most`: each change judged before it is known which it is; a grant is known last */
    def less(most: Int): Bool = {
      def than(n: Int): Bool = count.resize(count.getWidth + 1) < n
      def judged(came: Int): Bool =
        (gone && refused) ? than(most + 2 - came) | ((gone || refused) ? than(most + 1 - came) | than(most - came))
      came ? judged(1) | judged(0)
    }
    // from registers: behind `room` are the scheduler and the queues
    val few = RegNext(less(2)) init True
  }

  val form: FrameForm = if (c.jumbo) new GroupFrames(c, this, frames, packets) else new PacketFrames(c, this)
  io.room := pending.few || form.more
  io.covered := form.covered

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
