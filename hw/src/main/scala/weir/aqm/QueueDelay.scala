package weir.aqm

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The delay of each queue in ns, from timestamps: the sojourn of the packet that left last, 0 when nothing is left
  * (RFC 8033, 5.2). All ones stands for that and more.
  *
  * A queue is empty once a departure, a request or `emptied` says so. If the events of a cycle disagree, `emptied` comes last and
  * the departure before it. An event is seen by reads a cycle later.
  */
class QueueDelay(c: WeirConfig, departure: Flow[PolicyDeparture], request: Flow[PolicyRequest], emptied: Flow[QueueTime])
    extends Area {
  private val memory = Mem(UInt(32 bits), c.queues max 2).setName("delays")
  val some = Vec.fill(c.queues)(RegInit(False))
  private val long = departure.sojournNs(47 downto 32) =/= 0
  private val sojourn = departure.sojournNs(31 downto 0)
  memory.write(departure.queue.resized, Mux(long, sojourn.getAllTrue, sojourn), departure.valid)
  /** the departure leaves a delay other than 0 */
  val counts: Bool = departure.valid && departure.packets =/= 0 && departure.sojournNs =/= 0

  private val empty = request.valid && request.packets === 0
  /** queues that have a delay from now on */
  val appears: Bits = PerQueue.select(c.queues, counts, departure.queue) & ~PerQueue.select(c.queues, emptied.valid, emptied.queue)
  private val ends = PerQueue.select(c.queues, emptied.valid, emptied.queue) |
    PerQueue.select(c.queues, departure.valid && !counts, departure.queue) |
    PerQueue.select(c.queues, empty, request.queue)
  for (q <- 0 until c.queues) {
    when(ends(q))(some(q) := False)
    when(appears(q))(some(q) := True)
  }

  def apply(queue: UInt): UInt = Mux(PerQueue.bit(some.asBits, queue), memory.readAsync(queue.resized), U(0, 32 bits))
}
