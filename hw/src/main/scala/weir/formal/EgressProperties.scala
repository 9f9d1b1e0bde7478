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
  * @param bounds  only what is proved by induction: the word FIFO
  * @param leak    a link takes eight cycles longer; with `bounds`, reads take no credit
  */
class EgressProperties(c: WeirConfig, longest: Int, bounds: Boolean, leak: Boolean) extends Properties {
  val dut: Egress = if (leak && bounds) new Egress(c) { when(io.read.valid)(credit.used := credit.used) } else new Egress(c)
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

  val descriptor = Descriptor(c)
  descriptor.assignFromBits(B(0, widthOf(descriptor) bits))
  descriptor.length.removeAssignments() := any(c.length)
  descriptor.chain.first.removeAssignments() := any(c.cellId)
  descriptor.chain.cells.removeAssignments() := ((descriptor.length + 63) >> 6).resized
  assume(descriptor.length >= 14 && descriptor.length <= longest)
  dut.io.departure.valid := Delay(granting, 3, init = False)
  dut.io.departure.discard := Delay(discard, 3)
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
  dut.io.next.valid := Delay(dut.io.lookup.fire, if (leak && !bounds) 10 else 2, init = False)
  dut.io.next.payload := any(c.cellId)
  beat.ready := any(Bool())

  val words = dut.fifo.io
  val used = dut.credit.used.pull()
  val occupancy = words.occupancy.pull()
  val pushed = words.push.valid.pull()
  val taken = words.push.ready.pull()
  val rules = new AxisRules(beat, settled)
  val frame = new NoGap(beat.valid, beat.ready, beat.last)

  when(running) {
    when(pushed)(assert(taken))
    assert(used <= 16)
    // what makes the bound inductive
    if (bounds) assert(used === occupancy +^ CountOne(coming))
    cover(used === 12)
  }
  if (!bounds) {
    rules.asserted()
    val jobs = dut.jobs.io
    val jobComes = jobs.push.valid.pull()
    val jobFits = jobs.push.ready.pull()
    /** chains that were handed over and not freed */
    val holding = Reg(UInt(4 bits)) init 0
    holding := holding + dut.io.departure.valid.asUInt - dut.io.free.valid.asUInt
    /** one frame's first cell is the watched one, and no other's */
    val cell = some(c.cellId)
    val out = RegInit(False)
    val departs = dut.io.departure.valid && descriptor.chain.first === cell
    assume(!(departs && out))
    val frees = dut.io.free.valid && dut.io.free.first === cell
    when(departs)(out := True)
    when(frees)(out := False)
    when(running) {
      when(jobComes)(assert(jobFits))
      assert(frame.kept)
      assert(!beat.valid || beat.first === (!frame.inside))
      when(frees)(assert(out || departs))
      assert(holding <= 8)
      when(!dut.io.busy && !granting && pause === 0 && !before(dut.io.busy) && settled)(assert(holding === 0 || dut.io.free.valid))
      cover(frame.inside && beat.last && beat.fire && beat.keep === 0x3f)
      cover(!dut.io.room && beat.first && beat.fire)
    }
  }
}
