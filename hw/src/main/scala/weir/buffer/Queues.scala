package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.ValidPipeline
import weir.policy.{Cause, Ecn}

/** A packet that comes to its queue. */
case class Link(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val id = c.descriptorId
  val descriptor = Descriptor(c)
  /** it joins the group of `head`, behind `before` */
  val joins = c.jumbo generate Bool()
  val head, before = c.jumbo generate c.descriptorId
  /** it belongs to a jumbo frame in transit, whose header opens the group; the last packet of one */
  val transit, last = c.jumbo generate Bool()
  /** nothing may join it, and it joins nothing: known before its flow is */
  val alone = c.jumbo generate Bool()
  /** of one that was not marked: its packets may pay for another */
  val pays = c.jumbo generate Bool()
  /** what the group then is */
  val group = c.jumbo generate GroupSize(c)
}

/** A group that is put at the tail of its queue, by its first packet. */
case class Append(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val id = c.descriptorId
}

/** What is known of a group as a whole. */
case class GroupSize(c: WeirConfig) extends Bundle {
  val packets = UInt(c.memberWidth bits)
  /** of their frames */
  val bytes = c.length
  /** some packet is ECT(0) or ECT(1), CE, Not-ECT */
  val ect, ce, notEct = Bool()
  /** it is sent in the L3 form */
  val l3 = Bool()
  /** a jumbo frame in transit: its header is before the packets, and not one of them */
  val transit = Bool()
  /** packets at its front that were dropped, and bytes of theirs; without such bytes, that are to be marked */
  val front = UInt(c.memberWidth bits)
  val removed = c.length
}

object GroupSize {
  /** of a packet by itself */
  def single(c: WeirConfig, packet: Descriptor): GroupSize = {
    val size = GroupSize(c)
    size.packets := 1
    size.bytes := packet.length
    size.ect := packet.ecn === Ecn.ect0 || packet.ecn === Ecn.ect1
    size.ce := packet.ecn === Ecn.ce
    size.notEct := packet.ecn === Ecn.notEct
    size.l3 := False
    size.transit := False
    size.front := 0
    size.removed := 0
    size
  }
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
  /** why: [[weir.policy.Cause]] */
  val cause = UInt(3 bits)
  /** the grant was one to send, and it is the policy that discards the packet */
  val refused = Bool()
  /** its group is sent, if perhaps without this packet */
  val sent = Bool()
  /** first and last packet of its group */
  val first, last = Bool()
  /** its group is gone with it, or was gone before: all its packets were dropped one by one */
  val dies, dead = Bool()
  /** of the first packet's group */
  val group = GroupSize(c)
}

/** What the scheduler grants. */
case class Grant(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** not to be sent, and why: [[weir.policy.Cause]] */
  val discard = Bool()
  val cause = UInt(3 bits)
}

/** What is read of the packet that departs in the next cycle: comes out of a RAM. */
case class Reading(c: WeirConfig) extends Bundle {
  /** marked if the packet is to be */
  val descriptor = Descriptor(c)
  val cause = UInt(3 bits)
  /** its group is gone: `dead` of its departure */
  val dead = Bool()
}

/** A departure that is to come. */
case class Leaving(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val discard = Bool()
  val first = Bool()
}

/** The queues: linked lists of groups, named by the descriptor of their first packet. A group is a linked list of
  * packets.
  *
  * RAMs with one write and one read port each: the descriptors and the links from group to group; [[PacketGroups]] of a
  * core with jumbo frames has more. A link writes them in its own cycle, an append the link between groups a cycle after
  * its own; a grant reads them in the next. A link comes with its append or a cycle later. Latency from grant to
  * departure three cycles; one grant in four cycles, one link and one append a cycle. A queue is `ready` when its head is
  * known, the cycle after an append to an empty queue and four cycles after a grant.
  */
