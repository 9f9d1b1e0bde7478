package weir.jumbo

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The words that wait, 512 in block RAM and three in registers before them.
  *
  * Latency: one cycle if nothing waits. Throughput: a word in and a word out each cycle; `second` may lag one cycle behind
  * when words come out of the RAM without a pause. There is no ready: who takes the words has to heed `low`.
  * Reset: empty.
  */
class Waiting(c: WeirConfig) extends Component {
  val io = new Bundle {
    val push = slave(Flow(WaitingWord(c)))
    /** the word before all others, and the one behind it */
    val head, second = master(Flow(WaitingWord(c)))
    /** takes `head`; only if it is valid */
    val pop = in Bool ()
    /** fewer than 64 places are free, one cycle late */
    val low = out Bool ()
    val busy = out Bool ()
  }
  noIoPrefix()

  private val fifo = StreamFifo(WaitingWord(c), Waiting.depth, latency = 2)

  val stored = new Area {
    val count = Reg(UInt(log2Up(Waiting.depth + 1) bits)) init 0
    val none = RegInit(True)
    val low = RegNext(count > Waiting.depth - 64) init False
  }

  /** Registers 0 to 2, the first words of all. */
  val near = new Area {
    val words = Vec(Reg(WaitingWord(c)), 3)
    val count = Reg(UInt(2 bits)) init 0
    val full = count === 3
    val direct = io.push.valid && stored.none && !full
    val comes = direct || fifo.io.pop.fire
    val incoming = stored.none ? io.push.payload | fifo.io.pop.payload
    val at = count - io.pop.asUInt
    for (i <- 0 until 3) {
      when(comes && at === i) {
        words(i) := incoming
      } elsewhen (io.pop) {
        if (i < 2) words(i) := words(i + 1)
      }
    }
    count := at + comes.asUInt
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

  io.head.valid := near.count =/= 0
  io.head.payload := near.words(0)
  io.second.valid := near.count(1)
  io.second.payload := near.words(1)
  io.low := stored.low
  io.busy := near.count =/= 0 || !stored.none
}

object Waiting {
  /** words in block RAM */
  val depth = 512
}
