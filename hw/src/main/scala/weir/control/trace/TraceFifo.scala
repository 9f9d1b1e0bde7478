package weir.control.trace
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The host's FIFO of trace records, `c.traceDepth` deep, in block RAM.
  *
  * A record is written as two halves in two cycles, its even words and its odd ones: pushes are two or more cycles apart, and the payload stands in the
  * cycle after the push. `pop` makes the oldest record the one that is read, until the next pop; its slot is in use as long.
  * Two cycles after it, and one after `odd`, `data` are that record's six even or odd words.
  * Limits: a record that finds the FIFO full (or comes in the cycle after another) is lost and pulses
  * `lost`; what is stored is never overwritten. A pop of an empty FIFO does nothing.
  * Reset and `clear`: empty; `data` may be anything until the next pop.
  */
case class TraceFifo(c: WeirConfig) extends Component {
  val io = new Bundle {
    val push = slave(Flow(Bits(TraceRecord.width bits)))
    val pop = in(Bool())
    val odd = in(Bool())
    val data = out(Vec(Bits(32 bits), TraceRecord.words / 2))
    /** complete records that wait */
    val level = out(UInt(log2Up(c.traceDepth + 1) bits))
    /** pulse: a record was lost */
    val lost = out(Bool())
    val clear = in(Bool())
  }

  private val slotWidth = log2Up(c.traceDepth)
  private val countWidth = slotWidth + 1

  val ram = Mem(Bits(TraceRecord.width / 2 bits), 2 * c.traceDepth)

  /** Slots in use, from the push of a record to the pop of the next one. */
  val used = Reg(UInt(countWidth bits)) init 0
  /** Records written and not asked for. */
  val waiting = Reg(UInt(countWidth bits)) init 0

  val write = new Area {
    val slot = Reg(UInt(slotWidth bits)) init 0
    val second = RegInit(False)
    val full = used.msb
    val start = io.push.valid && !second && !full && !io.clear
    val lost = RegNext(io.push.valid && (second || full) && !io.clear) init False
    second := start
    private val words = io.push.payload.subdivideIn(32 bits).grouped(2).toSeq
    ram.write(
      address = slot @@ second,
      data = Vec(words.map(pair => Mux(second, pair(1), pair(0)))).asBits,
      enable = start || second
    )
    when(second) { slot := slot + 1 }
  }

  val read = new Area {
    /** of the record that was popped last, or will be the first one */
    val slot = Reg(UInt(slotWidth bits)) init 0
    /** there is one */
    val holds = RegInit(False)
    val start = io.pop && waiting =/= 0 && !io.clear
    /** the record before is given up */
    val done = start && holds
    when(start)(holds := True)
    when(done)(slot := slot + 1)
    io.data.assignFromBits(ram.readSync(slot @@ io.odd))
  }

  when(write.start && !read.done) { used := used + 1 }
  when(!write.start && read.done) { used := used - 1 }
  when(write.second && !read.start) { waiting := waiting + 1 }
  when(!write.second && read.start) { waiting := waiting - 1 }
  when(io.clear) {
    used := 0
    waiting := 0
    write.slot := 0
    write.second := False
    read.slot := 0
    read.holds := False
  }

  io.level := waiting
  io.lost := write.lost
}
