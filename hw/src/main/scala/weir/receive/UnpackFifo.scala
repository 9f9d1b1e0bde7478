package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The words that wait, 512 in block RAM and three in registers before them.
  *
  * Latency: one cycle if nothing waits. Throughput: a word in and a word out each cycle; `second` may lag one cycle behind
  * when words come out of the RAM without a pause. There is no ready: who takes the words has to heed `low`.
  * Reset: empty.
  */
class UnpackFifo(c: WeirConfig) extends Component {
  val io = new Bundle {
    val push = slave(Flow(UnpackFifoWord(c)))
    /** the word before all others, and the one behind it */
    val head, second = master(Flow(UnpackFifoWord(c)))
    /** takes `head`; only if it is valid */
    val pop = in Bool ()
    /** rows of lengths that wait, too */
    val rows = in UInt (10 bits)
    /** fewer than 64 places are free, if a row takes half a place: as long as that is what has to be skipped, neither words
      * nor rows overflow. One cycle late
      */
    val low = out Bool ()
    val busy = out Bool ()
  }
  noIoPrefix()

  private val fifo = StreamFifo(UnpackFifoWord(c), UnpackFifo.depth, latency = 2)

  val stored = new Area {
    val count = Reg(UInt(log2Up(UnpackFifo.depth + 1) bits)) init 0
    val none = RegInit(True)
    val low = RegNext((count << 1) +^ io.rows > 2 * (UnpackFifo.depth - 64)) init False
  }

  /** Registers 0 to 2, the first words of all. What a register takes does not depend on `pop`. */
  val near = new Area {
    val words = Vec(Reg(UnpackFifoWord(c)), 3)
    /** the first `n` are valid */
    val valid = Reg(Bits(3 bits)) init 0
    val full = valid(2)
    val direct = io.push.valid && stored.none && !full
    val comes = direct || fifo.io.pop.fire
    val incoming = stored.none ? io.push.payload | fifo.io.pop.payload
    for (i <- 0 until 3) {
      val following = if (i == 2) incoming else valid(i + 1) ? words(i + 1) | incoming
      when(io.pop || !valid(i) && comes)(words(i) := following)
    }
    when(comes =/= io.pop)(valid := comes ? (valid(1 downto 0) ## True) | (valid >> 1).resized)
  }

  fifo.io.push.valid := io.push.valid && !near.direct
  fifo.io.push.payload := io.push.payload
  fifo.io.pop.ready := !near.full
  when(fifo.io.push.valid && !fifo.io.pop.fire) {
    stored.count := stored.count + 1
    stored.none := False
  }
  when(!fifo.io.push.valid && fifo.io.pop.fire) {
    stored.count := stored.count - 1
    stored.none := stored.count === 1
  }

  io.head.valid := near.valid(0)
  io.head.payload := near.words(0)
  io.second.valid := near.valid(1)
  io.second.payload := near.words(1)
  io.low := stored.low
  io.busy := near.valid(0) || !stored.none
}

object UnpackFifo {
  /** words in block RAM */
  val depth = 512
}
