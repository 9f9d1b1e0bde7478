package weir.control.counters
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Counters of a core for 10 Gb/s.
  *
  * Queue counters live in two [[CounterBank]]s, one for arrivals, one for departures. Ingress events can
  * come in every cycle (runts of one beat), so the core's counters are flip-flops with an adder each, of as many bits as
  * are needed until [[CounterAccumulator]] has seen them.
  *
  * Latency: an event is added 3 (core) to about 8 cycles (queue) after it came; a read takes 4 to 8 cycles, more
  * under load. Limits: departures four or more cycles apart; arrivals two or more, no more than one in four
  * cycles and four beside; ingress events every cycle: nothing is lost (see [[CounterBank]]).
  */
class TallyCounters(c: WeirConfig, steady: ClockDomain) extends Counters(c) {
  /** Inputs, registered: what happened in the cycle before. */
  val happened = new Area {
    val arrival = io.arrival.m2sPipe(holdPayload = true)
    val departure = io.departure.m2sPipe(holdPayload = true)
    val ingress = io.ingress.m2sPipe(holdPayload = true)
    val jumboOut = c.jumbo generate io.jumboOut.m2sPipe(holdPayload = true)
    val singles = if (c.jumbo) Seq(io.evicted, io.hurried).map(RegNext(_) init False) else Nil
    val traceLost = RegNext(io.traceLost) init False
    val clear = RegNext(io.clear) init False
  }

  val arrivals = CounterBank(c, ArrivalKind.kinds)
  val departures = CounterBank(c, DepartureKind.kinds)

  val moment = new Area {
    val waiting = RegInit(False)
    val clear = RegNext(happened.clear) init False
    val take = RegInit(False)
    /** the core's counters now hold all events up to the moment */
    val copied = RegNext(take) init False
    /** there is a snapshot */
    val exists = RegInit(False)

    val unloading = Bool()
    val settling = take || copied || unloading || happened.clear || clear || arrivals.io.busy || departures.io.busy
    val takes = waiting && !settling
    take := takes
    when(!settling) { waiting := False }
    when(io.snapshot) { waiting := True }
    when(take) { exists := True }
    when(clear) { exists := False }

    arrivals.io.take := take
    arrivals.io.clear := clear
    departures.io.take := take
    departures.io.clear := clear
    io.snapshotBusy := waiting || settling
  }

  private def counts(bank: CounterBank, valid: Bool, queue: UInt, length: UInt, kinds: CounterKinds): Unit = {
    val update = CounterUpdate(c, bank.kinds)
    if (CounterBank.several(c)) update.queue := queue
    update.length := length
    update.first := kinds.first
    update.second := kinds.second
    update.both := kinds.both
    bank.io.update.valid := RegNext(valid) init False
    bank.io.update.payload := RegNextWhen(update, valid)
  }
  private val (arrival, departure) = (happened.arrival, happened.departure)
  counts(arrivals, arrival.valid, arrival.queue, arrival.length, ArrivalKind(arrival.payload))
  counts(departures, departure.valid, departure.queue, departure.length, DepartureKind(departure.payload))

  /** Counts in as many bits as [[CounterAccumulator]] needs: `amount` is added with `counts`, which comes `apart` or
    * more cycles after the last time.
    */
  case class Tally(counts: Bool, amount: UInt, apart: Int = 1) extends Area {
    val live = Reg(UInt(
      CounterAccumulator.width((BigInt(1) << widthOf(amount)) - 1, apart, TallyCounters.tallies(c)) bits)) init 0
    when(counts) { live := live + amount }
    when(moment.clear) { live := 0 }
  }

