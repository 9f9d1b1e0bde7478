package weir.buffer

import spinal.core._
import spinal.lib._
import weir.{Steps, WeirConfig}
import weir.aqm.{Cause, Ecn}

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
  /** its group is sent, if perhaps without this packet */
  val sent = Bool()
  /** first and last packet of its group */
  val first, last = Bool()
  /** its group is gone with it, or was gone before: all its packets were dropped one by one */
  val dies, dead = c.jumbo generate Bool()
  /** of the first packet's group */
  val group = c.jumbo generate GroupSize(c)
}

/** What the scheduler grants. */
case class Grant(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** not to be sent, and why: [[weir.aqm.Cause]] */
  val discard = Bool()
  val cause = UInt(3 bits)
}

/** What is read of the packet that departs in the next cycle: comes out of a RAM. */
case class Reading(c: WeirConfig) extends Bundle {
  /** marked if the packet is to be */
  val descriptor = Descriptor(c)
  val cause = UInt(3 bits)
  /** its group is gone: `dead` of its departure */
  val dead = c.jumbo generate Bool()
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
  * RAMs with one write and one read port each: the descriptors, the links from group to group, and in a core with jumbo
  * frames those from packet to packet, and the groups' sizes. A link writes them in its own cycle, an append the link between groups a cycle after
  * its own; a grant reads them in the next. A link comes with its append or a cycle later, and one that joins up to a cycle after the grant of
  * its group. Latency from
  * grant to departure three cycles; one grant in four cycles, one link and one append a cycle. A queue is `ready` when its head is known,
  * the cycle after an append to an empty queue and four cycles after a grant. The other packets of a group depart four cycles apart,
  * while `walking` asks for no other grant; `hold` lets the next one wait.
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
    /** packets that are dropped out of groups that wait, and looks at groups: not within four cycles of a grant or of each other, nor while `walking` */
    val step = c.jumbo generate slave(Flow(PartialStep(c)))
    /** three cycles after a step */
    val found = c.jumbo generate master(Flow(PartialFound(c)))
    /** what a group has become */
    val update = c.jumbo generate slave(Stream(PartialUpdate(c)))
    val heads = c.jumbo generate out(Vec(c.descriptorId, c.queues))
    /** the head of a queue from the next cycle on */
    val loaded = c.jumbo generate master(Flow(QueueGroup(c)))
    /** nothing is queued and no grant is being carried out */
    val empty = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private val descriptors = Mem(Descriptor(c), c.descriptors)
  private val followers = Mem(c.descriptorId, c.descriptors)

  /** The other packets of a granted group. */
  val walk = new Area {
    val active, known = RegInit(False)
    val next = Reg(c.descriptorId)
    val left = Reg(UInt(c.memberWidth bits))
    val steps = active && known && !io.hold
  }

  /** A grant, or the step to the next packet of its group. */
  val granted = new Area {
    val several = Bool()
    val stepped = if (c.jumbo) io.step.valid else False
    val starts = io.grant.valid || walk.steps || stepped
    /** step n is the n-th cycle after it; what is below is one cycle older than its number */
    val valid = new Steps(starts, 3)
    /** the cycle after a grant: which queue it is has then come from the scheduler, and the lists follow */
    val taken = RegNext(io.grant.valid) init False
    val loads = new Steps(taken && several, 2)
    val first = Vec.fill(3)(Bool())
    /** a step; one that looks; one after which its group is empty */
    val partial, looks, dies = Vec.fill(3)(Reg(Bool()))
    val queue = Vec.fill(3)(Reg(c.queueId))
    /** of a step, whose cause and discard are known */
    val stepQueue = c.jumbo generate Reg(c.queueId)
    val discard = Vec.fill(3)(Reg(Bool()))
    val cause = Vec.fill(3)(Reg(UInt(3 bits)))
    val nowNs = Vec.fill(3)(Reg(c.time))
    val id = Vec.fill(3)(Reg(c.descriptorId))
    /** what is read: the head of the queue, or what comes next of a group */
    val reads = c.descriptorId
  }

  private val joins = if (c.jumbo) io.link.joins else False
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
    granted.id(0) := (if (c.jumbo) walk.active ? walk.next | io.step.id else walk.next)
    granted.partial(0) := granted.stepped
    granted.looks(0) := (if (c.jumbo) io.step.looks else False)
    granted.dies(0) := (if (c.jumbo) io.step.dies else False)
  }
  when(io.grant.valid || granted.stepped) {
    granted.queue(0) := io.grant.queue
    granted.discard(0) := io.grant.discard
    granted.cause(0) := io.grant.cause
    if (c.jumbo) granted.stepQueue := io.step.queue
  }
  granted.first(0) := granted.taken
  for (stage <- 1 to 2) granted.first(stage).setAsReg()
  when(granted.valid(1)) {
    val partial = granted.partial(0)
    granted.queue(1) := (if (c.jumbo) partial ? granted.stepQueue | granted.queue(0) else granted.queue(0))
    granted.discard(1) := granted.discard(0) || partial
    granted.cause(1) := partial ? U(Cause.partial, 3 bits) | granted.cause(0)
    granted.id(1) := granted.reads
    granted.looks(1) := granted.looks(0) && partial
    granted.dies(1) := granted.dies(0) && partial
  }
  when(granted.valid(2)) {
    granted.queue(2) := granted.queue(1)
    granted.discard(2) := granted.discard(1)
    granted.cause(2) := granted.cause(1)
    granted.id(2) := granted.id(1)
    granted.looks(2) := granted.looks(1)
    granted.dies(2) := granted.dies(1)
  }
  for (stage <- 1 to 2) when(granted.valid(stage)) {
    granted.nowNs(stage) := granted.nowNs(stage - 1)
    granted.first(stage) := granted.first(stage - 1)
    granted.partial(stage) := granted.partial(stage - 1)
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

  /** Packets behind a group's first. */
  val followed = c.jumbo generate new Area {
    val members = Mem(c.descriptorId, c.descriptors)
    val sizes = Mem(GroupSize(c), c.descriptors)
    private val sized = io.link.valid && !(joins && io.link.transit)
    io.update.ready := !io.link.valid
    members.write(Mux(io.link.valid, io.link.before, io.update.id), Mux(io.link.valid, io.link.id, io.update.next),
      (io.link.valid && joins) || io.update.fire)
    sizes.write(Mux(io.link.valid, Mux(joins, io.link.head, io.link.id), io.update.id),
      Mux(io.link.valid, io.link.group, io.update.group), sized || io.update.fire)
    /** The link of the cycle before: if it joined the group that was read in that cycle, what was read is not what it wrote. */
    val late = new Area {
      val joined = RegNext(io.link.valid && joins && !io.link.transit) init False
      val head = RegNextWhen(io.link.head, io.link.valid)
      val id = RegNextWhen(io.link.id, io.link.valid)
      /** behind the group's first */
      val second = RegNextWhen(io.link.before === io.link.head, io.link.valid)
      val group = RegNextWhen(io.link.group, io.link.valid)
      val now = joined && head === granted.id(1)
    }
    private val memberRead = members.readSync(granted.reads, granted.valid(1))
    val member = RegNextWhen((late.now && late.second) ? late.id | memberRead, granted.valid(2))
    private val read = sizes.readSync(granted.reads, granted.valid(1))
    val size = RegNextWhen(late.now ? late.group | read, granted.valid(2))
    // from registers: what follows from a departure depends on it
    /** a group of one packet */
    private val single = RegNextWhen(read.packets === 1 && !read.transit && !late.now, granted.valid(2))
    /** `walk.left` is 0 */
    private val end = Reg(Bool())

    val first = granted.first(2)
    /** all packets of a jumbo frame in transit have been dropped */
    private val deadNext = granted.first(1) && read.transit && read.packets === 0 && !late.now
    val dead = RegNextWhen(deadNext, granted.valid(2))
    io.reading.dead := deadNext
    val last = Mux(first, single, end) || dead
    when(walk.steps) {
      walk.known := False
      walk.left := walk.left - 1
      end := walk.left === 1
    }
    val departs = granted.valid(3) && !granted.partial(2)
    when(departs) {
      walk.next := member
      walk.active := !last
      walk.known := !last
      when(first)(walk.left := size.transit ? size.packets | (size.packets - 1))
    }
    /** what follows from a group's last departure has to be known before the next grant's */
    val after = new Steps(walk.active, 2)
    io.departure.group := size
    io.departure.first := first
    io.departure.last := last && !granted.partial(2)
    io.departure.dies := granted.dies(2)
    io.departure.dead := dead
    io.found.valid := granted.valid(3) && granted.partial(2)
    io.found.descriptor := reading.descriptor
    io.found.next := member
    io.found.group := size
    // one that is being added may be looked at already
    io.heads := Vec(lists.map(l => (l.adds && l.addsAlone) ? added.id | l.head))
    io.loaded.valid := granted.loads(2)
    io.loaded.queue := granted.queue(2)
    io.loaded.id := reading.follower

    /** packets of the group that are to be marked as they depart */
    val marking = new Area {
      val left = Reg(UInt(c.memberWidth bits)) init 0
      val ecn = reading.read.ecn
      val ect = ecn === Ecn.ect0 || ecn === Ecn.ect1
      /** the packet that departs next; and the one that departs */
      val next = !granted.first(1) && !granted.discard(1) && left =/= 0 && ect
      val now = RegNextWhen(next, granted.valid(2))
      when(departs) {
        when(left =/= 0)(left := left - 1)
        when(first)(left := (size.removed === 0 && size.transit) ? size.front | U(0, c.memberWidth bits))
      }
    }
    io.walking := walk.active || after.passed.orR
  }
  if (!c.jumbo) {
    walk.known := False
    walk.active := False
    walk.next.assignDontCare()
    walk.left.assignDontCare()
    io.departure.first := True
    io.departure.last := True
    io.walking := False
  }

  io.leaving.valid := granted.valid(2) && !granted.looks(1)
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
  if (c.jumbo) {
    when(followed.dead) {
      io.departure.discard := True
      io.departure.sent := False
      io.departure.refused := !granted.discard(2)
    }
    when(followed.marking.next) {
      io.reading.descriptor.mark := True
      when(!reading.read.mark)(io.reading.cause := Cause.partial)
    }
    when(followed.marking.now) {
      io.departure.descriptor.mark := True
      when(!reading.descriptor.mark)(io.departure.cause := Cause.partial)
    }
  }
}
