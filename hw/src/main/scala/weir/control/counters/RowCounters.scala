package weir.control.counters
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.ValidPipeline

/** Counters of a core for 1 Gb/s: pairs of 64 bits (packets, bytes) as rows of one block RAM.
  *
  * An event adds to one to three rows, a row a cycle: read (t), registered (t + 1), added to and written (t + 2). A row
  * waits while an older change of the same row is under way.
  *
  * A snapshot begins an epoch. A row tells in which epoch it changed last: its first change in a new one saves the old
  * value in the other half of the RAM. A scan goes through all rows, between events, so that each is saved. Events
  * wait in a FIFO for each kind, with the epoch in which they came; a new epoch begins when those of the old one are
  * counted. So what is saved is of one moment.
  *
  * Three cycles in 32 are kept for the scan and the host, so neither waits for ever.
  *
  * Latency: an event is added some 8 cycles after it came; a read takes 7 cycles, more under load. Limits: events of a
  * kind come 8 or more cycles apart, departures that are discarded four. A line of 1 Gb/s has 10 cycles of 62.5 MHz
  * from the end of one frame to that of the next, be it a byte. No event is lost then.
  */
class RowCounters(c: WeirConfig, steady: ClockDomain) extends Counters(c) {
  private val depth = 32
  private val kinds = ArrivalKind.kinds + DepartureKind.kinds
  /** pairs of the core, in the order of its block from 0x200 on */
  private object Core {
    val rx = 0
    val tx = 1
    /** BAD, RUNT, OVERSIZE, INGRESS_OVERFLOW in the order of [[FrameEnd]] */
    val ends = 2 - FrameEnd.bad
    val traceLost = 6
    val pairs = 7
  }

  /** Rows: of the queues, by kind, then of the core. */
  private val several = c.queues > 1
  private val coreBase = if (several) kinds << c.queueWidth else kinds
  private val rows = coreBase + Core.pairs
  private def rowId = UInt(log2Up(rows) bits)
  private def ofQueue(kind: UInt, queue: UInt): UInt = (if (several) kind @@ queue else kind).resize(log2Up(rows))
  private def ofCore(pair: UInt): UInt = (U(coreBase, log2Up(rows) bits) + pair).resized
  require(rows <= 8 * depth, s"a clear of $rows rows outlasts $depth events of each kind")

  /** What an event adds to: `first`, `second` if `last` is 1 or 2, and TX if it is 2. */
  case class Change(bytesWidth: Int) extends Bundle {
    val first, second = rowId
    val last = UInt(2 bits)
    val bytes = UInt(bytesWidth bits)
    val epoch = Bool()
  }

  val moment = new Area {
    val clear = RegNext(io.clear) init False
    val waiting, exists, draining, scanning = RegInit(False)
    /** of what comes, of what is counted */
    val epoch, counted = RegInit(False)
    val wiping = RegInit(True)
    val settling = epoch =/= counted || scanning || wiping || clear
    val takes = waiting && !settling
    /** A change of the cycle of `takes` is pushed two cycles later, and is in the FIFO's occupancy after three. */
    val taken = new ValidPipeline(takes, 4)
    when(takes) {
      epoch := !epoch
      exists := True
    }
    when(!settling)(waiting := False)
    when(io.snapshot)(waiting := True)
    when(taken(4))(draining := True)
    when(clear) {
      exists := False
      draining := False
      taken.passed := 0
    }
    io.snapshotBusy := waiting || settling
  }

