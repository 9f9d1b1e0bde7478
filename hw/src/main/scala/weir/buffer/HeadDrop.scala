package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.CarrySave
import weir.control.registers.QueueConfig

/** Tells which queues have to drop packets from their heads (drop from front, Lakshman et al. 1996).
  *
  * A queue with `dropFront` takes an arrival although it is full. `over` is high while what is linked, in bytes or
  * packets, exceeds a limit; arrivals whose verdict is pending do not count. It follows a link or a departure by one cycle,
  * so that one head can be dropped every four cycles, and none too many.
  */
class HeadDrop(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = in(Vec(QueueConfig(c), c.queues))
    val link = slave(Flow(Link(c)))
    /** with each link that counts, one bit a queue */
    val linked = in(Bits(c.queues bits))
    val departure = slave(Flow(Departure(c)))
    /** one cycle before each departure that counts */
    val leaving = slave(Flow(c.queueId))
    val over = out(Bits(c.queues bits))
  }
  noIoPrefix()

  val queues = for (q <- 0 until c.queues) yield new Area {
    val linked = io.linked(q)
    val left = RegNext(io.leaving.valid && io.leaving.payload === q) init False
    val added = Mux(linked, io.link.descriptor.length, U(0, c.lengthWidth bits))
    val taken = Mux(left, io.departure.descriptor.length, U(0, c.lengthWidth bits))
    private val moves = linked || left
    /** What is left up to a limit in the next cycle, negative above it: changes by a packet that comes or goes, else by as much as the limit has changed. A
      * limit that changes in the cycle of a packet counts a cycle later.
      */
    class Slack(limit: UInt, more: UInt, less: UInt) extends Area {
      private val width = widthOf(limit) + 2
      val slack = Reg(SInt(width bits)) init 0
      /** the limit that it is of */
      val counted = Reg(cloneOf(limit)) init 0
      when(!moves)(counted := limit)
      private val rises = Mux(moves, less.resize(width), limit.resize(width))
      private val falls = Mux(moves, more.resize(width), counted.resize(width))
      val after = CarrySave.difference(Seq(slack.asUInt, rises), Seq(falls -> 0), width).asSInt
      slack := after
    }
    val bytes = new Slack(io.config(q).limitBytes, added, taken)
    val packets = new Slack(io.config(q).limitPackets, linked.asUInt, left.asUInt)
    /** a register: the scheduler's choice begins with it */
    val over = RegNext(io.config(q).dropFront && (bytes.after.msb || packets.after.msb)) init False
    io.over(q) := over
  }
}
