package weir.egress

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer._
import weir.frame.{RewriteBeat, RewriteInfo}

/** Reads granted packets out of the buffer, beat by beat, and gives their cells back.
  *
  * Words are read ahead into a FIFO, at least two for every three cycles against one in two that the stream takes, so a
  * frame never runs dry. Two packets may be granted that have not left the FIFO: one that is being sent and one that
  * is prefetched. Packets to be discarded give their cells back at once. The first beat of a packet leaves four cycles
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
    val beat = master(Stream(RewriteBeat(c)))
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

  val jobs = new StreamFifo(Job(), depth = 2, withAsyncRead = true, withBypass = true)
  jobs.io.push.valid := io.departure.valid && !io.departure.discard
  jobs.io.push.chain := io.departure.descriptor.chain
  jobs.io.push.words := ((io.departure.descriptor.length + 15) >> 4).resized
  jobs.io.push.lastBytes := io.departure.descriptor.length(3 downto 0)
  jobs.io.push.info.mark := io.departure.descriptor.mark
  jobs.io.push.info.ecn := io.departure.descriptor.ecn
  jobs.io.push.info.ipVersion := io.departure.descriptor.ipVersion
  jobs.io.push.info.ipOffset := io.departure.descriptor.ipOffset

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

    val starting = !active && jobs.io.pop.valid && credit.free
    jobs.io.pop.ready := starting
    val lastWord = left === 1
    val cellEnd = index.andR
    val single = jobs.io.pop.words === 1
    /** another cell follows the one being read */
    val more = left > (U(c.wordsPerCell) - index).resize(10 bits)
    val reading = active && credit.free && (!cellEnd || lastWord || known)

    io.read.valid := starting || reading
    io.read.cell := Mux(active, cell, jobs.io.pop.chain.first)
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
    val shown = Mux(active, job, jobs.io.pop.payload)
    label.lastBytes := shown.lastBytes
    label.info := shown.info

    when(starting) {
      job := jobs.io.pop.payload
      cell := jobs.io.pop.chain.first
      index := 1
      left := jobs.io.pop.words - 1
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
    fifo.io.push.valid := io.word.valid
    fifo.io.push.data := io.word.payload
    fifo.io.push.label := label
  }

  /** A word becomes two beats, or one if it is the last and half full. */
  val beats = new Area {
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
  }

  when(io.read.valid && !fifo.io.pop.fire)(credit.used := credit.used + 1)
  when(!io.read.valid && fifo.io.pop.fire)(credit.used := credit.used - 1)

  /** Packets that were granted and have not left the FIFO. */
  val pending = new Area {
    val count = Reg(UInt(2 bits)) init 0
    val came = io.grant.valid && !io.grant.discard
    val gone = beats.word.fire && beats.word.label.last
    /** granted, but then refused by its policy */
    val refused = io.departure.valid && io.departure.refused
    count := count + came.asUInt - gone.asUInt - refused.asUInt
    io.room := count < 2
  }
  io.busy := pending.count =/= 0 || reader.finished || io.departure.valid

  val freeing = new Area {
    val read = Flow(Chain(c))
    read.valid := reader.finished
    read.payload := reader.chain
    val discarded = Flow(Chain(c))
    discarded.valid := io.departure.valid && io.departure.discard
    discarded.payload := io.departure.descriptor.chain
    io.free << weir.FlowMerge(read, discarded)
  }
}
