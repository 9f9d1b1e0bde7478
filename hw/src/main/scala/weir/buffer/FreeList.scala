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
  * Throughput: three cells at once, then one every two cycles; one lookup every two cycles; one chain freed every
  * cycle. A cell that comes to be known while no other is can be taken a cycle later: it may be the sentinel. Latency of a
  * lookup: two cycles. When no cell is left `available` is low. At reset all cells are free; allocation runs behind the sweep.
  */
class FreeList(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** the next free cell, if `available` */
    val cell = out(c.cellId)
    /** from a register */
    val available = out Bool ()
    /** from a register: there is one, or none at all; otherwise one is on its way */
    val known = out Bool ()
    /** takes `cell`; only with `available` */
    val take = in Bool ()
    /** gives back the cells taken last, all since `first`, with `take` low */
    val rollback = slave(Flow(Rollback(c)))
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

  /** The first free cells, read ahead. */
  val allocate = new Area {
    val cells = Vec.fill(3)(Reg(c.cellId))
    cells(0) init 0
    val known = Reg(UInt(2 bits)) init 1
    /** the cell whose link has not been read: the last of `cells` or, without any, the one handed out last */
    val last = Reg(c.cellId) init 0
    val reading = RegInit(False)

    val linked = sweep.done || last < sweep.cell
    val read = !slot && !reading && known =/= 3 && last =/= tail && linked && !io.rollback.valid
    reading := read

    io.cell := cells(0)
  }

  val port = new Area {
    val address = Mux(slot, io.lookup.payload, allocate.last)
    val data = links.readSync(address, allocate.read || slot)
  }

  /** A cell is taken, another comes to be known. */
  val change = new Area {
    private val arrived = allocate.reading
    import allocate.{cells, known}
    /** known then, if none is taken or one is: that is known late, and only chooses */
    private val (kept, less) = (known + arrived.asUInt, known - 1 + arrived.asUInt)
    when(arrived || io.take) {
      // what is not known may be anything
      for (n <- 0 until 3) {
        val stays = Mux(known > n, cells(n), port.data)
        cells(n) := (if (n == 2) stays else Mux(io.take, Mux(known > n + 1, cells(n + 1), port.data), stays))
      }
      known := Mux(io.take, less, kept)
    }
    when(arrived)(allocate.last := port.data)
    when(io.rollback.valid) {
      allocate.cells(0) := io.rollback.first
      allocate.known := 1
      allocate.last := io.rollback.first
      allocate.reading := False
    }
    // Cells before `last` are not the sentinel, nor is any before which a chain is given back, nor one that was taken. `last` is compared a cycle ahead:
    // that of a cell that was just read is not known.
    private def tells(known: UInt) = known(1) || known(0) && (!arrived || io.free.valid)
    private def hands(known: UInt) = known(1) || known(0) && (!arrived && allocate.last =/= tail || io.free.valid)
    val told = RegNext(io.rollback.valid || Mux(io.take, tells(less), tells(kept))) init True
    val handed = RegNext(io.rollback.valid || Mux(io.take, hands(less), hands(kept))) init True
    io.known := told
    io.available := handed
  }

  val lookup = new Area {
    io.lookup.ready := slot
    val fired = RegNext(io.lookup.fire) init False
    io.next.valid := RegNext(fired) init False
    io.next.payload := RegNext(port.data)
  }

  val accounting = new Area {
    private val width = (c.cellWidth max 8) + 2
    private val freed = RegNext(Mux(io.free.valid, io.free.cells, U(0, 8 bits))) init 0
    /** one is taken, or some come back */
    private val moved = RegNext(Mux(io.rollback.valid, io.rollback.cells.resize(width bits).asSInt, io.take.asSInt.resize(width bits))) init 0
    val change = freed.resize(width bits).asSInt + moved
    val count = Reg(UInt(c.cellWidth bits)) init (c.cells - 1)
    count := (count.asSInt.resize(c.cellWidth + 1 bits) + change.resize(c.cellWidth + 1 bits)).asUInt.resize(c.cellWidth bits)
    io.count := count
  }
}
