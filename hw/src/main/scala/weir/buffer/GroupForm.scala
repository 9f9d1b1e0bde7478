package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.ValidPipeline
import weir.policy.{Cause, Ecn}

/** What [[Queues]] makes of a group: drives `others`, `walking`, and what of a departure depends on its group. */
abstract class GroupForm extends Area

/** A group is a packet. */
class SinglePackets(c: WeirConfig, queues: Queues) extends GroupForm {
  private val others = queues.others
  others.starts := False
  others.stepped := False
  others.id.assignDontCare()
  others.queue := queues.granted.queue(0)
  others.partial := False
  others.looks := False
  queues.io.walking := False
  queues.io.leaving.first.removeAssignments() := True
  queues.io.reading.dead := False
  private val departure = queues.io.departure
  departure.first := True
  departure.last := True
  departure.dies := False
  departure.dead := False
  departure.group := GroupSize.single(c, departure.descriptor)
}

/** Of groups that wait: [[PartialDrop]] looks at them, drops packets out of them, and tells what they have become. */
case class GroupPorts(c: WeirConfig) extends Bundle with IMasterSlave {
  /** a packet that is dropped, or a look: not within four cycles of a grant or of each other, nor while `walking` */
  val step = Flow(PartialStep(c))
  /** three cycles after a step */
  val found = Flow(PartialFound(c))
  /** what a group has become */
  val update = Stream(PartialUpdate(c))
  val heads = Vec(c.descriptorId, c.queues)
  /** the head of a queue from the next cycle on */
  val loaded = Flow(QueueGroup(c))

  override def asMaster(): Unit = {
    master(step, update)
    slave(found, loaded)
    in(heads)
  }
}

/** A group is a list of packets. Two RAMs more, with one write and one read port each: the links from packet to packet,
  * and the groups' sizes. A link that joins comes up to a cycle after the grant of its group. The packets behind a
  * group's first depart four cycles apart, while `walking` asks for no other grant; `hold` lets the next one wait.
  */
class PacketGroups(c: WeirConfig, queues: Queues) extends GroupForm {
  private val ports = queues.io.groups
  private val link = queues.io.link
  private val departure = queues.io.departure
  import queues.{added, granted, lists, others, reading}

  /** the packets behind the first of a granted group */
  val walk = new Area {
    val active, known = RegInit(False)
    val next = Reg(c.descriptorId)
    val left = Reg(UInt(c.memberWidth bits))
    val steps = active && known && !queues.io.hold
    /** `left` is 0 */
    val end = Reg(Bool())
  }
  others.starts := walk.steps
  others.id := walk.active ? walk.next | ports.step.id

  /** steps of groups that wait; n is the n-th cycle after one, one cycle older than its number as in `granted` */
  val step = new Area {
    /** a step; one that looks; one after which its group is empty */
    val partial, looks, dies = Vec.fill(3)(Reg(Bool()))
    val queue = Reg(c.queueId)
    when(granted.starts) {
      partial(0) := ports.step.valid
      looks(0) := ports.step.looks
      dies(0) := ports.step.dies
    }
    when(queues.io.grant.valid || ports.step.valid)(queue := ports.step.queue)
    for (n <- 1 to 2) when(granted.valid(n)) {
      partial(n) := partial(n - 1)
      looks(n) := looks(n - 1) && partial(n - 1)
      dies(n) := dies(n - 1) && partial(n - 1)
    }
  }
  others.stepped := ports.step.valid
  others.queue := step.partial(0) ? step.queue | granted.queue(0)
  others.partial := step.partial(0)
  others.looks := step.looks(1)

