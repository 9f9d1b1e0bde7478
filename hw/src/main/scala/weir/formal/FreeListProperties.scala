package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Chain, FreeList}

/** Cells are conserved: none is handed out while it is held, none is lost, and chains stay linked.
  *
  * The environment does all that the core may do, at any moment and all at once: takes cells, rolls the open frame back
  * or commits it as a chain, gives chains back in any order, asks for links. One thing is assumed: a chain is given
  * back no earlier than the cell after its last one is known (five cycles; in the core it takes eleven).
  *
  * A ghost keeps the owner of every cell and its rank in the owner's list. The invariants say, cell by cell, that the
  * link of a cell leads to the next rank of the same owner; so every list is a path through all cells of its owner.
  *
  * @param leak loses the first chain that is given back, which the properties must see
  * @param used starts long after reset: 0 → 1 → 3 and 4 → 6 are held, 5 → 2 → 7 are free
  */
class FreeListProperties(c: WeirConfig, leak: Boolean, used: Boolean = false) extends Properties(boots = !used) {
  private val n = c.cells
  private val held = 2 // chains
  private val free = 0
  private val opened = 1
  val dut = new FreeList(c)

  private def owner = UInt(log2Up(2 + held) bits)
  private def rank = UInt(c.cellWidth + 1 bits)
  val owners = Vec.fill(n)(Reg(owner) init free)
  val ranks = Vec(for (i <- 0 until n) yield Reg(rank) init i)

  val inside = new Area {
    val ahead = dut.allocate.cells.map(_.pull())
    val known = dut.allocate.known.pull()
    val last = dut.allocate.last.pull()
    val reading = dut.allocate.reading.pull()
    val data = dut.port.data.pull()
    val tail = dut.tail.pull()
    val swept = dut.sweep.done.pull()
    val sweeping = dut.sweep.cell.pull()
    val change = dut.accounting.change.pull()
    val stored = dut.rework {
      var found: Mem[UInt] = null
      dut.dslBody.foreachStatements {
        case memory: Mem[_] => found = memory.asInstanceOf[Mem[UInt]]
        case _ =>
      }
      Vec((0 until n).map(i => CombInit(found.readAsync(U(i, c.cellWidth bits))))).setName("stored")
    }
    /** the links, those that the sweep has not written yet included */
    val links = Vec(for (i <- 0 until n) yield {
      val link = c.cellId
      link := stored(i).pull()
      if (i < n - 1) when(!swept && sweeping <= i)(link := i + 1)
      link
    })
  }
  import inside._

  class Held extends Area {
    val valid = RegInit(False)
    val chain = Reg(Chain(c))
  }
  val open = new Held
  val chains = for (_ <- 0 until held) yield new Held

  val wish = new Area {
    val take, rollback, commit, free, lookup = any(Bool())
    val into, from = any(UInt(1 bits))
    val cell = any(c.cellId)
  }
  val source = Vec(chains.map(_.chain))(wish.from)
  val taking = wish.take && dut.io.available
  val rolling = wish.rollback && open.valid && !taking
  val committing = wish.commit && open.valid && !taking && !rolling && !Vec(chains.map(_.valid))(wish.into)
  val freeing = wish.free && Vec(chains.map(_.valid))(wish.from)
  assume(!(freeing && known === 0 && source.last === last))
  val lost = RegInit(False)
  if (leak) when(freeing)(lost := True)
  val giving = freeing && (if (leak) lost else True)

  dut.io.take := taking
  dut.io.rollback.valid := rolling
  dut.io.rollback.first := open.chain.first
  dut.io.rollback.cells := open.chain.cells.resized
  dut.io.free.valid := giving
  dut.io.free.payload := source
  dut.io.lookup.valid := wish.lookup
  dut.io.lookup.payload := wish.cell

  when(taking) {
    open.valid := True
    when(!open.valid) {
      open.chain.first := dut.io.cell
      open.chain.cells := 1
    } otherwise (open.chain.cells := open.chain.cells + 1)
    open.chain.last := dut.io.cell
    owners(dut.io.cell) := U(opened, owners(0).getWidth bits)
  }
  when(rolling || committing)(open.valid := False)
  for (i <- 0 until n) {
    when(owners(i) === opened && rolling)(owners(i) := U(free, owners(i).getWidth bits))
    when(owners(i) === opened && committing)(owners(i) := (wish.into.resize(owners(i).getWidth) + 2).resized)
    when(freeing && owners(i) === wish.from.resize(owners(i).getWidth) + 2) {
      owners(i) := U(free, owners(i).getWidth bits)
      ranks(i) := ranks(i) - ranks(source.first) + ranks(tail) + 1
    }
  }
  for ((chain, k) <- chains.zipWithIndex) {
    when(freeing && wish.from === k)(chain.valid := False)
    when(committing && wish.into === k) {
      chain.valid := True
      chain.chain := open.chain
    }
  }

  /** the first free cell */
  val head = Mux(known =/= 0, ahead.head, links(last))
  val freeCells = CountOne(owners.map(_ === free))
  val isLast = chains.map(chain => chain.valid && chain.chain.last === wish.cell).orR
  private val asked = dut.io.lookup.fire && owners(wish.cell) >= 2 && !isLast

