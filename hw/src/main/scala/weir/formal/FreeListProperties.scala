package weir.formal

import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Chain, FreeList}

/** Cells are conserved: none is handed out while it is held, none is lost.
  *
  * The environment does all that the core may do: takes cells, rolls the open frame back, commits it to one of three
  * chains, gives chains back in any order and asks for links, at any moment. Ghost state follows one arbitrary cell.
  *
  * @param leak loses the first chain that is given back, which the properties must see
  */
class FreeListProperties(c: WeirConfig, leak: Boolean) extends Component {
  val dut = new FreeList(c)
  val running = !ClockDomain.current.isResetActive
  assumeInitial(ClockDomain.current.isResetActive)

  private def any[T <: Data](hard: T): T = { val value = hard; anyseq(value); value }

  val watched = c.cellId
  anyconst(watched)

  /** What the environment would like to do in this cycle. */
  val wish = new Area {
    val take, rollback, commit, free, lookup = any(Bool())
    val into, from = any(UInt(2 bits))
  }

  class Held extends Area {
    val valid = RegInit(False)
    val chain = Reg(Chain(c))
    val watched = RegInit(False)
  }
  val open = new Held
  val chains = Vec.fill(3)(Reg(Chain(c)))
  val filled = Vec.fill(3)(RegInit(False))
  val marked = Vec.fill(3)(RegInit(False))

  assume(wish.into =/= 3 && wish.from =/= 3)
  val taking = wish.take && dut.io.available && open.chain.cells < c.cells
  val rolling = wish.rollback && open.valid && !taking
  val committing = wish.commit && open.valid && !taking && !rolling && !filled(wish.into)
  val freeing = wish.free && filled(wish.from)
  val lost = RegInit(False)
  if (leak) when(freeing)(lost := True)

  dut.io.take := taking
  dut.io.rollback.valid := rolling
  dut.io.rollback.payload := open.chain
  dut.io.free.valid := freeing && (if (leak) lost else True)
  dut.io.free.payload := chains(wish.from)
  dut.io.lookup.valid := wish.lookup
  dut.io.lookup.payload := watched

  when(taking) {
    open.valid := True
    when(!open.valid) {
      open.chain.first := dut.io.cell
      open.chain.cells := 1
      open.watched := dut.io.cell === watched
    } otherwise {
      open.chain.cells := open.chain.cells + 1
      when(dut.io.cell === watched)(open.watched := True)
    }
    open.chain.last := dut.io.cell
  }
  when(rolling || committing) {
    open.valid := False
    open.watched := False
  }
  when(freeing) {
    filled(wish.from) := False
    marked(wish.from) := False
  }
  when(committing) {
    chains(wish.into) := open.chain
    filled(wish.into) := True
    marked(wish.into) := open.watched
  }

  /** Cells that the environment holds. */
  val held = Reg(UInt(8 bits)) init 0
  held := held + taking.asUInt - Mux(rolling, open.chain.cells, U(0, 8 bits)) -
    Mux(freeing, chains(wish.from).cells, U(0, 8 bits))
  val heldBefore = RegNext(held) init 0
  /** cycles since anything changed or could be taken */
  val starved = Reg(UInt(4 bits)) init 0
  when(taking || rolling || freeing || dut.io.available || !dut.io.swept)(starved := 0) elsewhen (!starved.andR)(starved := starved + 1)

  when(running) {
    // none twice
    when(taking)(assert(!((dut.io.cell === watched) && (open.watched || marked.orR))))
    // free + held = all
    assert(dut.io.count.resize(8 bits) + heldBefore === c.cells - 1)
    // what looks exhausted is exhausted
    when(starved.andR)(assert(held === c.cells - 1))

    cover(held === c.cells - 1)
    cover(freeing && open.valid && held > 3)
    cover(starved.andR)
    cover(rolling && open.chain.cells > 2)
    cover(taking && dut.io.cell === c.cells - 1)
  }
}
