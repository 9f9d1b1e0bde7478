package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.admission.Spacing
import weir.buffer.{Arrival, CellWrite, Chain, Rollback, Transit, Whole}
import weir.control.counters.{FrameEnd, IngressEvent}
import weir.policy.Ecn

/** Puts the words of frames into cells, and commits a frame or takes everything back when it ends. The packets of a
  * jumbo frame are kept or taken back together.
  *
  * A frame that finds no cell is taken back at once; its other words are ignored and it ends as overflow. So does
  * a good frame that finds no room for its arrival. A packet of a jumbo frame that finds either raises
  * `abort`: what is stored of the jumbo frame is taken back at its end. Latency: an arrival leaves one cycle after its
  * frame's end. Throughput: a word a cycle as long as [[FreeList]] has cells ready; `packet.ready` waits for one that is on
  * its way if the core splits jumbo frames, else the frame overflows. A frame that has begun ends by `end` or `jumbo`,
  * or with a reset.
  */
class CellWriter(c: WeirConfig) extends Component {
  val io = new Bundle {
    val packet = slave(Stream(IngressWord(c)))
    val end = slave(Flow(UnpackEnd(c)))
    val jumbo = slave(Flow(JumboEnd(c)))
    /** the packets of this jumbo frame are not kept */
    val abort = out Bool ()
    val cell = in(c.cellId)
    val available = in Bool ()
    /** whether a cell is free; one is on its way otherwise */
    val known = in Bool ()
    val take = out Bool ()
    val rollback = master(Flow(Rollback(c)))
    val write = master(Flow(CellWrite(c)))
    /** room for a frame that ends now */
    val room = in Bool ()
    val arrival = master(Flow(Arrival(c)))
    /** of a packet of a jumbo frame: sum of the spacings up to its own, ns */
    val waitNs = c.jumbo generate out(UInt(Spacing.waitWidth bits))
    /** with `commit`: a jumbo frame whose packets stay together, as one arrival */
    val whole = c.jumbo generate out(Whole(c))
    /** the arrival is a packet of a jumbo frame: it waits for `commit` or `discard` */
    val inner = out Bool ()
    val commit = out Bool ()
    val discard = out Bool ()
    val event = master(Flow(IngressEvent(c)))
    /** a frame holds cells */
    val busy = out Bool ()
  }
  noIoPrefix()

  /** The frame that is being received. */
  val frame = new Area {
    val first, last = Reg(c.cellId)
    /** means something unless there are `none` */
    val cells = Reg(UInt(8 bits)) init 0
    val none = RegInit(True)
    val failed = RegInit(False)
    val counted = Mux(none, U(0, 8 bits), cells)
    val more = counted + 1
  }

  /** The jumbo frame whose packets are being received. */
  val jumbo = new Area {
    val first = Reg(c.cellId)
    /** of packets that have ended */
    val cells = Reg(UInt(c.cellWidth bits)) init 0
    /** `cells` is 0 */
    val none = RegInit(True)
    val failed = RegInit(False)
    /** one that stays together: its header has come */
    val transit = RegInit(False)
    /** bytes of the packets' own frames */
    val bytes = Reg(UInt(24 bits)) init 0
    /** its last packet's arrival leaves; then its end is carried out */
    val closes = RegNext(io.jumbo.valid) init False
    val ends = RegNext(closes) init False
    /** one of them */
    val ending = RegNext(io.jumbo.valid || closes) init False
    val end = RegNextWhen(io.jumbo.payload, io.jumbo.valid)
    private val good = end.kind === FrameEnd.good && !failed
    /** with `ends`: it is kept, or not; no packet ends while it waits for that */
    val commits = RegNext(closes && good) init False
    val discards = RegNext(closes && !good) init False
  }

