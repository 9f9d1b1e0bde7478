package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Append, Grant, GroupSize, Link, PacketGroups, Queues}
import weir.policy.Cause

/** Groups of several packets, and packets that are dropped out of groups that wait: each packet that was linked leaves once, with
  * its own descriptor, behind those that were linked to its group before it; with its group's last departure no packet of it is left,
  * and a group that was granted goes on departing. A look makes nothing depart; a packet that is dropped is discarded, and its group
  * departs without it.
  *
  * The environment merges packets into groups that wait (of flows, put at once, and of classes, put later), links jumbo frames in transit
  * behind their headers, grants what is ready, and does what [[PartialDrop]] does in any of its slots: it looks at a
  * whole jumbo frame, drops packets from its front, and writes it back; meanwhile it keeps grants from the queue at
  * whose head that is.
  *
  * @param begun a jumbo frame of two packets waits in queue 0 from the fourth cycle on; one descriptor is left for what comes, and nothing is held
  * @param leak `twice`: what is written back begins with a packet that was dropped; `lost`: a group departs up to its last packet but one
  */
class QueueGroupsProperties(c: WeirConfig, begun: Boolean, leak: Option[String]) extends Properties {
  private val n = c.descriptors
  val dut: Queues = if (leak.contains("lost")) new Queues(c) {
    private val groups = form.asInstanceOf[PacketGroups]
    import groups.{first, last, walk}
    last.allowOverride()
    last := Mux(first, groups.size.packets <= 2 && !groups.size.transit, walk.left <= 1)
  } else new Queues(c)
  val link = any(Flow(Link(c)))
  val append = any(Flow(Append(c)))
  val grant = any(Flow(Grant(c)))
  val hold = any(Bool())
  dut.io.nowNs := 0
  dut.io.hold := hold
  dut.io.barred := 0
  // what comes with the append reaches the RAMs a cycle later
  dut.io.link << link.m2sPipe
  dut.io.append << append
  dut.io.grant << grant
  val departure = dut.io.departure

  /** What is known of each packet between link and departure. */
  val used, granted = Vec.fill(n)(RegInit(False))
  /** its group, by a number that does not come again; its place among those linked to it */
  val serial = Vec.fill(n)(Reg(UInt(5 bits)))
  val rank = Vec.fill(n)(Reg(UInt(3 bits)))
  val queue = Vec.fill(n)(Reg(c.queueId))
  /** Of groups, by their first packet: packets linked, the last of them, a jumbo frame of so many packets, put into its queue. */
  val count = Vec.fill(n)(Reg(UInt(c.memberWidth bits)))
  val tail = Vec.fill(n)(Reg(c.descriptorId))
  val transit, appended = Vec.fill(n)(Reg(Bool()))
  val size = Vec.fill(n)(Reg(UInt(c.memberWidth bits)))
  val groups = Reg(UInt(5 bits)) init 0
  private def opens(id: UInt): Bool = used(id) && rank(id) === 0

  /** Links: a jumbo frame in transit is linked without another packet between. */
  val linking = new Area {
    val coming = RegInit(False)
    val head = Reg(c.descriptorId)
    val open = link.valid && !link.joins
    val joins = link.valid && link.joins
    val behind = count(link.head)
    assume(!link.valid || !used(link.id))
    assume(!link.valid || !coming || (link.joins && link.transit && link.head === head && link.queue === queue(head)))
    assume(!joins || coming || (!link.transit && opens(link.head) && !transit(link.head) && !granted(link.head) &&
      queue(link.head) === link.queue))
    assume(!joins || link.before === tail(link.head))
    assume(link.last === (joins && link.transit && behind === size(link.head)))
    assume(link.descriptor.header === (!link.joins && link.transit))
    assume(link.group.front === 0 && link.group.removed === 0 && link.group.transit === link.transit)
    assume(link.transit || link.group.packets === Mux(link.joins, behind + 1, U(1, c.memberWidth bits)))
    assume(link.joins || !link.transit || (link.group.packets >= 1 && link.group.packets < n))
    when(link.valid) {
      used(link.id) := True
      queue(link.id) := link.queue
      granted(link.id) := False
      serial(link.id) := link.joins ? serial(link.head) | groups
      rank(link.id) := link.joins ? behind.resize(3) | U(0, 3 bits)
      coming := link.transit && !link.last
    }
    when(open) {
      groups := groups + 1
      head := link.id
      count(link.id) := U(1, c.memberWidth bits)
      tail(link.id) := link.id
      transit(link.id) := link.transit
      appended(link.id) := False
      size(link.id) := link.group.packets
    }
    when(joins) {
      count(link.head) := behind + 1
      tail(link.head) := link.id
    }
  }

  /** A group is put into its queue with its first link, or later; a jumbo frame with its last. */
  val putting = new Area {
    val first = linking.open && !link.transit && append.id === link.id && append.queue === link.queue
    val whole = link.last && link.valid && append.id === link.head && append.queue === link.queue
    val later = opens(append.id) && !transit(append.id) && !appended(append.id) && append.queue === queue(append.id)
    assume(!append.valid || first || whole || later)
    assume(!(link.valid && link.last) || (append.valid && whole))
    when(append.valid)(appended(append.id) := True)
  }

  val pause = Reg(UInt(2 bits)) init 0
  val free = pause === 0 && !dut.io.walking
  val step = dut.io.groups.step