  val members = Mem(c.descriptorId, c.descriptors)
  val sizes = Mem(GroupSize(c), c.descriptors)
  private val sized = link.valid && !(link.joins && link.transit)
  ports.update.ready := !link.valid
  members.write(Mux(link.valid, link.before, ports.update.id), Mux(link.valid, link.id, ports.update.next),
    (link.valid && link.joins) || ports.update.fire)
  sizes.write(Mux(link.valid, Mux(link.joins, link.head, link.id), ports.update.id),
    Mux(link.valid, link.group, ports.update.group), sized || ports.update.fire)

  /** The link of the cycle before: if it joined the group that was read in that cycle, what was read is not what it
    * wrote.
    */
  val late = new Area {
    val joined = RegNext(link.valid && link.joins && !link.transit) init False
    val head = RegNextWhen(link.head, link.valid)
    val id = RegNextWhen(link.id, link.valid)
    /** behind the group's first */
    val second = RegNextWhen(link.before === link.head, link.valid)
    val group = RegNextWhen(link.group, link.valid)
    val now = joined && head === granted.id(1)
  }
  private val memberRead = members.readSync(granted.reads, granted.valid(1))
  val member = RegNextWhen((late.now && late.second) ? late.id | memberRead, granted.valid(2))
  private val read = sizes.readSync(granted.reads, granted.valid(1))
  val size = RegNextWhen(late.now ? late.group | read, granted.valid(2))
  /** a group of one packet: a register, since what follows from a departure depends on it */
  private val single = RegNextWhen(read.packets === 1 && !read.transit && !late.now, granted.valid(2))

  val first = granted.first(2)
  /** all packets of a jumbo frame in transit have been dropped */
  private val deadNext = granted.first(1) && read.transit && read.packets === 0 && !late.now
  private val dead = RegNextWhen(deadNext, granted.valid(2))
  val last = Mux(first, single, walk.end) || dead
  private val departs = granted.valid(3) && !step.partial(2)
  when(walk.steps) {
    walk.known := False
    walk.left := walk.left - 1
    walk.end := walk.left === 1
  }
  when(departs) {
    walk.next := member
    walk.active := !last
    walk.known := !last
    when(first)(walk.left := size.transit ? size.packets | (size.packets - 1))
  }
  /** what follows from a group's last departure has to be known before the next grant's */
  private val after = new ValidPipeline(walk.active, 2)
  queues.io.walking := walk.active || after.passed.orR

  /** packets of the group that are to be marked as they depart */
  val marking = new Area {
    val left = Reg(UInt(c.memberWidth bits)) init 0
    private val ecn = reading.read.ecn
    private val ect = ecn === Ecn.ect0 || ecn === Ecn.ect1
    /** the packet that departs next; and the one that departs */
    val next = !granted.first(1) && !granted.discard(1) && left =/= 0 && ect
    val now = RegNextWhen(next, granted.valid(2))
    when(departs) {
      when(left =/= 0)(left := left - 1)
      when(first)(left := (size.removed === 0 && size.transit) ? size.front | U(0, c.memberWidth bits))
    }
  }
  when(marking.next) {
    queues.io.reading.descriptor.mark := True
    when(!reading.read.mark)(queues.io.reading.cause := Cause.partial)
  }
  when(marking.now) {
    departure.descriptor.mark := True
    when(!reading.descriptor.mark)(departure.cause := Cause.partial)
  }

  queues.io.reading.dead := deadNext
  departure.group := size
  departure.first := first
  departure.last := last && !step.partial(2)
  departure.dies := step.dies(2)
  departure.dead := dead
  when(dead) {
    departure.discard := True
    departure.sent := False
    departure.refused := !granted.discard(2)
  }
  ports.found.valid := granted.valid(3) && step.partial(2)
  ports.found.descriptor := reading.descriptor
  ports.found.next := member
  ports.found.group := size
  // one that is being added may be looked at already
  ports.heads := Vec(lists.map(l => (l.adds && l.addsAlone) ? added.id | l.head))
  ports.loaded.valid := granted.loads(2)
  ports.loaded.queue := granted.queue(2)
  ports.loaded.id := reading.follower
}