  /** Events of a kind, as changes: registered, described, registered, in a FIFO. */
  private class Source[T <: Data](event: Flow[T], bytesWidth: Int)(describe: (T, Change) => Unit) extends Area {
    private val happened = event.m2sPipe(holdPayload = true)
    private val change = Change(bytesWidth)
    describe(happened.payload, change)
    change.epoch := moment.epoch
    private val fifo = StreamFifo(Change(bytesWidth), depth)
    fifo.io.push.valid := (RegNext(happened.valid && !moment.clear) init False) && !moment.clear
    fifo.io.push.payload := RegNextWhen(change, happened.valid)
    fifo.io.flush := moment.clear
    val head = fifo.io.pop
    val some = fifo.io.occupancy =/= 0
    val active = happened.valid || fifo.io.push.valid || some
  }
  private val arrivals = new Source(io.arrival, c.lengthWidth)((event, change) => {
    val kinds = ArrivalKind(event)
    change.first := ofQueue(kinds.first.resize(log2Up(this.kinds)), event.queue)
    change.second := ofQueue(kinds.second.resize(log2Up(this.kinds)), event.queue)
    change.last := kinds.both.asUInt.resized
    change.bytes := event.length
  })
  private val departures = new Source(io.departure, c.lengthWidth)((event, change) => {
    val kinds = DepartureKind(event)
    def row(kind: UInt) = ofQueue((kind +^ U(ArrivalKind.kinds)).resize(log2Up(this.kinds)), event.queue)
    change.first := row(kinds.first)
    change.second := row(kinds.second)
    change.last := Mux(kinds.both, U(2), U(0))
    change.bytes := event.length
  })
  private val frames = new Source(io.ingress, widthOf(io.ingress.bytes))((event, change) => {
    change.first := ofCore(U(Core.rx))
    change.second := ofCore(event.end + Core.ends)
    change.last := (event.end =/= FrameEnd.good).asUInt.resized
    change.bytes := event.bytes
  })
  private val sources = Seq(arrivals, departures, frames)

  /** Trace records that were lost, of either epoch, until they are added. */
  private val lost = new Area {
    private val happened = (RegNext(io.traceLost) init False) && !moment.clear
    val counts = Vec(Reg(UInt(16 bits)) init 0, 2)
    val count = counts(moment.counted.asUInt)
    val added = False
    for ((count, epoch) <- counts.zipWithIndex) {
      val adds = happened && moment.epoch === Bool(epoch == 1)
      val goes = added && moment.counted === Bool(epoch == 1)
      when(adds || goes)(count := Mux(goes, U(0), count) + adds.asUInt)
      when(moment.clear)(count := 0)
    }
    val active = counts.map(_ =/= 0).orR || happened
  }

  /** What one pass through the RAM does. */
  case class Operation() extends Bundle {
    val row = rowId
    val packets = UInt(widthOf(lost.count) bits)
    val bytes = UInt(24 bits)
    val epoch = Bool()
    /** the row becomes 0; the saved one is read for the host */
    val wipe, answer = Bool()
  }

  val issue = new Area {
    /** all go on */
    val advance = Bool()
    private val step = Reg(UInt(2 bits)) init 0
    private val ready = B(sources.map(s => s.head.valid && s.head.epoch === moment.counted))
    private val locked = Reg(Bits(sources.size bits)) init 1
    /** in turn, so that rows of one kind are some cycles apart */
    private val chosen = Mux(step === 0, OHMasking.roundRobin(ready, locked.rotateLeft(1)), locked)
    private def ofChosen[T <: Data](value: Stream[Change] => T): T =
      MuxOH(chosen, sources.map(s => value(s.head)).toIndexedSeq)
    private val last = ofChosen(_.last)
    private val event = ready.orR || step =/= 0

    val scanned = Reg(rowId) init 0
    /** the host asks for the row at `address` */
    val asks = Bool()
    val address = rowId
    private val turn = Reg(UInt(5 bits)) init 0
    private val waited = moment.scanning || asks
    when(waited)(turn := turn + 1)
    private val rests = waited && turn < 3
    private val free = !moment.wiping && (!event || rests)
    private val changes = !moment.wiping && event && !rests
    private val answers = free && !moment.scanning && asks
    private val adds = free && !moment.scanning && !asks && lost.count =/= 0
    val operation = Operation()
    operation.row := scanned
    operation.packets := 0
    operation.bytes := 0
    operation.epoch := moment.counted
    operation.wipe := moment.wiping
    operation.answer := answers
    when(changes) {
      operation.row := step.mux(0 -> ofChosen(_.first), 1 -> ofChosen(_.second), default -> ofCore(U(Core.tx)))
      operation.packets := 1
      operation.bytes := ofChosen(s => s.bytes.resize(24))
    }
    when(adds) {
      operation.row := ofCore(U(Core.traceLost))
      operation.packets := lost.count
    }
    when(answers)(operation.row := address)
    private val scans = free && moment.scanning
    /** a change of the same row is under way: another one, and a read, waits, and the scan need not look at it */
    val same = Bool()
    /** no change is under way */
    val idle = Bool()
    val fires = advance && (moment.wiping || (changes || answers || adds || scans) && !same)
    val answered = answers && fires
    when(fires && changes) {
      locked := chosen
      step := Mux(step === last, U(0), step + 1)
    }
    for ((source, n) <- sources.zipWithIndex) source.head.ready := fires && changes && chosen(n) && step === last
    lost.added setWhen (fires && adds)
    when(advance && (moment.wiping || scans)) {
      scanned := scanned + 1
      when(scanned === rows - 1) {
        scanned := 0
        moment.wiping := False
        moment.scanning := False
      }
    }
    when(moment.draining && !ready.orR && step === 0 && lost.count === 0 && idle &&
      sources.map(s => !s.some || s.head.valid).andR) {
      moment.draining := False
      moment.counted := moment.epoch
      moment.scanning := True
    }
    when(moment.clear) {
      moment.wiping := True
      moment.scanning := False
      moment.counted := moment.epoch
      scanned := 0
      step := 0
    }
  }

