package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.transmit.GroupFrames

/** Egress of a core with jumbo frames: its FIFOs never overflow, whatever JumboPack does; every chain is freed once;
  * what JumboPack gets is each frame's description once and the words of its packets, and when all of it has left
  * nothing is kept.
  *
  * The environment is that of [[EgressInputs]]: grants while there is room and no group departs, four or more cycles apart; a group's one to
  * three packets depart three cycles later, four or more apart, six behind a group; a policy may refuse all, and any packet of a group but the
  * last that is left may be discarded. JumboPack takes a frame, then its words.
  *
  * @param longest bytes of a packet at most
  * @param leak    None, or `credit`: reads take none; or `twice`: what is discarded is read too
  */
class EgressGroupsProperties(c: WeirConfig, longest: Int, leak: Option[String])
    extends EgressInputs(c, longest, new LeakyEgress(c, leak)) {
  private val form = dut.form.asInstanceOf[GroupFrames]
  /** Grants, and the departures of what was granted. */
  val group = new Area {
    val left = Reg(UInt(2 bits)) init 0
    val due = Reg(UInt(3 bits)) init 0
    val count = Reg(UInt(2 bits))
    val discarded, refused = Reg(Bool())
    /** a packet of it stays */
    val stays = Reg(Bool())
    val pause = Reg(UInt(2 bits)) init 0
    val granting = any(Bool())
    val discard = any(Bool())
    val size = any(UInt(2 bits))
    assume(size =/= 0)
    assume(!granting || (pause === 0 && left === 0 && (dut.io.room || discard)))
    when(pause =/= 0)(pause := pause - 1)
    when(granting) {
      pause := 3
      left := size
      count := size
      due := 3
      discarded := discard
      refused := any(Bool()) && !discard
      stays := False
    }
    val departs = left =/= 0 && due === 1
    // the next group's first packet departs six cycles after a group's last one
    when(departs && left === 1 && count =/= 1)(pause := 2)
    when(left =/= 0 && due =/= 1)(due := due - 1)
    val first = left === count
    val last = left === 1
    val sent = !discarded && !refused
    val drops = !sent || any(Bool())
    when(departs) {
      left := left - 1
      due := any(Bool()) ? U(4, 3 bits) | U(5, 3 bits)
      when(!drops)(stays := True)
      assume(!(sent && last && drops && (first || !stays)))
    }
  }
  dut.io.grant.valid := group.granting
  dut.io.grant.queue := 0
  dut.io.grant.discard := group.discard
  dut.io.grant.cause := 0

  descriptor.member.removeAssignments() := !group.first
  assume(descriptor.length >= 34 || group.count === 1)
  private val departure = dut.io.departure
  departure.payload.assignFromBits(B(0, widthOf(departure.payload) bits))
  departure.valid := group.departs
  departure.discard.removeAssignments() := group.drops
  dut.io.kept := dut.io.departure.valid && !dut.io.departure.discard
  dut.io.groups.alone := dut.io.kept && dut.io.departure.first && dut.io.departure.last
  departure.refused.removeAssignments() := group.refused
  departure.sent.removeAssignments() := group.sent
  departure.first.removeAssignments() := group.first
  departure.last.removeAssignments() := group.last
  departure.descriptor.removeAssignments() := descriptor

  /** JumboPack: a frame, then the words of its packets. */
  val pack = new Area {
    val packets = Reg(UInt(9 bits)) init 0
    val open = RegInit(False)
    dut.io.groups.group.ready := !open && any(Bool())
    dut.io.groups.word.ready := open && any(Bool())
    when(dut.io.groups.group.fire) {
      open := True
      packets := dut.io.groups.group.grouped ? dut.io.groups.group.packets | 1
    }
    val word = dut.io.groups.word
    val ends = word.fire && word.last && packets === 1
    when(word.fire && word.last)(packets := packets - 1)
    when(ends)(open := False)
    dut.io.groups.left := RegNext(ends) init False
    dut.io.groups.leaves := form.reach.left.pull() =/= 0 && any(Bool())
    dut.io.groups.entriesFit := any(Bool())
    dut.io.groups.grouped := any(c.count)
    dut.io.groups.tick := 0
  }

  val fits = Seq(dut.fifo.io.push, form.groups.io.push, dut.freeing.discarded.io.push, dut.freeing.finished.io.push)
    .map(s => (s.valid.pull(), s.ready.pull()))
  val pending = dut.pending.count.pull()
  /** packets that are to be read, from departure to the end of their words at JumboPack */
  val unread = Reg(UInt(4 bits)) init 0
  unread := unread + (departure.valid && !departure.discard).asUInt - (pack.word.fire && pack.word.last).asUInt
  val chains = new Chains

  when(running) {
    for ((valid, ready) <- fits) when(valid)(assert(ready))
    assert(used <= 16)
    assert(pending <= 4)
    when(pack.open && pack.word.valid && pack.packets === 0)(assert(False))
    when(pack.word.fire)(assert(unread =/= 0))
    when(!dut.io.busy && group.left === 0 && settled) {
      assert(unread === 0 && !pack.open && chains.holding === 0)
    }
    cover(pack.ends && dut.io.groups.group.valid)
    cover(pack.packets === 3)
    cover(pack.packets === 1 && pack.open && group.discarded && departure.valid)
    cover(!dut.io.busy && RegNext(dut.io.groups.left))
  }
}
