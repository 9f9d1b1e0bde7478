package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** A group of a queue. */
case class QueueGroup(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** its first descriptor */
  val id = c.descriptorId
}

/** The jumbo frames in transit of each queue that wait whole, in the order of the queue: a second list through its groups.
  *
  * A group is appended when its last packet has been linked; it leaves when it departs, or when nothing of it is to be dropped any
  * more. A queue's first is `known` two cycles after the one before it left. One appended and one removed a cycle. At reset empty; a RAM
  * with one write and one read port.
  */
class JumboList(c: WeirConfig) extends Component {
  val io = new Bundle {
    val append = slave(Flow(QueueGroup(c)))
    /** the first packet of a group departs: it leaves the list if it is still there; four cycles apart or more */
    val departs = slave(Flow(QueueGroup(c)))
    /** the queue's first leaves; not with `departs` */
    val remove = slave(Flow(c.queueId))
    val first = out(Vec(c.descriptorId, c.queues))
    /** there is a first, and `first` is it */
    val known = out(Bits(c.queues bits))
    val any = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private val nexts = Mem(c.descriptorId, c.descriptors)
  val lists = for (q <- 0 until c.queues) yield new Area {
    val first, last = Reg(c.descriptorId)
    val known = RegInit(False)
    val count = Reg(UInt(c.descriptorWidth + 1 bits)) init 0
    /** `count` is not 0; it is 1 */
    val any, one = RegInit(False)
    val appended = io.append.valid && io.append.queue === q
    val left = known && ((io.departs.valid && io.departs.queue === q && io.departs.id === first) ||
      (io.remove.valid && io.remove.payload === q))
  }
  val popping = new Area {
    val now = lists.map(_.left).orR
    val from = Mux(io.departs.valid, io.departs.queue, io.remove.payload)
    val found = nexts.readSync(Vec(lists.map(_.first))(from.resized), now)
    val queue = RegNextWhen(from, now)
    val more = RegNextWhen(lists.map(l => l.left && !l.one).orR, now)
    val valid = RegNext(now) init False
  }
  nexts.write(Vec(lists.map(_.last))(io.append.queue.resized), io.append.id, io.append.valid)
  for ((list, q) <- lists.zipWithIndex) {
    val alone = !list.any || (list.left && list.one)
    when(list.left)(list.known := False)
    when(popping.valid && popping.more && popping.queue === q) {
      list.first := popping.found
      list.known := True
    }
    when(list.appended) {
      list.last := io.append.id
      when(alone) {
        list.first := io.append.id
        list.known := True
      }
    }
    when(list.appended && !list.left) {
      list.count := list.count + 1
      list.any := True
      list.one := !list.any
    }
    when(!list.appended && list.left) {
      list.count := list.count - 1
      list.any := !list.one
      list.one := list.count === 2
    }
    io.first(q) := list.first
    io.known(q) := list.known
    io.any(q) := list.any
  }
}
