package weir.admission
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Arrival, Whole}
import weir.common.IsSuccessor

/** Arrivals on their way from CellWriter to ArrivalDecision. The packets of a jumbo frame wait here until all of it
  * is known to be good; `commit` lets them go, `rollback` forgets them. Others go at once, behind those that are
  * before them.
  *
  * Latency: none for an arrival that finds nothing before it and room at ArrivalDecision; else it is written to a
  * RAM, and read at one in three cycles (ArrivalDecision takes one in four). An arrival may come when `room` was high
  * in its cycle: a few places are kept, as `room` is late. At reset empty.
  *
  * The window [taken, committed) of the ring may go, [committed, written) waits for its jumbo frame's end.
  */
class CommitFifo(c: WeirConfig) extends Component {
  private val depth = 1024
  private val width = log2Up(depth)

  val io = new Bundle {
    val push = slave(Flow(Arrival(c)))
    /** the arrival is a packet of a jumbo frame that has not ended; otherwise it is committed with what is before it */
    val pushInner = in Bool ()
    /** as [[CellWriter]] gives it with the arrival */
    val pushWaitNs = in(UInt(Spacing.waitWidth bits))
    val commit = in Bool ()
    /** with `commit`: the jumbo frame as one arrival, if its packets stay together */
    val whole = in(Whole(c))
    val rollback = in Bool ()
    /** one more arrival fits */
    val room = out Bool ()
    /** ArrivalDecision takes an arrival */
    val ready = in Bool ()
    /** an arrival comes if `ready` is high */
    val offers = out Bool ()
    val pop = master(Flow(Arrival(c)))
    /** the arrival came out of a jumbo frame; not of packets that stay together behind the first */
    val popInner = out Bool ()
    /** of such a packet: it is the first that is left of its jumbo frame; the sum of the spacings up to its own */
    val popFirst = out Bool ()
    val popWaitNs = out(UInt(Spacing.waitWidth bits))
    /** what comes next is of a jumbo frame whose packets stay together */
    val together = out Bool ()
    val busy = out Bool ()
  }
  noIoPrefix()

  val ring = new Area {
    val taken, committed, written = Reg(UInt(width + 1 bits)) init 0
    /** one more fits, a cycle late; four places are kept for what comes meanwhile */
    val roomy = RegNext(written - taken < depth - 4) init True
    /** `taken` is `written`, from a register */
    val empty = RegInit(True)
    io.room := roomy
  }

  private val entry = io.pushWaitNs ## (ring.written === ring.committed) ## io.pushInner ## io.push.payload.asBits
  private val ram = Mem(Bits(widthOf(entry) bits), depth)

  /** The oldest that may go: RAM, register. */
  val leaving = new Area {
    val reading, valid = RegInit(False)
    val read = ring.taken =/= ring.committed && !reading && !valid
    val word = RegNextWhen(ram.readSync(ring.taken.resized, read), reading)
    val arrival = Arrival(c)
    arrival.assignFromBits(word.resize(widthOf(arrival)))
    val inner = word(widthOf(arrival))
    val first = word(widthOf(arrival) + 1)
    val waitNs = word(widthOf(arrival) + 2, Spacing.waitWidth bits).asUInt
    val transit = arrival.transit.header || arrival.transit.member
    val goes = valid && io.ready
    reading := read
    when(read)(ring.taken := ring.taken + 1)
    when(reading)(valid := True)
    when(goes)(valid := False)
  }

  /** The header of a jumbo frame in transit has its place before the packets, and is written there when the whole is known. */
  val header = new Area {
    val waits = RegInit(False)
    val place = Reg(UInt(width bits))
    val arrival = RegNextWhen(io.push.payload, io.push.valid && io.push.transit.header)
    when(io.push.valid && io.push.transit.header) {
      waits := True
      place := ring.written.resized
    }
    when(io.commit || io.rollback)(waits := False)
    val completes = io.commit && waits
    val whole = cloneOf(arrival).allowOverride()
    whole := arrival
    whole.meta.queue := io.whole.queue
    whole.meta.length := io.whole.length
    whole.meta.ecn := io.whole.ecn
    whole.transit.packets := io.whole.packets
    whole.transit.cells := io.whole.cells
  }

  val coming = new Area {
    /** nothing is in the ring, nor on its way out of it */
    val alone = RegInit(True)
    val offered = io.push.valid && !io.pushInner && alone
    val direct = offered && io.ready
    val stored = io.push.valid && !direct
    ram.write(header.completes ? header.place | ring.written.resized, header.completes ? (B(0, Spacing.waitWidth bits) ## False ## True ## header.whole.asBits) | entry,
      stored || header.completes)
    when(stored)(ring.written := ring.written + 1)
    when(stored && !io.pushInner)(ring.committed := ring.written + 1)
    when(io.commit)(ring.committed := ring.written)
    when(io.rollback)(ring.written := ring.committed)
    // whether one is read comes late, and only chooses
    private val empties = CombInit(ring.empty)
    when(io.rollback) {
      empties := leaving.read ? IsSuccessor(ring.taken, ring.committed) | (ring.taken === ring.committed)
    } elsewhen (stored) {
      empties := False
    } elsewhen (leaving.read) {
      empties := IsSuccessor(ring.taken, ring.written)
    }
    ring.empty := empties
    alone := empties && !leaving.read && !leaving.reading && !(leaving.valid && !io.ready)
  }

  io.pop.valid := coming.direct || leaving.goes
  io.pop.payload := Mux(leaving.valid, leaving.arrival, io.push.payload)
  io.offers := coming.offered || leaving.valid
  io.popInner := leaving.valid && leaving.inner && !leaving.arrival.transit.member
  io.popFirst := leaving.first
  io.popWaitNs := leaving.waitNs
  io.together := leaving.valid && leaving.transit
  io.busy := !ring.empty || leaving.reading || leaving.valid
}