  /** Lookups under way, with the right answer if there is one. */
  class Answer(valid1: Bool, known1: Bool, cell1: UInt) extends Area {
    val valid = RegNext(valid1) init False
    val known = RegNext(known1) init False
    val cell = RegNext(cell1)
  }
  val asking = new Answer(dut.io.lookup.fire, asked, links(wish.cell))
  val answering = new Answer(asking.valid, asking.known, asking.cell)
  private val answers = Seq(asking, answering)

  if (used) {
    require(n == 8, s"FreeListProperties.used is made for 8 cells, not $n")
    val lists = Seq(free -> Seq(5, 2, 7), 2 -> Seq(0, 1, 3), 3 -> Seq(4, 6))
    val cells = for ((id, list) <- lists; (i, at) <- list.zipWithIndex) yield owners(i) === id && ranks(i) === at
    val linked = for ((_, list) <- lists; (i, next) <- list zip list.tail) yield stored(i).pull() === next
    val held = for ((chain, (_, list)) <- chains zip lists.tail) yield chain.valid && chain.chain.first === list.head &&
      chain.chain.last === list.last && chain.chain.cells === list.size
    val allocator = known === 1 && dut.io.known && ahead.head === 5 && last === 5 && tail === 7 && !reading && dut.io.available
    val sweep = swept && sweeping === n - 1
    val counted = dut.io.count === 2 && change === 0
    val lookups = answers.map(!_.valid) ++ answers.map(!_.known) ++ Seq(!dut.io.next.valid, !dut.lookup.fired.pull())
    val rest = !open.valid && (if (leak) !lost else True)
    assumeInitial((cells ++ linked ++ held ++ lookups ++ Seq(allocator, sweep, counted, rest)).reduce(_ && _))
  }

  when(running) {
    // none twice
    when(taking)(assert(owners(dut.io.cell) === free))
    when(dut.io.available)(assert(dut.io.known))
    when(dut.io.known && !dut.io.available)(assert(freeCells === 1))
    // free + held = all; `count` is that of the cycle before the last one, `change` what comes to it
    assert(dut.io.count + change.asUInt.resize(c.cellWidth) === (freeCells - 1).resize(c.cellWidth))
    // a lookup inside a chain gives the chain's next cell
    assert(dut.io.next.valid === answers(1).valid && dut.lookup.fired.pull() === answers(0).valid)
    when(answers(0).known)(assert(data === answers(0).cell))
    when(answers(1).known)(assert(dut.io.next.payload === answers(1).cell))

    // The free list: from `head` to `tail` through all free cells.
    assert(owners(head) === free && owners(tail) === free)
    assert(ranks(tail) - ranks(head) === (freeCells - 1).resize(ranks(0).getWidth))
    for (i <- 0 until n) {
      when(owners(i) === free) {
        assert((ranks(i) - ranks(head)).resize(4) < freeCells.resize(5))
        when(tail =/= i)(assert(owners(links(i)) === free && ranks(links(i)) === ranks(i) + 1))
      }
      for (j <- 0 until i) when(owners(i) === owners(j))(assert(ranks(i) =/= ranks(j)))
    }
    // The chains that are held.
    for ((list, id) <- (open +: chains).zipWithIndex) {
      val members = CountOne(owners.map(_ === id + 1))
      when(list.valid) {
        assert(list.chain.cells === members.resize(8))
        assert(owners(list.chain.first) === id + 1 && owners(list.chain.last) === id + 1)
        assert(ranks(list.chain.last) - ranks(list.chain.first) === (members - 1).resize(ranks(0).getWidth))
        for (i <- 0 until n) when(owners(i) === id + 1) {
          assert((ranks(i) - ranks(list.chain.first)).resize(4) < members.resize(5))
          when(list.chain.last =/= i)(assert(owners(links(i)) === id + 1 && ranks(links(i)) === ranks(i) + 1))
        }
      } otherwise (assert(members === 0))
    }
    when(open.valid) {
      assert(ranks(head) === ranks(open.chain.last) + 1 && links(open.chain.last) === head)
      when(known === 0)(assert(last === open.chain.last))
    }
    // What the allocator knows.
    when(known === 0)(assert(owners(last) =/= free && last =/= tail && !dut.io.known))
    when(known(1))(assert(dut.io.known))
    assert(dut.io.available === (dut.io.known && (known(1) || last =/= tail)))
    for (i <- 0 until 3) {
      when(known === i + 1)(assert(last === ahead(i)))
      if (i < 2) when(known > i + 1) {
        assert(ahead(i + 1) === links(ahead(i)) && ahead(i) =/= tail)
        assert(swept || ahead(i) < sweeping)
      }
    }
    when(reading)(assert(data === links(last) && last =/= tail && known =/= 3 && (swept || last < sweeping)))
    // The sweep: what it has not reached has not been given back.
    when(swept)(assert(sweeping === n - 1)) otherwise {
      assert(sweeping < n - 1)
      assert(tail === n - 1 || tail < sweeping)
      for (i <- 0 until n) when(owners(i) =/= free)(assert(sweeping > i || (known === 0 && last === i)))
    }

    if (used) cover(taking && dut.io.cell === 6 && !chains.map(_.valid).orR && open.chain.cells === 4)
    cover(freeCells === 1)
    cover(freeing && open.valid && freeCells < 4)
    cover(rolling && open.chain.cells > 2)
    cover(giving && taking && dut.io.swept)
    if (!used) cover(taking && dut.io.cell === 0 && dut.io.swept)
  }
}