  val counters = new Area {
    private val ram = Mem(Bits(129 bits), 2 << log2Up(rows))
    private val found = ram.readSync(issue.operation.answer ## issue.operation.row asUInt, issue.fires)
    private def later(valid: Bool): Bool = RegNextWhen(valid, issue.advance) init False
    val valid1 = later(issue.fires)
    private val operation1 = RegNextWhen(issue.operation, issue.fires)
    val valid2 = later(valid1)
    private val operation = RegNextWhen(operation1, issue.advance)
    val old = RegNextWhen(found, issue.advance)
    issue.idle := !valid1 && !valid2
    private def isSame(other: Operation): Bool = other.row === issue.operation.row
    issue.same := valid1 && isSame(operation1) || valid2 && isSame(operation)

    val answer = valid2 && operation.answer
    private val saved = RegInit(False)
    private val changes = valid2 && !operation.answer
    private val stale = changes && !operation.wipe && old.msb =/= operation.epoch && !saved
    saved := stale
    issue.advance := !stale
    private val packets = old(63 downto 0).asUInt + operation.packets
    private val bytes = old(127 downto 64).asUInt + operation.bytes
    private val sums = Mux(operation.wipe, B(0, 128 bits), bytes ## packets)
    ram.write(stale ## operation.row asUInt, Mux(stale, old, operation.epoch ## sums), changes)
  }

  private val time = new CounterTime(c, io, RegNext(moment.clear) init False, steady)
  private val captured = Seq(time.throttled, time.uptime, time.packets).map(RegNextWhen(_, moment.taken(2)))

  val access = new CounterAccess(c, io.bus, Core.pairs, io.snapshotBusy, moment.exists) {
    private val ofTime = throttled || uptime || held
    private val inRow = pair || arrival || departure
    issue.asks := fetching && inRow
    issue.address := ofCore(number)
    when(arrival)(issue.address := ofQueue(arrivalKind.resize(log2Up(kinds)), queue))
    when(departure)(issue.address := ofQueue((departureKind +^ U(ArrivalKind.kinds)).resize(log2Up(kinds)), queue))
    taken := issue.answered || fetching && ofTime
    found := ofTime || counters.answer
    private val row = counters.old
    private val long = Mux(inRow, Mux(bytes, row(127 downto 64), row(63 downto 0)),
      MuxOH(Vec(throttled, uptime, held), captured.map(_.asBits)))
    value := Mux(high, long(63 downto 32), long(31 downto 0))
  }

  io.busy := io.snapshotBusy || sources.map(_.active).orR || lost.active || !issue.idle || access.busy
}