  val word = new Area {
    /** the next word is of the same cell as the one before it */
    val inside = RegInit(False)
    /** A cell is on its way, and the next word needs one. From registers, for which word it is comes late. */
    val waits = if (c.jumbo) !frame.failed && !io.known && !inside else False
    io.packet.ready := !waits && !jumbo.ending
    val fires = io.packet.fire
    /** its word, if one comes, is a cell's first: that is not asked of the word, for which word it is comes late */
    val starts = !inside && !frame.failed
    val lacking = fires && (starts && !io.available)
    when(fires)(inside := !io.packet.last && io.packet.index =/= c.wordsPerCell - 1)
    when(io.end.valid || jumbo.ends)(inside := False)
  }
  val failed = frame.failed || word.lacking
  val ended = io.end.valid
  val good = io.end.kind === FrameEnd.good
  private val keepable = good && io.room && !(io.end.inner && jumbo.failed)
  /** it ends and is not kept, whatever cells there are */
  val refused = ended && !keepable
  val committed = ended && keepable && !failed
  /** a word is kept, if it comes: that it does is known later than all else, its frame's `end` too */
  private val kept = !frame.failed && (word.inside || io.available) && !(io.packet.last && !keepable)
  /** the cell that this word starts is kept */
  val taking = word.fires && (!word.inside && kept)

  io.take := taking
  io.write.valid := word.fires && kept
  io.write.cell := Mux(word.inside, frame.last, io.cell)
  io.write.index := io.packet.index
  io.write.data := io.packet.data

  import frame.none
  // a frame that has failed holds none; the last packet of a jumbo frame may have been broken off
  io.rollback.valid := ((refused || word.lacking) && !none) || (jumbo.discards && (!jumbo.none || !none))
  io.rollback.first := frame.first
  io.rollback.cells := frame.cells.resized
  when(jumbo.discards) {
    when(!jumbo.none)(io.rollback.first := jumbo.first)
    io.rollback.cells := jumbo.cells + frame.counted.resized
  }

  when(taking) {
    when(none)(frame.first := io.cell)
    frame.last := io.cell
    frame.cells := frame.more
    frame.none := False
  }
  when(word.lacking) {
    frame.failed := True
    frame.none := True
  }
  when(ended || jumbo.ends) {
    frame.failed := False
    frame.none := True
  }
  io.busy := !none || !jumbo.none || jumbo.closes || jumbo.ends

  val arrival = new Area {
    val valid = RegNext(committed) init False
    val meta = RegNextWhen(io.end.meta, ended)
    val inner = RegNextWhen(io.end.inner, ended) init False
    private val ending = Chain(c)
    ending.first := Mux(none, io.cell, frame.first)
    ending.last := Mux(taking, io.cell, frame.last)
    ending.cells := Mux(taking, frame.more, frame.counted)
    val chain = RegNextWhen(ending, ended)
    io.arrival.valid := valid
    io.arrival.meta := meta
    io.arrival.chain := chain
    io.inner := inner
    val header = RegNextWhen(io.end.header, ended) init False
  }

  when(arrival.valid && arrival.inner) {
    when(jumbo.none)(jumbo.first := arrival.chain.first)
    jumbo.none := False
    jumbo.cells := jumbo.cells + arrival.chain.cells.resized
    when(!arrival.header)(jumbo.bytes := jumbo.bytes + arrival.meta.length)
    when(arrival.header)(jumbo.transit := True)
  }
  when(ended && io.end.inner && !committed)(jumbo.failed := True)
  when(jumbo.ends) {
    jumbo.cells := 0
    jumbo.none := True
    jumbo.bytes := 0
    jumbo.failed := False
    jumbo.transit := False
  }
  io.abort := jumbo.failed
  io.commit := jumbo.commits
  io.discard := jumbo.discards

