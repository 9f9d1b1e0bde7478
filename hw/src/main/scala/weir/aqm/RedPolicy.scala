package weir.aqm

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.csr.{QueueUnit, RedConfig}

/** RED as a policy: the average and the decision, for every queue.
  *
  * Latency: the verdict is valid 10 cycles after its request; the commit is due one cycle later. Throughput: a request
  * every 4 cycles. A request of a queue with `stall` high should wait if it finds the queue empty; it takes the idle time
  * for 0 if it does not.
  */
case class RedPolicy(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = in(Vec(RedConfig(), c.queues))
    /** [[QueueUnit]] of each queue */
    val unit = in(Vec(UInt(2 bits), c.queues))
    /** a frame of that queue is coming in */
    val hint = slave(Flow(QueueTime(c)))
    /** a departure left that queue empty */
    val emptied = slave(Flow(QueueTime(c)))
    val stall = out(Bits(c.queues bits))
    /** the queue's average and count start anew */
    val clear = in(Bits(c.queues bits))
    val request = slave(Flow(PolicyRequest(c)))
    val verdict = master(Flow(PolicyVerdict(c)))
    val commit = slave(Flow(PolicyCommit(c)))
    /** averages, UQ21.22 */
    val live = out(Vec(UInt(43 bits), c.queues))
  }
  noIoPrefix()

  val ewma = Ewma(c)
  ewma.io.config := io.config
  ewma.io.hint << io.hint
  ewma.io.emptied << io.emptied
  ewma.io.request << io.request
  ewma.io.clear := io.clear
  ewma.io.quantity := PerQueue(io.unit, io.request.queue).mux(
    QueueUnit.packets -> io.request.packets.resize(c.quantityWidth),
    QueueUnit.frames -> io.request.frames.resize(c.quantityWidth),
    default -> io.request.bytes
  )
  io.stall := ewma.io.stall
  io.live := ewma.io.live

  val red = Red(c)
  red.io.config := io.config
  red.io.request << io.request
  red.io.average := ewma.io.average
  red.io.belowMinimum := ewma.io.belowMinimum
  red.io.belowMaximum := ewma.io.belowMaximum
  red.io.belowDouble := ewma.io.belowDouble
  red.io.idleSlots := ewma.io.idleSlots
  red.io.commit << io.commit
  red.io.clear := io.clear
  io.verdict << red.io.verdict
}
