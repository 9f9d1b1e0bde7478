package weir.mac
import spinal.core._
import spinal.lib._

/** Counts frames by cause, and the bytes of good ones, in a MAC's clock; a snapshot of all is read in another clock.
  *
  * Counters wrap: 32 bits of frames, 48 of bytes. `snapshot` copies them; `busy` is high until the copy may be read, a
  * few cycles of both clocks later, and a request while it is high does nothing. Resets have to be given together.
  *
  * @param causes number of bits of `events`: each that is set with `valid` adds one to its counter
  */
class FrameCounters(line: ClockDomain, core: ClockDomain, causes: Int) extends Component {
  val io = new Bundle {
    val valid = in Bool ()
    val events = in Bits (causes bits)
    /** the frame's bytes count */
    val good = in Bool ()
    val bytes = in UInt (MacLimits.lengthWidth bits)
    val snapshot = in Bool ()
    val busy = out Bool ()
    val counts = out Vec (UInt(32 bits), causes)
    val octets = out UInt (48 bits)
  }
  noIoPrefix()

  /** a request is a change of level */
  val ask = new ClockingArea(core) {
    val level = RegInit(False)
    when(io.snapshot && !io.busy)(level := !level)
  }
  val count = new ClockingArea(line) {
    val counts = Vec.fill(causes)(Reg(UInt(32 bits)) init 0)
    val octets = Reg(UInt(48 bits)) init 0
    for ((counter, n) <- counts.zipWithIndex) when(io.valid && io.events(n))(counter := counter + 1)
    when(io.valid && io.good)(octets := octets + io.bytes)

    private val asked = BufferCC(ask.level, init = False)
    val answer = RegNext(asked) init False
    private val copy = asked =/= answer
    val keptCounts = Vec(counts.map(RegNextWhen(_, copy, U(0, 32 bits))))
    val keptOctets = RegNextWhen(octets, copy, U(0, 48 bits))
  }
  val reply = new ClockingArea(core) {
    io.busy := BufferCC(count.answer, init = False) =/= ask.level
    for ((out, kept) <- io.counts.zip(count.keptCounts)) out := kept.addTag(crossClockDomain)
    io.octets := count.keptOctets.addTag(crossClockDomain)
  }
}
