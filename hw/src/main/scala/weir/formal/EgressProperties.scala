package weir.formal

import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Descriptor
import weir.egress.Egress

/** Egress never overflows its FIFOs, never lets a frame run dry, whatever the sink does, and frees every chain once.
  * The environment is the core's: grants while there is room, four or more cycles apart; the departure three cycles
  * later, of 14 to `longest` bytes; words three cycles after `read`, lookups accepted every second cycle and answered
  * two cycles later.
  *
  * @param longest bytes of a frame at most
  * @param bounds  only what is proved by induction: the bounds of the two FIFOs
  * @param leak    None, or `credit`: reads take none; or `room`: there is some with two packets; or `link`: it takes
  *                eight cycles longer
  */
class EgressProperties(c: WeirConfig, longest: Int, bounds: Boolean, leak: Option[String]) extends Properties {
  val dut: Egress = new Egress(c) {
    if (leak.contains("credit")) when(io.read.valid)(credit.used := credit.used)
    if (leak.contains("room")) io.room.removeAssignments() := pending.count < 3
  }
  val beat = dut.io.beat

  val granting = any(Bool())
  val pause = Reg(UInt(2 bits)) init 0
  when(pause =/= 0)(pause := pause - 1)
  when(granting)(pause := 3)
  val discard = any(Bool())
  assume(!granting || (pause === 0 && (dut.io.room || discard)))
  dut.io.grant.valid := granting
  dut.io.grant.queue := 0
  dut.io.grant.discard := discard
  dut.io.grant.cause := 0

  val descriptor = Descriptor(c)
  descriptor.assignFromBits(B(0, widthOf(descriptor) bits))
  descriptor.length.removeAssignments() := any(c.length)
  descriptor.chain.first.removeAssignments() := any(c.cellId)
  descriptor.chain.cells.removeAssignments() := ((descriptor.length + 63) >> 6).resized
  assume(descriptor.length >= 14 && descriptor.length <= longest)
  dut.io.departure.valid := Delay(granting, 3, init = False)
  /** the policy refuses it at departure */
  val refused = any(Bool()) && !Delay(discard, 3)
  dut.io.departure.discard := Delay(discard, 3) || refused
  dut.io.departure.refused := refused
  dut.io.departure.sent := !dut.io.departure.discard
  dut.io.departure.first := True
  dut.io.departure.last := True
  dut.io.departure.cause := 0
  dut.io.departure.grantNs := 0
  dut.io.departure.queue := 0
  dut.io.departure.id := 0
  dut.io.departure.descriptor := descriptor

  val coming = Vec.fill(3)(RegInit(False))
  coming(0) := dut.io.read.valid
  for (n <- 1 to 2) coming(n) := coming(n - 1)
  dut.io.word.valid := coming(2)
  dut.io.word.payload := 0

  val slot = RegInit(False)
  slot := !slot
  dut.io.lookup.ready := slot
  dut.io.next.valid := Delay(dut.io.lookup.fire, if (leak.contains("link")) 10 else 2, init = False)
  dut.io.next.payload := any(c.cellId)
  beat.ready := any(Bool())
  /** arrivals give their cells back meanwhile */
  val busy = History(!dut.io.free.ready, 1 to 3, init = False)
  dut.io.free.ready := any(Bool())
  assume(dut.io.free.ready || !busy.reduce(_ || _))

  val words = dut.fifo.io
  val used = dut.credit.used.pull()
  val occupancy = words.occupancy.pull()
  val pushed = words.push.valid.pull()
  val taken = words.push.ready.pull()
  val jobs = dut.jobs
  val jobComes = jobs.push.valid.pull()
  val jobFits = jobs.push.ready.pull()
  val rules = new AxisRules(beat, settled)
  val frame = new NoGap(beat.valid, beat.ready, beat.last)

  when(running) {
    when(pushed)(assert(taken))
    assert(used <= 16)
    when(jobComes)(assert(jobFits))
  }
  if (bounds) {
    /** packets that were granted and have not left the word FIFO, by where they are */
    val packets = new Area {
      val granted = History(granting && !discard, 1 to 3, init = False)
      val read = dut.reader.active.pull()
      val lasts = History(dut.io.read.valid && dut.reader.label.last.pull(), 1 to 3, init = False)
      val stored = dut.fifo.rework {
        val slots = (0 until dut.fifo.depth).map(i => dut.fifo.logic.ram.readAsync(U(i, 4 bits)).label.last)
        Vec(slots.map(CombInit(_))).setName("stored")
      }
      val first = dut.fifo.logic.ptr.pop.pull()
      val waiting = CountOne(stored.zipWithIndex.map { case (last, i) =>
        (U(i, 4 bits) - first.resize(4)).resize(5) < occupancy && last.pull()
      })
      val shown = dut.beats.word.valid.pull() && dut.beats.word.payload.label.last.pull()
      val sum = CountOne(granted ++ lasts ++ Seq(read, shown)) +^ jobs.occupancy.pull() +^ waiting
    }
    when(running) {
      // what makes the bounds inductive
      assert(used === occupancy +^ CountOne(coming))
      assert(dut.pending.count.pull() === packets.sum && packets.sum <= 2)
      cover(used === 12)
      cover(jobs.occupancy.pull() === 1 && packets.read)
      cover(packets.waiting === 2)
    }
  } else {
    rules.asserted()
    when(running) {
      for (chains <- Seq(dut.freeing.discarded, dut.freeing.finished)) {
        when(chains.io.push.valid.pull())(assert(chains.io.push.ready.pull()))
      }
    }
    /** chains that were handed over and not freed */
    val holding = Reg(UInt(4 bits)) init 0
    holding := holding + dut.io.departure.valid.asUInt - dut.io.free.fire.asUInt
    /** one frame's first cell is the watched one, and no other's */
    val cell = some(c.cellId)
    val out = RegInit(False)
    val departs = dut.io.departure.valid && descriptor.chain.first === cell
    assume(!(departs && out))
    val frees = dut.io.free.fire && dut.io.free.first === cell
    when(departs)(out := True)
    when(frees)(out := False)
    when(running) {
      assert(frame.kept)
      assert(!beat.valid || beat.first === (!frame.inside))
      when(frees)(assert(out || departs))
      assert(holding <= 8)
      when(!dut.io.busy && !granting && pause === 0 && !before(dut.io.busy) && settled)(assert(holding === 0))
      cover(used === 8)
      cover(frame.inside && beat.last && beat.fire && beat.keep === 0x3f)
      cover(!dut.io.room && beat.first && beat.fire)
    }
  }
}
