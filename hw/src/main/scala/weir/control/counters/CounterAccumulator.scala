package weir.control.counters
import spinal.core._
import spinal.lib._

/** Totals of 64 bits of counters that are kept narrow where they count (tallies), and their copy for the host.
  *
  * A tally of w bits is its total modulo 2^w. A sweep goes through all of them and adds to each total what its tally is ahead of
  * it, modulo 2^w, in one adder of 32 bits; totals and their copy are in one RAM. A sweep works on tallies
  * as they were in one cycle, `held`, so that the copy which it makes after `capture` is of one moment.
  *
  * A sweep begins when the top bit of some tally is not what it was in the last one, so nothing moves while nothing counts, and seldom
  * while something does. From that change to the next cycle that a complete sweep is of it takes less than `reach` cycles, so
  * a tally may move by less than 2^(w-1) in them: then it is never 2^w ahead ([[CounterAccumulator.width]]).
  *
  * A row takes four cycles: low word, high word, and after each of them one in which the host may read. Five cycles after
  * they were read words are written: to the total and, in the cycle after, to the copy.
  * `capture` while another sweep runs ends that after its row, and starts anew: to go through a row twice changes nothing.
  *
  * Reset and `clear`: tallies are 0, and the next complete sweep takes all totals for 0.
  * @param places rows of the RAM: what is copied, and None where there is nothing
  * @param steady rows of 64 bits, where `places` has nothing or behind it, that count on their own and are only copied
  */