class Queues(c: WeirConfig) extends Component {
  val io = new Bundle {
    val nowNs = in(c.time)
    val link = slave(Flow(Link(c)))
    /** a group goes to the tail of its queue: a cycle before its first packet's link, with it or later */
    val append = slave(Flow(Append(c)))
    val grant = slave(Flow(Grant(c)))
    val departure = master(Flow(Departure(c)))
    /** one cycle before a departure */
    val leaving = master(Flow(Leaving(c)))
    /** with it */
    val reading = out(Reading(c))
    /** with it: the packet counts */
    val leavesCounts = out Bool ()
    /** the queue of a departure, one bit each */
    val departs = out(Bits(c.queues bits))
    /** packets of a group are departing: no grants */
    val walking = out Bool ()
    /** the next packet of a group has to wait */
    val hold = in Bool ()
    /** a head waits for a grant */
    val ready = out(Bits(c.queues bits))
    /** these queues get no grant in the next cycle */
    val barred = in(Bits(c.queues bits))
    /** registers, for the choice of a queue: `ready`, and not `barred` in the cycle before. In the cycle after a grant its queue still seems to be */
    val candidates = out(Bits(c.queues bits))
    val groups = c.jumbo generate slave(GroupPorts(c))
    /** nothing is queued and no grant is being carried out */
    val empty = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private val descriptors = Mem(Descriptor(c), c.descriptors)
  private val followers = Mem(c.descriptorId, c.descriptors)

  /** What the pipeline of grants carries besides heads of queues: the [[form]] tells. */
  val others = new Area {
    /** another packet is read; `stepped` while it waits in a group that is not granted */
    val starts, stepped = Bool()
    val id = c.descriptorId
    /** in the cycle after */
    val queue = c.queueId
    /** what was begun in the cycle before is dropped out of its group */
    val partial = Bool()
    /** what departs in the cycle after next is only looked at */
    val looks = Bool()
  }

  /** A grant, or the step to the next packet of its group. */
  val granted = new Area {
    val several = Bool()
    val starts = io.grant.valid || others.starts || others.stepped
    /** step n is the n-th cycle after it; what is below is one cycle older than its number */
    val valid = new ValidPipeline(starts, 3)
    /** the cycle after a grant: which queue it is has then come from the scheduler, and the lists follow */
    val taken = RegNext(io.grant.valid) init False
    val loads = new ValidPipeline(taken && several, 2)
    val first = Vec.fill(3)(Bool())
    val queue = Vec.fill(3)(Reg(c.queueId))
    val discard = Vec.fill(3)(Reg(Bool()))
    val cause = Vec.fill(3)(Reg(UInt(3 bits)))
    val nowNs = Vec.fill(3)(Reg(c.time))
    val id = Vec.fill(3)(Reg(c.descriptorId))
    /** what is read: the head of the queue, or what comes next of a group */
    val reads = c.descriptorId
  }

  /** a group comes */
  val comes = io.append.valid
  /** It makes an empty queue ready at once; its list changes a cycle later, before a grant may look at it. */
  val added = new Area {
    val valid = RegNext(comes) init False
    val id = RegNextWhen(io.append.id, comes)
  }

  val lists = for (q <- 0 until c.queues) yield new Area {
    val head, tail = Reg(c.descriptorId)
    val headValid = RegInit(False)
    /** without one that is being added */
    val groups = Reg(UInt(c.descriptorWidth + 1 bits)) init 0
    /** `groups` is 0, 1 */
    val none = RegInit(True)
    val one = RegInit(False)
    val empty = RegInit(True)
    val linked = comes && io.append.queue === q
    /** it was linked in the cycle before, and is the only one */
    val adds = RegNext(linked) init False
    /** it was granted in the cycle before */
    val left = granted.taken && granted.queue(0) === q
    /** no group stays but the one that is linked now */
    val alone = empty || (left && one && !adds)
    val addsAlone = RegNextWhen(alone, linked)
    val loaded = granted.loads(2) && granted.queue(2) === q

    // without enables and resets: an append is known late
    /** a grant of this cycle is not known yet */
    val headNext = loaded || (linked && alone) || (headValid && !left)
    headValid := headNext
    val candidate = RegNext(headNext && !io.barred(q)) init False
    io.candidates(q) := candidate
    empty := !linked && ((left && one && !adds) || (!left && empty))
    when(added.valid || granted.taken) {
      when(adds) {
        tail := added.id
        when(addsAlone)(head := added.id)
      }
      when(adds && !left) {
        groups := groups + 1
        one := none
        none := False
      }
      when(!adds && left) {
        groups := groups - 1
        one := groups === 2
        none := one
      }
    }
    io.ready(q) := headValid && !left
    io.empty(q) := empty
  }

  val heads = Vec(lists.map(_.head))
  val several = Vec(lists.map(l => !l.one || l.adds))

  descriptors.write(io.link.id, io.link.descriptor, io.link.valid)
  followers.write(MuxOH(lists.map(_.adds), lists.map(_.tail)), added.id, lists.map(l => l.adds && !l.addsAlone).orR)

  granted.several := several(granted.queue(0).resized)
  granted.reads := granted.taken ? heads(granted.queue(0).resized) | granted.id(0)
  // what would be a step's is taken with a grant too, and chosen in the cycle after
  when(granted.starts) {
    granted.nowNs(0) := io.nowNs
    granted.id(0) := others.id
  }
  when(io.grant.valid || others.stepped) {
    granted.queue(0) := io.grant.queue
    granted.discard(0) := io.grant.discard
    granted.cause(0) := io.grant.cause
  }
  granted.first(0) := granted.taken
  for (stage <- 1 to 2) granted.first(stage).setAsReg()
  when(granted.valid(1)) {
    granted.queue(1) := others.queue
    granted.discard(1) := granted.discard(0) || others.partial
    granted.cause(1) := others.partial ? U(Cause.partial, 3 bits) | granted.cause(0)
    granted.id(1) := granted.reads
  }
  when(granted.valid(2)) {
    granted.queue(2) := granted.queue(1)
    granted.discard(2) := granted.discard(1)
    granted.cause(2) := granted.cause(1)
    granted.id(2) := granted.id(1)
  }
  for (stage <- 1 to 2) when(granted.valid(stage)) {
    granted.nowNs(stage) := granted.nowNs(stage - 1)
    granted.first(stage) := granted.first(stage - 1)
  }

  val reading = new Area {
    val read = descriptors.readSync(granted.reads, granted.valid(1))
    val descriptor = RegNextWhen(read, granted.valid(2))
    /** the second group of a queue was added as its first, which had been alone, was read */
    private val overtaken = RegNext(granted.taken && lists.map(l => l.left && l.one && l.adds).orR) init False
    private val overtaking = RegNextWhen(added.id, added.valid)
    val follower = RegNextWhen(overtaken ? overtaking | followers.readSync(granted.reads, granted.valid(1)), granted.valid(2))
  }
  when(granted.loads(2)) {
    for (list <- lists) when(list.loaded)(list.head := reading.follower)
  }

  io.leaving.valid := granted.valid(2) && !others.looks
  io.leaving.queue := granted.queue(1)
  io.leaving.discard := granted.discard(1)
  io.leaving.first := granted.first(1)
  io.reading.descriptor := reading.read
  io.reading.cause := granted.cause(1)
  io.leavesCounts := reading.read.counts

  // from registers: all sums of a queue depend on it
  private val departs = RegNext(B(for (q <- 0 until c.queues) yield io.leaving.valid && io.leaving.queue === q)) init 0
  io.departs := departs
  io.departure.valid := RegNext(io.leaving.valid) init False
  io.departure.queue := granted.queue(2)
  io.departure.id := granted.id(2)
  io.departure.grantNs := granted.nowNs(2)
  io.departure.discard := granted.discard(2)
  io.departure.cause := granted.cause(2)
  io.departure.refused := False
  io.departure.sent := !granted.discard(2)
  io.departure.descriptor := reading.descriptor

  val form: GroupForm = if (c.jumbo) new PacketGroups(c, this) else new SinglePackets(c, this)
}
