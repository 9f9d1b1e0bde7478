package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The host's FIFO of trace records, `c.traceDepth` deep, in block RAM.
  *
  * A record is written as two halves in two cycles, so pushes must be two or more cycles apart. `pop` fetches the
  * oldest record into `data`, where it stays until the next pop; `popBusy` is high for the four cycles that this takes.
  * Limits: a record that finds the FIFO full (or comes in the cycle after another) is lost and pulses
  * `lost`; what is stored is never overwritten. A pop of an empty FIFO, or while busy, does nothing.
  * Reset and `clear`: empty; `data` keeps its words.
  */
case class TraceFifo(c: WeirConfig) extends Component {
  val io = new Bundle {
    val push = slave(Flow(Bits(TraceRecord.width bits)))
    val pop = in(Bool())
    val popBusy = out(Bool())
    val data = out(Vec(Bits(32 bits), TraceRecord.words))
    /** complete records that wait */
    val level = out(UInt(log2Up(c.traceDepth + 1) bits))
    /** pulse: a record was lost */
    val lost = out(Bool())
    val clear = in(Bool())
  }

  private val slotWidth = log2Up(c.traceDepth)
  private val countWidth = slotWidth + 1
  private val halfWidth = TraceRecord.width / 2

  val ram = Mem(Bits(halfWidth bits), 2 * c.traceDepth)

  /** Slots in use, from the push of a record to the end of its pop. */
  val used = Reg(UInt(countWidth bits)) init 0
  /** Records written and not asked for. */
  val waiting = Reg(UInt(countWidth bits)) init 0

  val write = new Area {
    val slot = Reg(UInt(slotWidth bits)) init 0
    val second = RegInit(False)
    val upper = RegNextWhen(io.push.payload(TraceRecord.width - 1 downto halfWidth), io.push.valid && !second)
    val full = used.msb
    val start = io.push.valid && !second && !full && !io.clear
    val lost = RegNext(io.push.valid && (second || full) && !io.clear) init False
    second := start
    ram.write(
      address = slot @@ second,
      data = second ? upper | io.push.payload(halfWidth - 1 downto 0),
      enable = start || second
    )
    when(second) { slot := slot + 1 }
  }

  val read = new Area {
    val slot = Reg(UInt(slotWidth bits)) init 0
    /** cycle of a pop, 0 when there is none: 1 and 2 read a half each, 2 and 3 get it, 4 ends */
    val step = Reg(UInt(3 bits)) init 0
    val start = io.pop && step === 0 && waiting =/= 0 && !io.clear
    val done = step === 4
    val half = ram.readSync(slot @@ (step === 2), step === 1 || step === 2)
    val data = Vec(Reg(Bits(32 bits)), TraceRecord.words)
    when(step === 2) { Vec(data.take(TraceRecord.words / 2)).assignFromBits(half) }
    when(step === 3) { Vec(data.drop(TraceRecord.words / 2)).assignFromBits(half) }
    when(step =/= 0) { step := step + 1 }
    when(start) { step := 1 }
    when(done) {
      step := 0
      slot := slot + 1
    }
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
    read.step := 0
  }

  io.popBusy := read.step =/= 0
  io.data := read.data
  io.level := waiting
  io.lost := write.lost
}
