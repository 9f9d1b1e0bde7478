package weir.buffer

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.csr.{FrameEnd, IngressEvent}
import weir.frame.{IngressWord, IngressEnd}

/** Puts the words of a frame into cells, and commits the frame or takes everything back when it ends.
  *
  * A frame that finds no cell is taken back at once; its other words are ignored and it ends as overflow. So does
  * a good frame that finds `arrival` not ready. Latency: an arrival leaves one cycle after its frame's end.
  * Throughput: a word a cycle as long as [[FreeList]] has cells ready.
  */
class Store(c: WeirConfig) extends Component {
  val io = new Bundle {
    val word = slave(Flow(IngressWord(c)))
    val end = slave(Flow(IngressEnd(c)))
    val cell = in(c.cellId)
    val available = in Bool ()
    val take = out Bool ()
    val rollback = master(Flow(Chain(c)))
    val write = master(Flow(CellWrite(c)))
    /** room for a frame that ends now */
    val room = in Bool ()
    val arrival = master(Flow(Arrival(c)))
    val event = master(Flow(IngressEvent(c)))
    /** a frame holds cells */
    val busy = out Bool ()
  }
  noIoPrefix()

  /** The frame that is being received. */
  val frame = new Area {
    val first, last = Reg(c.cellId)
    val cells = Reg(UInt(8 bits)) init 0
    val failed = RegInit(False)
  }

  val starting = io.word.valid && io.word.cellStart
  val lacking = starting && !frame.failed && !io.available
  val failed = frame.failed || lacking
  val ended = io.end.valid
  val good = io.end.kind === FrameEnd.good
  val committed = ended && good && !failed && io.room
  val dropped = ended && !committed
  /** the cell that this word starts is kept */
  val taking = starting && !frame.failed && io.available && !dropped

  io.take := taking
  io.write.valid := io.word.valid && !failed && !dropped
  io.write.cell := Mux(io.word.cellStart, io.cell, frame.last)
  io.write.index := io.word.index
  io.write.data := io.word.data

  val none = frame.cells === 0
  io.rollback.valid := (dropped || lacking) && !none
  io.rollback.first := frame.first
  io.rollback.last := frame.last
  io.rollback.cells := frame.cells

  when(taking) {
    when(none)(frame.first := io.cell)
    frame.last := io.cell
    frame.cells := frame.cells + 1
  }
  when(lacking) {
    frame.failed := True
    frame.cells := 0
  }
  when(ended) {
    frame.failed := False
    frame.cells := 0
  }
  io.busy := !none

  val arrival = new Area {
    val valid = RegNext(committed) init False
    val meta = RegNext(io.end.meta)
    val chain = Reg(Chain(c))
    chain.first := Mux(none, io.cell, frame.first)
    chain.last := Mux(taking, io.cell, frame.last)
    chain.cells := frame.cells + taking.asUInt
    io.arrival.valid := valid
    io.arrival.meta := meta
    io.arrival.chain := chain
  }

  val event = new Area {
    val valid = RegNext(ended) init False
    val end = Reg(UInt(3 bits))
    end := io.end.kind
    when(good && !committed)(end := FrameEnd.overflow)
    val bytes = RegNext(io.end.bytes)
    io.event.valid := valid
    io.event.end := end
    io.event.bytes := bytes
  }
}