case class CounterAccumulator(places: Seq[Option[Int]], steady: Seq[Int]) extends Component {
  private val swept = places.indices.filter(places(_).isDefined)
  private val copied = (swept ++ steady).sorted
  require(copied.distinct == copied)
  private val rowWidth = log2Up(copied.last + 1)

  val io = new Bundle {
    val tallies = swept.map(row => in(UInt(places(row).get bits)))
    val whole = in(Vec(UInt(64 bits), steady.size))
    /** pulse: the copy is to be what counts in this cycle; legal while `copying` is low */
    val capture = in(Bool())
    /** `capture` comes in this cycle or within two */
    val imminent = in(Bool())
    /** pulse: tallies are 0 from the next cycle on */
    val clear = in(Bool())
    /** the copy, row ## high; legal while `copying` is low. May wait for a cycle */
    val read = slave(Stream(UInt(rowWidth + 1 bits)))
    /** two cycles after `read` fires */
    val value = master(Flow(Bits(32 bits)))
    val copying = out(Bool())
    /** something is still to be swept */
    val busy = out(Bool())
  }

  /** What a sweep is of. */
  val held = new Area {
    val takes = Bool()
    val tallies = for ((tally, row) <- io.tallies.zip(swept)) yield RegNextWhen(tally, takes).init(0).setName(s"held_$row")
    val whole = io.whole.map(RegNextWhen(_, io.capture))
    /** a top bit had changed since, a cycle ago */
    val behind = RegNext(io.tallies.zip(tallies).map { case (now, then) => now.msb =/= then.msb }.reduceBalancedTree(_ || _)) init False
  }

  val sweep = new Area {
    val running = RegInit(False)
    val copyDue = RegInit(False)
    val copying = RegInit(False)
    /** totals count as 0 */
    val fresh = RegInit(True)
    val row = Reg(UInt(rowWidth bits)) init swept.head
    val phase = Reg(UInt(2 bits)) init 0
    val draining = Bool()
    val reads = running && !phase.lsb
    val high = phase.msb

    private val begins = RegInit(False)
    begins := !begins && !running && !draining && !io.imminent && !io.clear && (copyDue || held.behind)
    held.takes := io.capture || begins && !copyDue
    when(running) {
      phase := phase + 1
      when(phase === 3) {
        def next(rows: Seq[Int]) = Vec((0 until 1 << rowWidth).map(here => U(rows.find(_ > here).getOrElse(0), rowWidth bits)))(row)
        row := copying ? next(copied) | next(swept)
        when(row === (copying ? U(copied.last, rowWidth bits) | U(swept.last, rowWidth bits))) {
          running := False
          fresh := False
        } elsewhen (io.imminent || copyDue) {
          running := False
        }
      }
    } elsewhen (!draining) {
      copying := False
      row := swept.head
    }
    when(begins) {
      running := True
      copying := copyDue
      copyDue := False
    }
    when(io.capture) { copyDue := True }
    when(io.clear) {
      running := False
      copyDue := False
      copying := False
      fresh := True
      phase := 0
    }
    io.copying := copyDue || copying
    io.busy := running || draining || copyDue || held.behind
  }

  /** From what is in the RAM and what is held to what is written, a word in two cycles. */
  val update = new Area {
    private def stage(before: Bool): Bool = RegNext(before) init False
    val found, taken, ahead, sum, again = Bool()
    found := stage(sweep.reads)
    taken := stage(found)
    ahead := stage(taken)
    sum := stage(ahead)
    again := stage(sum)
    sweep.draining := found || taken || ahead || sum
    private def valueOf(row: Int): UInt = if (steady.contains(row)) held.whole(steady.indexOf(row)) else held.tallies(swept.indexOf(row))
    private def word(value: UInt, high: Boolean): Option[UInt] = {
      val width = widthOf(value)
      if (!high) Some(value.resize(width min 32)) else if (width > 32) Some(value(width - 1 downto 32)) else None
    }
    private def along[T <: Data](value: T, valid: Bool): T = RegNextWhen(value, valid)

    /** words, each in a register that is 0 but in the cycle after its row was read: so a word of any is the OR of all */
    val offered = for (row <- copied; high <- Seq(false, true); bits = word(valueOf(row), high) if bits.nonEmpty) yield {
      val offer = Reg(UInt(widthOf(bits.get) bits))
      when(sweep.reads) {
        offer := bits.get
        when(!(sweep.row === row && sweep.high === Bool(high)))(offer := 0)
      }
      offer.resize(32)
    }
    private val masks = (0 until 1 << rowWidth).flatMap { row =>
      val bits = if (swept.contains(row)) places(row).get else 64
      val all = (BigInt(1) << bits) - 1
      Seq(U(all & 0xffffffffL, 32 bits), U(all >> 32, 32 bits))
    }
    val address0 = along(sweep.row @@ sweep.high, sweep.reads)
    val mask0 = along(Vec(masks)(sweep.row @@ sweep.high), sweep.reads)
    val ram = Mem(Bits(32 bits), 4 << rowWidth)
    io.read.ready := !sweep.reads
    private val asked = RegNext(io.read.fire) init False
    private val read = ram.readSync(!sweep.reads ## Mux(sweep.reads, sweep.row @@ sweep.high, io.read.payload) asUInt, sweep.reads || io.read.valid)

    val old1 = Reg(UInt(32 bits))
    when(found || asked)(old1 := read.asUInt)
    when((found || asked) && sweep.fresh)(old1 := 0)
    val address1 = along(address0, found)
    val tally1 = along(offered.reduceBalancedTree(_ | _), found)
    val mask1 = along(mask0, found)
    io.value.valid := RegNext(asked) init False
    io.value.payload := old1.asBits

    /** how far the tally is ahead; the second word gets what the first one owes */
    val owed = Reg(Bool())
    private val difference = ((tally1 @@ False) -^ (old1 @@ (owed && address1.lsb))) >> 1
    when(taken)(owed := difference.msb)
    val ahead2 = along(difference(31 downto 0) & mask1, taken)
    val old2 = along(old1, taken)
    val address2 = along(address1, taken)

    val carry = Reg(Bool())
    private val total = ((old2 @@ True) +^ (ahead2 @@ (carry && address2.lsb))) >> 1
    when(ahead)(carry := total.msb)
    val sum3 = along(total(31 downto 0), ahead)
    val address3 = along(address2, ahead)

    ram.write(again.asUInt @@ address3, sum3.asBits, sum || again && sweep.copying)
  }
}

object CounterAccumulator {
  /** cycles */
  def reach(rows: Int): Int = 8 * rows + 28

  /** Bits of a tally that is one of so many.
    *
    * @param most  that it may be added at once
    * @param apart cycles from one time to the next
    */
  def width(most: BigInt, apart: Int, rows: Int): Int = (most * ((reach(rows) + apart - 1) / apart)).bitLength + 1
}
