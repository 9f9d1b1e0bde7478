package weir.buffer

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.aqm.CarrySave
import weir.csr.QueueConfig

/** Tells which queues have to drop packets from their heads (drop from front, Lakshman et al. 1996).
  *
  * A queue with `dropFront` takes an arrival although it is full. `over` is high while what is linked, in bytes or
  * packets, exceeds a limit; arrivals whose verdict is pending do not count. It follows a link or a departure by one cycle,
  * so that one head can be dropped every four cycles, and none too many.
  */
class Trim(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = in(Vec(QueueConfig(c), c.queues))
    val link = slave(Flow(Link(c)))
    /** one cycle before each link; a core without jumbo frames does not know it then */
    val linking = c.jumbo generate slave(Flow(c.queueId))
    val departure = slave(Flow(Departure(c)))
    /** one cycle before each departure */
    val leaving = slave(Flow(Leaving(c)))
    val over = out(Bits(c.queues bits))
  }
  noIoPrefix()

  val queues = for (q <- 0 until c.queues) yield new Area {
    private val links =
      if (c.jumbo) RegNext(io.linking.valid && io.linking.payload === q) init False else io.link.valid && io.link.queue === q
    val linked = links && io.link.descriptor.counts
    private val leaves = RegNext(io.leaving.valid && io.leaving.queue === q) init False
    val left = leaves && io.departure.descriptor.counts
    val added = Mux(linked, io.link.descriptor.length, U(0, c.lengthWidth bits))
    val taken = Mux(left, io.departure.descriptor.length, U(0, c.lengthWidth bits))
    val enabled = RegNext(io.config(q).dropFront) init False
    private val moves = linked || left
    /** What is left up to a limit, negative above it: changes by a packet that comes or goes, else by as much as the limit has changed. A
      * limit that changes in the cycle of a packet counts a cycle later.
      */
    private def slackOf(limit: UInt, more: UInt, less: UInt): SInt = {
      val width = widthOf(limit) + 2
      val slack = Reg(SInt(width bits)) init 0
      /** the limit that it is of */
      val counted = Reg(cloneOf(limit)) init 0
      when(!moves)(counted := limit)
      val rises = Mux(moves, less.resize(width), limit.resize(width))
      val falls = Mux(moves, more.resize(width), counted.resize(width))
      slack := CarrySave.difference(Seq(slack.asUInt, rises), Seq(falls -> 0), width, True).asSInt
      slack
    }
    val slackBytes = slackOf(io.config(q).limitBytes, added, taken)
    val slackPackets = slackOf(io.config(q).limitPackets, linked.asUInt, left.asUInt)
    io.over(q) := enabled && (slackBytes.msb || slackPackets.msb)
  }
}
