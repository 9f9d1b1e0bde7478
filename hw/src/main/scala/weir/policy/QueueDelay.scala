package weir.policy
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.PerQueue

/** The delay of each queue in ns, from timestamps: the sojourn of the packet that left last, 0 when nothing is left
  * (RFC 8033, 5.2). All ones stands for that and more.
  *
  * A queue is empty once a departure, a request or `emptied` says so. If the events of a cycle disagree, `emptied` comes last and
  * the departure before it. An event counts a cycle after it came, and is seen by reads in the cycle after that.
  */
class QueueDelay(c: WeirConfig, departure: Flow[PolicyDeparture], request: Flow[PolicyRequest], emptied: Bits)
    extends Area {
  private val left = new Area {
    private val long = departure.sojournNs(47 downto 32) =/= 0
    private val sojourn = departure.sojournNs(31 downto 0)
    val valid = RegNext(departure.valid) init False
    val queue = RegNextWhen(departure.queue, departure.valid)
    val ns = RegNextWhen(Mux(long, sojourn.getAllTrue, sojourn), departure.valid)
    /** it leaves a delay other than 0 */
    val counts = RegNext(departure.valid && departure.packets =/= 0 && departure.sojournNs =/= 0) init False
  }
  private val ended = RegNext(emptied) init 0
  private val found = new Area {
    private val empty = request.valid && request.empty
    val came = RegNext(empty) init False
    val of = RegNextWhen(request.queue, empty)
  }

  private val memory = Mem(UInt(32 bits), c.queues max 2).setName("delays")
  memory.write(left.queue.resized, left.ns, left.valid)

  /** queues that have a delay from now on */
  val appears = B(0, c.queues bits)
  when(left.counts && !PerQueue.bit(ended, left.queue)) {
    for (q <- 0 until c.queues) when(left.queue === q)(appears(q) := True)
  }
  val some = Reg(Bits(c.queues bits)) init 0
  private def ends(valid: Bool, queue: UInt): Unit =
    when(valid)(for (q <- 0 until c.queues) when(queue === q)(some(q) := False))
  for (q <- 0 until c.queues) when(ended(q))(some(q) := False)
  ends(found.came, found.of)
  ends(left.valid && !left.counts, left.queue)
  when(left.counts)(for (q <- 0 until c.queues) when(appears(q))(some(q) := True))

  def apply(queue: UInt): UInt = Mux(PerQueue.bit(some, queue), memory.readAsync(queue.resized), U(0, 32 bits))
}