  val core = new Area {
    val ingress = happened.ingress
    val event = RegNextWhen(ingress.payload, ingress.valid)
    val departureBytes = RegNextWhen(happened.departure.length, happened.departure.valid)
    private def pair(condition: Bool, bytes: UInt, number: UInt = U(1), apart: Int = 1) = new Area {
      val valid = RegNext(condition) init False
      val packets = Tally(valid, number, apart)
      val octets = Tally(valid, bytes, apart)
    }
    private def ended(end: Int) = pair(ingress.valid && ingress.end === end, event.wireBytes)

    val rx = pair(ingress.valid, event.bytes, event.packets)
    val tx = pair(happened.departure.valid && !happened.departure.discard, departureBytes, apart = 4)
    val bad = ended(FrameEnd.bad)
    val runt = ended(FrameEnd.runt)
    val oversize = ended(FrameEnd.oversize)
    val overflow = ended(FrameEnd.overflow)
    /** malformed, jumbo frames that were split, packets of them that were dropped, frames as they came; jumbo frames that were
      * built, packets in them
      */
    val jumbo = if (!c.jumbo) Nil else Seq(
      ended(FrameEnd.malformed),
      pair(ingress.valid && ingress.jumbo, event.wireBytes),
      pair(ingress.valid && ingress.jumbo, event.discardedBytes, event.discarded),
      pair(ingress.valid, event.wireBytes),
      pair(happened.jumboOut.valid, RegNextWhen(happened.jumboOut.payload, happened.jumboOut.valid), apart = 4),
      pair(happened.departure.valid && !happened.departure.discard && happened.departure.merged, departureBytes, apart = 4)
    )
    val singles = happened.singles.map(e => Tally(RegNext(e) init False, U(1)))
    val traceLost = if (c.trace) Some(Tally(RegNext(happened.traceLost) init False, U(1))) else None

    val active = ingress.valid || happened.arrival.valid || happened.departure.valid || rx.valid || tx.valid
  }

  val time = new CounterTime(c, io, moment.clear, steady)

  /** The core's counters in 64 bits, and their copy. */
  val totals = new Area {
    /** rows: the core block from 0x200 on, 8 bytes each, and what is not there; behind it those of time */
    private val block: Seq[Option[Tally]] =
      Seq(core.rx, core.tx, core.bad, core.runt, core.oversize, core.overflow).flatMap(pair => Seq(Some(pair.packets), Some(pair.octets))) ++
        Seq(core.traceLost, None) ++ core.jumbo.flatMap(pair => Seq(Some(pair.packets), Some(pair.octets))) ++
        core.singles.flatMap(e => Seq(Some(e), None))
    require(block.flatten.size == TallyCounters.tallies(c))
    val lines = block.size / 2
    val throttledRow = block.size
    val uptimeRow = block.size + 1
    /** rows that read 0 */
    val empty = block.indices.filter(block(_).isEmpty)
    /** there is a place where nothing else is */
    val heldRow = empty.head

    val unit = CounterAccumulator(block.map(_.map(t => widthOf(t.live))), steady = Seq(throttledRow, uptimeRow, heldRow))
    for ((port, tally) <- unit.io.tallies.zip(block.flatten)) port := tally.live
    unit.io.whole := Vec(time.throttled, time.uptime, time.packets)
    unit.io.capture := moment.copied
    unit.io.imminent := moment.takes || moment.take || moment.copied
    unit.io.clear := moment.clear
    moment.unloading := unit.io.copying
  }

  val access = new CounterAccess(c, io.bus, totals.lines, io.snapshotBusy, moment.exists) {
    private val ofTime = throttled || uptime || held
    private val row = UInt(log2Up(totals.uptimeRow + 1) bits)
    row := (number @@ bytes).resized
    when(throttled)(row := totals.throttledRow)
    when(uptime)(row := totals.uptimeRow)
    when(held)(row := totals.heldRow)
    private val empty = pair && totals.empty.map(row === _).orR
    arrivals.io.read.valid := fetching && arrival
    arrivals.io.read.payload := CounterBank.index(c, arrivalKind, queue)
    departures.io.read.valid := fetching && departure
    departures.io.read.payload := CounterBank.index(c, departureKind, queue)
    totals.unit.io.read.valid := fetching && (pair || ofTime)
    totals.unit.io.read.payload := row @@ high
    taken := arrivals.io.read.fire || departures.io.read.fire || totals.unit.io.read.fire
    found := arrivals.io.value.valid || departures.io.value.valid || totals.unit.io.value.valid

    private def wordOf(pair: Bits) = pair.subdivideIn(32 bits).read((bytes ## high).asUInt)
    private val ofQueue = Mux(arrival, wordOf(arrivals.io.value.payload), wordOf(departures.io.value.payload))
    value := Mux(empty, B(0, 32 bits), Mux(pair || ofTime, totals.unit.io.value.payload, ofQueue))
  }

  io.busy := io.snapshotBusy || totals.unit.io.busy || core.active || arrivals.io.active || departures.io.active ||
    happened.traceLost || access.busy
}

object TallyCounters {
  /** tallies of the core: the counters of pairs, of single events, and of the trace */
  def tallies(c: WeirConfig): Int = 12 + (if (c.trace) 1 else 0) + (if (c.jumbo) 14 else 0)
}