  /** The packets of a jumbo frame in transit all go to one queue: that of the outer IPv4 header's DSCP, or in the L2 form, which
    * has none, of the first packet's. In the L2 form the frame's ECN is what its builder would write into an outer header.
    */
  private class KeptTogether extends Area {
    private val packet = arrival.valid && arrival.inner && !arrival.header
    val first = RegInit(False)
    val l3 = RegNextWhen(arrival.meta.ipVersion =/= IpVersion.none, arrival.valid && arrival.header)
    val outerEcn = RegNextWhen(arrival.meta.ecn, arrival.valid && arrival.header)
    private val of = Reg(c.queueId)
    /** its arrivals are three cycles apart or more, and the first of another frame is two behind `jumbo.ends` */
    private val follows = RegNext(jumbo.transit && !(first && !l3)) init False
    val queue: UInt = Mux(follows, of, arrival.meta.queue)
    when(arrival.valid && arrival.header) {
      first := True
      of := arrival.meta.queue
    }
    private val notEct, ect0, ect1 = Reg(Bool())
    private def among(codepoint: Int): Bool = arrival.meta.ecn === codepoint
    when(packet) {
      first := False
      when(first)(of := queue)
      notEct := (!first && notEct) || among(Ecn.notEct)
      ect0 := (!first && ect0) || among(Ecn.ect0)
      ect1 := (!first && ect1) || among(Ecn.ect1)
    }
    val whole = Whole(c)
    whole.queue := of
    whole.length := jumbo.bytes.resized
    whole.packets := jumbo.end.count
    whole.cells := jumbo.cells.resized
    whole.ecn := Ecn.ce
    when(ect1)(whole.ecn := Ecn.ect1)
    when(ect0)(whole.ecn := Ecn.ect0)
    when(notEct)(whole.ecn := Ecn.notEct)
    when(l3)(whole.ecn := outerEcn)
  }

  /** What is told of arrivals besides, with jumbo frames. */
  private class JumboFrames extends Area {
    val together = new KeptTogether
    io.arrival.meta.queue.allowOverride()
    io.arrival.meta.queue := together.queue
    io.arrival.held := False
    io.waitNs := RegNextWhen(io.end.waitNs, ended)
    io.arrival.transit.allowOverride()
    io.arrival.transit := Transit.alone(c, arrival.meta.length, arrival.chain)
    io.arrival.transit.header := arrival.header
    io.arrival.transit.member := arrival.inner && jumbo.transit
    io.whole := together.whole

    /** numbers of arrivals; those that are taken back are given again */
    val next, kept = Reg(UInt(c.flowIndexWidth bits)) init 0
    when(arrival.valid) {
      next := next + 1
      when(!arrival.inner)(kept := next + 1)
    }
    when(io.commit)(kept := next)
    when(io.discard)(next := kept)
    io.arrival.flow := next
  }
  private val jumboFrames = c.jumbo generate new JumboFrames

  val event = new Area {
    val valid = RegNext(ended && !io.end.inner || jumbo.ends) init False
    private val now = IngressEvent(c)
    /** a good frame, if no jumbo frame's packet, is not kept: without asking whether one ends, which is known as late as `failed` */
    private val overflows = good && (!io.room || failed)
    now.end := Mux(overflows, U(FrameEnd.overflow, 3 bits), io.end.kind)
    now.bytes := io.end.bytes
    now.wireBytes := io.end.bytes
    now.packets := 1
    now.jumbo := False
    now.discarded := 0
    now.discardedBytes := 0
    when(jumbo.ends) {
      now.end := Mux(jumbo.end.kind === FrameEnd.good && jumbo.failed, U(FrameEnd.overflow, 3 bits), jumbo.end.kind)
      now.bytes := jumbo.end.bytes
      now.wireBytes := jumbo.end.bytes
    }
    when(jumbo.commits) {
      now.jumbo := True
      now.bytes := jumbo.bytes + jumbo.end.discardedBytes
      now.packets := jumbo.end.count + jumbo.end.discarded
      now.discarded := jumbo.end.discarded
      now.discardedBytes := jumbo.end.discardedBytes.resized
    }
    io.event.valid := valid
    io.event.payload := RegNextWhen(now, ended && !io.end.inner || jumbo.ends)
  }
}