  /** What PartialDrop does; it sees what the queues show. */
  val partial = new Area {
    val idle = RegInit(True)
    val looking, dropping, waits, ending = RegInit(False)
    val goes, ends = any(Bool())
    val chosen = any(c.descriptorId)
    val victim, next = Reg(c.descriptorId)
    val group = Reg(GroupSize(c))
    val atHead = Reg(Bool())
    val q = queue(victim)
    val left = (0 until n).map(d => used(d) && serial(d) === serial(chosen) && rank(d) =/= 0).orR
    val looks = idle && goes && free && opens(chosen) && transit(chosen) && appended(chosen) && !granted(chosen) && left
    val drops = dropping && goes && free
    step.valid := looks || drops
    step.queue := looks ? queue(chosen) | q
    step.id := looks ? chosen | next
    step.looks := looks
    step.dies := group.packets === 1
    val headers = departure.valid && departure.first && departure.descriptor.header
    dut.io.groups.update.valid := ending && !headers
    dut.io.groups.update.id := victim
    dut.io.groups.update.next := (if (leak.contains("twice")) RegNextWhen(next, drops) else next)
    dut.io.groups.update.group := group
    when(dut.io.groups.loaded.valid && dut.io.groups.loaded.queue === q)(atHead := dut.io.groups.loaded.id === victim)
    when(looks) {
      idle := False
      looking := True
      victim := chosen
      atHead := chosen === dut.io.groups.heads(queue(chosen).resized)
    }
    val found = dut.io.groups.found
    when(looking && found.valid) {
      looking := False
      dropping := True
      next := found.next
      group := found.group
    }
    when(drops) {
      dropping := False
      waits := True
    }
    when(waits && found.valid) {
      waits := False
      next := found.next
      group.packets := group.packets - 1
      group.front := group.front + 1
      group.removed := group.removed + 1
      ending := ends || group.packets === 1
      dropping := !(ends || group.packets === 1)
    }
    when(dut.io.groups.update.fire) {
      ending := False
      idle := True
    }
    val held = !idle && atHead
  }

  /** The first cycles. */
  if (begun) {
    val cycle = Reg(UInt(3 bits)) init 0
    when(cycle < 4)(cycle := cycle + 1)
    for (id <- 0 until 3) when(running && cycle === id) {
      assume(link.valid && link.transit && link.queue === 0 && link.id === id && link.joins === Bool(id > 0))
      if (id == 0) assume(link.group.packets === 2)
    }
    assume(!link.valid || cycle < 3 || link.id === 3)
    assume(!hold)
  }

  /** Grants of what is ready; nobody grants within four cycles of a grant or a step. */
  val granting = new Area {
    assume(!grant.valid || (free && !step.valid && dut.io.ready(grant.queue.resized)))
    assume(!grant.valid || !partial.held || grant.queue =/= partial.q)
    val head = dut.io.groups.heads(grant.queue.resized)
    when(grant.valid) {
      for (d <- 0 until n) when(used(d) && serial(d) === serial(head))(granted(d) := True)
      when(linking.joins && link.head === head)(granted(link.id) := True)
    }
    when(pause =/= 0)(pause := pause - 1)
    when(grant.valid || step.valid)(pause := 3)
  }

  when(departure.valid)(used(departure.id) := False)

  /** One descriptor, whose contents are followed. */
  val watched = new Area {
    val id = some(c.descriptorId)
    val length = RegNextWhen(link.descriptor.length, link.valid && link.id === id)
  }

  /** cycles in which a granted group might have gone on */
  val silence = Reg(UInt(3 bits)) init 0
  val underWay = (0 until n).map(d => used(d) && granted(d)).orR
  when(underWay && !hold)(silence := silence + 1)
  when(!underWay || departure.valid || grant.valid)(silence := 0)

  val granted3 = Delay(grant.valid, 3, init = False)
  val looked3 = Delay(step.valid && step.looks, 3, init = False)
  val dropped3 = Delay(step.valid && !step.looks, 3, init = False)
  private val id = departure.id
  private def others(that: Int => Bool): Bool =
    (0 until n).map(d => used(d) && id =/= d && serial(d) === serial(id) && that(d)).orR

  when(running) {
    assert(dut.io.groups.found.valid === (looked3 || dropped3))
    assert(!(granted3 || dropped3) || departure.valid)
    assert(!looked3 || !departure.valid)
    when(departure.valid) {
      assert(used(id) && departure.queue === queue(id))
      when(watched.id === id)(assert(departure.descriptor.length === watched.length))
      when(dropped3) {
        assert(departure.discard && departure.cause === Cause.partial && !departure.first && !departure.last)
        assert(rank(id) =/= 0 && !granted(id) && !others(d => rank(d) =/= 0 && rank(d) < rank(id)))
        assert(departure.dies === !others(d => rank(d) =/= 0))
      } otherwise {
        assert(granted(id) && departure.first === granted3 && departure.first === (rank(id) === 0))
        assert(!others(d => rank(d) < rank(id)))
        assert(departure.last === !others(_ => True))
        when(departure.first && departure.dead)(assert(departure.discard && departure.last))
      }
    }
    assert(silence <= 4)

    val remains = RegNextWhen(True, dropped3) init False
    cover(departure.valid && !dropped3 && departure.last && !departure.first && remains)
    cover(departure.valid && departure.first && departure.dead)
    cover(departure.valid && departure.last && rank(id) === 2)
    cover(departure.valid && !dropped3 && !partial.idle)
  }
}
