package weir.buffer

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The free cells, and the links of all chains.
  *
  * One RAM holds a next-pointer a cell. Free cells form one chain from `cell` to a sentinel, which is never
  * handed out. A cell that is taken keeps its link, so cells taken one after the other are a chain already
  * and nobody ever writes a link but [[io.free]], which appends a whole chain behind the sentinel with one write.
  *
  * RAM ports: the write port belongs to `free`, and after reset to the sweep that links cell i to i+1. The read
  * port alternates every cycle between the allocator (even slots) and `lookup` (odd slots).
  *
  * A chain may be given back five cycles after its last cell was taken or later: the link behind it has been fetched
  * by then. In the core it takes eleven.
  *
  * Throughput: two cells at once, then one every five cycles; one lookup every two cycles; one chain freed every
  * cycle. Latency of a lookup: two cycles. When no cell is left `available` is low. At reset all cells are free;
  * allocation runs behind the sweep.
  */
class FreeList(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** the next free cell, if `available` */
    val cell = out(c.cellId)
    val available = out Bool ()
    /** takes `cell`; only with `available` */
    val take = in Bool ()
    /** gives back the cells taken last, all since `first`, with `take` low */
    val rollback = slave(Flow(Chain(c)))
    /** gives back a chain */
    val free = slave(Flow(Chain(c)))
    /** asks for the cell after this one */
    val lookup = slave(Stream(c.cellId))
    /** answers two cycles after a lookup fired */
    val next = master(Flow(c.cellId))
    /** cells that can be taken, two cycles late */
    val count = out(UInt(c.cellWidth bits))
    /** every cell has been linked since reset */
    val swept = out Bool ()
  }
  noIoPrefix()

  private val links = Mem(c.cellId, c.cells)

  /** After reset: link every cell to the one after it. A chain that is freed meanwhile goes first. */
  val sweep = new Area {
    val cell = Reg(UInt(c.cellWidth bits)) init 0
    val done = RegInit(False)
    when(!io.free.valid && !done) {
      cell := cell + 1
      done := cell === c.cells - 2
    }
  }
  io.swept := sweep.done

  val tail = Reg(c.cellId) init (c.cells - 1)
  when(io.free.valid)(tail := io.free.last)

  links.write(
    address = Mux(io.free.valid, tail, sweep.cell),
    data = Mux(io.free.valid, io.free.first, sweep.cell + 1),
    enable = io.free.valid || !sweep.done
  )

  val slot = RegInit(False)
  slot := !slot

  val allocate = new Area {
    /** the cell to hand out or, without `valid`, the one handed out last */
    val cell = Reg(c.cellId) init 0
    val valid = RegInit(True)
    val following = Reg(c.cellId)
    val followingValid = RegInit(False)
    val reading = RegInit(False)

    val atTail = cell === tail
    val linked = sweep.done || cell < sweep.cell
    val read = !slot && !followingValid && !reading && !atTail && linked && !io.rollback.valid
    val arrived = reading
    reading := read

    io.cell := cell
    io.available := valid && !atTail
  }

  val port = new Area {
    val address = Mux(slot, io.lookup.payload, allocate.cell)
    val data = links.readSync(address, allocate.read || slot)
  }

  when(allocate.arrived) {
    when(allocate.valid && !io.take) {
      allocate.following := port.data
      allocate.followingValid := True
    } otherwise {
      allocate.cell := port.data
      allocate.valid := True
    }
  } elsewhen (io.take) {
    when(allocate.followingValid)(allocate.cell := allocate.following)
    allocate.valid := allocate.followingValid
    allocate.followingValid := False
  }
  when(io.rollback.valid) {
    allocate.cell := io.rollback.first
    allocate.valid := True
    allocate.followingValid := False
    allocate.reading := False
  }

  val lookup = new Area {
    io.lookup.ready := slot
    val fired = RegNext(io.lookup.fire) init False
    io.next.valid := RegNext(fired) init False
    io.next.payload := RegNext(port.data)
  }

  val accounting = new Area {
    val change = Reg(SInt(10 bits)) init 0
    val taken = io.take.asUInt
    val returned = Mux(io.rollback.valid, io.rollback.cells, U(0, 8 bits))
    val freed = Mux(io.free.valid, io.free.cells, U(0, 8 bits))
    change := ((returned +^ freed).resize(10 bits) - taken.resize(10 bits)).asSInt
    val count = Reg(UInt(c.cellWidth bits)) init (c.cells - 1)
    count := (count.asSInt.resize(c.cellWidth + 1 bits) + change.resize(c.cellWidth + 1 bits)).asUInt.resize(c.cellWidth bits)
    io.count := count
  }
}
