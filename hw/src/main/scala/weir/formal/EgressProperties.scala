package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.transmit.PacketFrames

/** Egress never overflows its FIFOs, never lets a frame run dry, whatever the sink does, and frees every chain once.
  * The environment is that of [[EgressInputs]]: grants while there is room, four or more cycles apart, and the departure three
  * cycles later.
  *
  * @param longest bytes of a frame at most
  * @param bounds  only what is proved by induction: the bounds of the two FIFOs
  * @param leak    None, or `credit`: reads take none; or `room`: there is some with two packets; or `link`: it takes
  *                eight cycles longer
  */
class EgressProperties(c: WeirConfig, longest: Int, bounds: Boolean, leak: Option[String])
    extends EgressInputs(c, longest, new LeakyEgress(c, leak), link = if (leak.contains("link")) 10 else 2) {
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

  dut.io.departure.valid := Delay(granting, 3, init = False)
  /** the policy refuses it at departure */
  val refused = any(Bool()) && !Delay(discard, 3)
  dut.io.departure.discard := Delay(discard, 3) || refused
  dut.io.departure.refused := refused
  dut.io.kept := dut.io.departure.valid && !dut.io.departure.discard
  dut.io.departure.sent := !dut.io.departure.discard
  dut.io.departure.first := True
  dut.io.departure.last := True
  dut.io.departure.cause := 0
  dut.io.departure.grantNs := 0
  dut.io.departure.queue := 0
  dut.io.departure.id := 0
  dut.io.departure.descriptor := descriptor

  beat.ready := any(Bool())

  val words = dut.fifo.io
  val occupancy = words.occupancy.pull()
  val pushed = words.push.valid.pull()
  val taken = words.push.ready.pull()
  val jobs = dut.jobs
  private val form = dut.form.asInstanceOf[PacketFrames]
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
        val slots = (0 until dut.fifo.depth).map(i => dut.fifo.words.readAsync(U(i, 4 bits)).label.last)
        Vec(slots.map(CombInit(_))).setName("stored")
      }
      val first = dut.fifo.readAt.pull()
      val waiting = CountOne(stored.zipWithIndex.map { case (last, i) =>
        (U(i, 4 bits) - first).resize(5) < occupancy && last.pull()
      })
      val shown = form.word.valid.pull() && form.word.payload.label.last.pull()
      val sum = CountOne(granted ++ lasts ++ Seq(read, shown)) +^ form.jobs.io.occupancy.pull() +^ waiting
    }
    when(running) {
      // what makes the bounds inductive
      assert(used === occupancy +^ CountOne(coming))
      assert(dut.fifo.none.pull() === (occupancy === 0) && dut.fifo.full.pull() === (occupancy === 16))
      assert(dut.fifo.writeAt.pull() - dut.fifo.readAt.pull() === occupancy.resize(4))
      assert(dut.pending.few.pull() === (dut.pending.count.pull() < 2))
      assert(dut.pending.count.pull() === packets.sum && packets.sum <= 2)
      cover(used === 12)
      cover(form.jobs.io.occupancy.pull() === 1 && packets.read)
      cover(packets.waiting === 2)
    }
  } else {
    rules.asserted()
    when(running) {
      for (fifo <- Seq(dut.freeing.discarded, dut.freeing.finished)) {
        when(fifo.io.push.valid.pull())(assert(fifo.io.push.ready.pull()))
      }
    }
    val chains = new Chains
    when(running) {
      assert(frame.kept)
      assert(!beat.valid || beat.first === (!frame.inside))
      assert(chains.holding <= 8)
      when(!dut.io.busy && !granting && pause === 0 && !before(dut.io.busy) && settled)(assert(chains.holding === 0))
      cover(used === 8)
      cover(frame.inside && beat.last && beat.fire && beat.keep === 0x3f)
      cover(!dut.io.room && beat.first && beat.fire)
    }
  }
}
