package weir.buffer

import spinal.core._
import spinal.lib._
import weir.{Steps, WeirConfig}

/** A packet that is put at the tail of its queue. */
case class Link(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val id = c.descriptorId
  val descriptor = Descriptor(c)
}

/** A packet that has left its queue. */
case class Departure(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val id = c.descriptorId
  val descriptor = Descriptor(c)
  /** time of the grant */
  val grantNs = c.time
  /** the packet is to be discarded */
  val discard = Bool()
  /** why: [[weir.aqm.Cause]] */
  val cause = UInt(3 bits)
  /** the grant was one to send, and it is the policy that discards the packet */
  val refused = Bool()
}

/** What the scheduler grants. */
case class Grant(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** not to be sent, and why: [[weir.aqm.Cause]] */
  val discard = Bool()
  val cause = UInt(3 bits)
}

/** The queues: linked lists of groups, named by the descriptor of their first packet.
  *
  * Two RAMs with one write and one read port each: the descriptors, and the links from group to group. A link
  * writes both in its own cycle; a grant reads both. Latency from grant to departure three cycles; one grant in
  * four cycles, one link a cycle. A queue is `ready` when its head is known, the cycle after a link into an empty
  * queue and four cycles after a grant.
  */
class Queues(c: WeirConfig) extends Component {
  val io = new Bundle {
    val nowNs = in(c.time)
    val link = slave(Flow(Link(c)))
    val grant = slave(Flow(Grant(c)))
    val departure = master(Flow(Departure(c)))
    /** a head waits for a grant */
    val ready = out(Bits(c.queues bits))
    /** nothing is queued and no grant is being carried out */
    val empty = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private val descriptors = Mem(Descriptor(c), c.descriptors)
  private val followers = Mem(c.descriptorId, c.descriptors)

  val granted = new Area {
    val several = Bool()
    /** step n is the n-th cycle after the grant; what is below is one cycle older than its number */
    val valid = new Steps(io.grant.valid, 3)
    val loads = new Steps(io.grant.valid && several, 3)
    val queue = Vec.fill(3)(Reg(c.queueId))
    val discard = Vec.fill(3)(Reg(Bool()))
    val cause = Vec.fill(3)(Reg(UInt(3 bits)))
    val nowNs = Vec.fill(3)(Reg(c.time))
    val id = Vec.fill(3)(Reg(c.descriptorId))
  }

  /** some list changes */
  val moves = io.link.valid || io.grant.valid || granted.loads(3)

  val lists = for (q <- 0 until c.queues) yield new Area {
    val head, tail = Reg(c.descriptorId)
    val headValid = RegInit(False)
    val groups = Reg(UInt(c.descriptorWidth + 1 bits)) init 0
    val linked = io.link.valid && io.link.queue === q
    val left = io.grant.valid && io.grant.queue === q
    /** no group stays but the one that is linked now */
    val alone = groups === 0 || (left && groups === 1)
    val loaded = granted.loads(3) && granted.queue(2) === q

    when(moves) {
      when(left)(headValid := False)
      when(loaded) {
        headValid := True
      }
      when(linked) {
        tail := io.link.id
        when(alone) {
          head := io.link.id
          headValid := True
        }
      }
      when(linked && !left)(groups := groups + 1)
      when(!linked && left)(groups := groups - 1)
    }
    io.ready(q) := headValid
    io.empty(q) := groups === 0
  }

  val tails = Vec(lists.map(_.tail))
  val heads = Vec(lists.map(_.head))
  val alone = Vec(lists.map(_.alone))
  val several = Vec(lists.map(l => l.groups =/= 1))

  descriptors.write(io.link.id, io.link.descriptor, io.link.valid)
  followers.write(tails(io.link.queue.resized), io.link.id, io.link.valid && !alone(io.link.queue.resized))

  granted.several := several(io.grant.queue.resized)
  when(io.grant.valid) {
    granted.queue(0) := io.grant.queue
    granted.discard(0) := io.grant.discard
    granted.cause(0) := io.grant.cause
    granted.nowNs(0) := io.nowNs
    granted.id(0) := heads(io.grant.queue.resized)
  }
  for (stage <- 1 to 2) {
    when(granted.valid(stage)) {
      granted.queue(stage) := granted.queue(stage - 1)
      granted.discard(stage) := granted.discard(stage - 1)
      granted.cause(stage) := granted.cause(stage - 1)
      granted.nowNs(stage) := granted.nowNs(stage - 1)
      granted.id(stage) := granted.id(stage - 1)
    }
  }

  val reading = new Area {
    val descriptor = RegNextWhen(descriptors.readSync(granted.id(0), granted.valid(1)), granted.valid(2))
    val follower = RegNextWhen(followers.readSync(granted.id(0), granted.valid(1)), granted.valid(2))
  }
  when(granted.loads(3)) {
    for (list <- lists) when(list.loaded)(list.head := reading.follower)
  }

  io.departure.valid := granted.valid(3)
  io.departure.queue := granted.queue(2)
  io.departure.id := granted.id(2)
  io.departure.grantNs := granted.nowNs(2)
  io.departure.discard := granted.discard(2)
  io.departure.cause := granted.cause(2)
  io.departure.refused := False
  io.departure.descriptor := reading.descriptor
}
