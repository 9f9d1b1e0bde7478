package weir.control.counters
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.control.registers.CsrBus
import weir.policy.{Action, Cause, Ecn}

/** All 64-bit counters of the core, copied together by `snapshot`, read by the host from the copy.
  *
  * Queue counters live in two [[CounterBank]]s, one for arrivals, one for departures. Ingress events can
  * come in every cycle (runts of one beat), so the core's counters are flip-flops with an adder each, of as many bits as
  * are needed until [[CounterAccumulator]] has seen them.
  *
  * Snapshot: a pulse while `snapshotBusy` is low copies the state after that very cycle: its events are included,
  * later ones are not. A pulse while it is high is kept, and the snapshot is taken when it falls. Reads
  * wait for `snapshotBusy` to fall. Without a snapshot since the last clear they answer 0.
  *
  * Latency: an event is added 3 (core) to about 8 cycles (queue) after it came; a read takes 4 to 8 cycles, more
  * under load. Limits: departures four or more cycles apart; arrivals two or more, no more than one in four
  * cycles and four beside; ingress events every cycle: nothing
  * is lost (see [[CounterBank]]). Counters wrap at 2^64.
  * Reset and `clear`: everything is 0, the events of that cycle included; events may come in the next one.
  *
  * @param steady the clock of what counts time, when all else may stand still ([[weir.common.ClockGate]])
  */
class Counters(c: WeirConfig, steady: ClockDomain = ClockDomain.current) extends Component {
  val io = new Bundle {
    val arrival = slave(Flow(ArrivalEvent(c)))
    val departure = slave(Flow(DepartureEvent(c)))
    val ingress = slave(Flow(IngressEvent(c)))
    /** a jumbo frame of so many bytes was built; four or more cycles apart */
    val jumboOut = c.jumbo generate slave(Flow(c.length))
    /** pulse: a group was closed because another flow needed its place */
    val evicted = c.jumbo generate (in Bool ())
    /** pulse: a packet did not wait for all of its spacing */
    val hurried = c.jumbo generate (in Bool ())
    /** pulse: a trace record did not fit in the FIFO */
    val traceLost = in(Bool())
    /** the shaper holds a backlog */
    val throttled = in(Bool())
    val now = in(c.time)
    /** packets in the queues; packets that wait for their spacing */
    val queued, spaced = in(c.count)
    val snapshot = in(Bool())
    val snapshotBusy = out(Bool())
    val clear = in(Bool())
    /** something is still to be counted or copied */
    val busy = out(Bool())
    /** reads of counters, at the addresses of the register map (in words) */
    val bus = slave(CsrBus(14))
  }

  /** Order of the counters in a queue's block at 0x200; the last is before them. */
  private object Arrival {
    val in = 0
    val early = 4
    val forced = 5
    val overflow = 6
    val marked = 7
    val alreadyCe = 8
    val nodrop = 9
    val kinds = 10
  }
  /** Bins of the sojourn histogram, then: */
  private object Departure {
    val out = 32
    val linkDown = 33
    val front = 34
    val refused = 35
    val marked = 36
    val partial = 37
    val alreadyCe = 38
    val kinds = 39
  }

  /** Inputs, registered: what happened in the cycle before. */
  val happened = new Area {
    val arrival = io.arrival.m2sPipe(holdPayload = true)
    val departure = io.departure.m2sPipe(holdPayload = true)
    val ingress = io.ingress.m2sPipe(holdPayload = true)
    val jumboOut = c.jumbo generate io.jumboOut.m2sPipe(holdPayload = true)
    val evicted = c.jumbo generate (RegNext(io.evicted) init False)
    val hurried = c.jumbo generate (RegNext(io.hurried) init False)
    val traceLost = RegNext(io.traceLost) init False
    val clear = RegNext(io.clear) init False
  }

  val arrivals = CounterBank(c, Arrival.kinds)
  val departures = CounterBank(c, Departure.kinds)

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

  val arrivalUpdate = new Area {
    val event = happened.arrival
    val dropped = event.action === Action.drop
    val marked = event.action === Action.mark
    /** selected, yet accepted */
    val kept = event.action === Action.accept && (event.cause === Cause.early || event.cause === Cause.forced)
    val update = CounterUpdate(c, Arrival.kinds)
    if (CounterBank.several(c)) update.queue := event.queue
    update.length := event.length
    update.first := event.ecn.mux(
      Ecn.notEct -> U(Arrival.in + 0, 4 bits),
      Ecn.ect1 -> U(Arrival.in + 1, 4 bits),
      Ecn.ect0 -> U(Arrival.in + 2, 4 bits),
      Ecn.ce -> U(Arrival.in + 3, 4 bits)
    )
    update.second := Arrival.overflow
    when(event.cause === Cause.early) { update.second := Arrival.early }
    when(event.cause === Cause.forced) { update.second := Arrival.forced }
    when(marked) { update.second := Arrival.marked }
    when(event.action === Action.accept) {
      update.second := (event.ecn === Ecn.ce) ? U(Arrival.alreadyCe, 4 bits) | Arrival.nodrop
    }
    update.both := dropped || marked || kept
    arrivals.io.update.valid := RegNext(event.valid) init False
    arrivals.io.update.payload := RegNextWhen(update, event.valid)
  }

  val departureUpdate = new Area {
    val event = happened.departure
    val update = CounterUpdate(c, Departure.kinds)
    /** max(0, floor(log2 sojourn)), up to 31 */
    val bin = highest(event.sojournNs(47 downto 31).orR ## event.sojournNs(30 downto 0))._2.resize(6)
    /** there is a one, and the number of the highest one, half by half; the width is a power of two */
    private def highest(bits: Bits): (Bool, UInt) = if (bits.getWidth == 2) (bits.orR, bits.msb.asUInt) else {
      val Seq((low, lowAt), (high, highAt)) = bits.subdivideIn(2 slices).map(highest).toSeq
      (high || low, high.asUInt @@ (high ? highAt | lowAt))
    }
    if (CounterBank.several(c)) update.queue := event.queue
    update.length := event.length
    update.first := Departure.out
    when(event.marked)(update.first := Departure.marked)
    when(event.alreadyCe)(update.first := Departure.alreadyCe)
    when(event.discard) {
      update.first := Departure.refused
      when(event.cause === Cause.linkDown)(update.first := Departure.linkDown)
      when(event.cause === Cause.front)(update.first := Departure.front)
      when(event.cause === Cause.partial)(update.first := Departure.partial)
    }
    update.second := bin
    update.both := !event.discard
    departures.io.update.valid := RegNext(event.valid) init False
    departures.io.update.payload := RegNextWhen(update, event.valid)
  }

  /** Counts in as many bits as [[CounterAccumulator]] needs: `amount` is added with `counts`, which comes `apart` or
    * more cycles after the last time.
    */
  case class Tally(counts: Bool, amount: UInt, apart: Int = 1) extends Area {
    val live = Reg(UInt(
      CounterAccumulator.width((BigInt(1) << widthOf(amount)) - 1, apart, Counters.tallies(c)) bits)) init 0
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
    val singles = if (c.jumbo) Seq(happened.evicted, happened.hurried).map(e => Tally(RegNext(e) init False, U(1))) else Nil
    val traceLost = if (c.trace) Some(Tally(RegNext(happened.traceLost) init False, U(1))) else None

    val active = ingress.valid || happened.arrival.valid || happened.departure.valid || rx.valid || tx.valid
  }

  val time = new ClockingArea(steady) {
    private val now = RegNext(io.now)
    private val before = RegNext(now)
    private val held = RegNext(RegNext(io.throttled) init False) init False
    /** ns since the cycle before, if the shaper held a backlog then; time may jump */
    private val passed = RegNextWhen(now - before, held)
    private def counter(counts: Bool, amount: UInt): UInt = {
      val live = Reg(UInt(64 bits)) init 0
      when(counts) { live := live + amount }
      when(moment.clear) { live := 0 }
      live
    }
    val throttled = counter(RegNext(held) init False, passed)
    val uptime = counter(Delay(True, 2, init = False), U(1))
    /** as they were in the cycle of the pulse: the counters hold its events three cycles later */
    val packets = Delay(io.spaced.resize(32) @@ io.queued.resize(32), 3)
  }

  /** The core's counters in 64 bits, and their copy. */
  val totals = new Area {
    /** rows: the core block from 0x200 on, 8 bytes each, and what is not there; behind it those of time */
    private val block: Seq[Option[Tally]] =
      Seq(core.rx, core.tx, core.bad, core.runt, core.oversize, core.overflow).flatMap(pair => Seq(Some(pair.packets), Some(pair.octets))) ++
        Seq(core.traceLost, None) ++ core.jumbo.flatMap(pair => Seq(Some(pair.packets), Some(pair.octets))) ++
        core.singles.flatMap(e => Seq(Some(e), None))
    require(block.flatten.size == Counters.tallies(c))
    val lines = block.size / 2
    val throttledRow = block.size
    val uptimeRow = block.size + 1
    /** rows that read 0 */
    val empty = block.indices.filter(block(_).isEmpty)
    /** there is a place where nothing else is */
    val heldRow = empty.head

    val unit = CounterAccumulator(block.map(_.map(t => widthOf(t.live))), steady = Seq(throttledRow, uptimeRow, heldRow), inLuts = c.lutTotals)
    for ((port, tally) <- unit.io.tallies.zip(block.flatten)) port := tally.live
    unit.io.whole := Vec(time.throttled, time.uptime, time.packets)
    unit.io.capture := moment.copied
    unit.io.imminent := moment.takes || moment.take || moment.copied
    unit.io.clear := moment.clear
    moment.unloading := unit.io.copying
  }

  object State extends SpinalEnum {
    val idle, decode, fetch, found, answer = newElement()
  }

  /** One access at a time: idle, decode, fetch (as soon as there is no snapshot under way), found, answer. */
  val access = new Area {
    val state = RegInit(State.idle)
    private val starts = state === State.idle && io.bus.valid
    val address = RegNextWhen(io.bus.address, starts)
    val write = RegNextWhen(io.bus.write, starts)

    val decode = new Area {
      /** the bits of the address that select a word in a block, and its line of 16 bytes */
      val word = address(7 downto 0)
      val line = word(7 downto 2)
      val block = address(13 downto 8)
      val inCore = block === 0 && !write
      val inQueue = block >= 4 && block < 4 + c.queues && !write
      val before = line === 0x1f
      val exit = line >= 0x29 && line <= 0x2f

      val isThrottled = word === 0x10c / 4 || word === 0x110 / 4
      val isUptime = word(7 downto 1) === 0x118 / 8
      val isHeld = word(7 downto 1) === 0x120 / 8
      val isRow = line >= 0x20 && line < 0x20 + totals.lines

      private def decoded[T <: Data](value: T): T = RegNextWhen(value, state === State.decode)
      val core = decoded(inCore && (isThrottled || isUptime || isHeld || isRow))
      private val rowNext = UInt(log2Up(totals.uptimeRow + 1) bits)
      rowNext := word(5 downto 1).resized
      when(isThrottled) { rowNext := totals.throttledRow }
      when(isUptime) { rowNext := totals.uptimeRow }
      when(isHeld) { rowNext := totals.heldRow }
      val row = decoded(rowNext)
      val empty = decoded(inCore && isRow && totals.empty.map(rowNext === _).orR)
      val arrival = decoded(inQueue && (before || line >= 0x20 && line < 0x29))
      val departure = decoded(inQueue && (exit || line >= 0x30))
      val arrivalKind = decoded(before ? U(Arrival.nodrop, 4 bits) | line.resize(4))
      val departureKind = decoded(exit ? (line.resize(6) - 0x29 + Departure.out) | word(5 downto 1).resize(6))
      val queue = decoded((block - 4).resize(c.queueWidth))
      /** the second 64 bits of a pair; a bin of the histogram is 8 bytes and has none */
      val bytes = decoded(line < 0x30 && word(1))
      /** the high word; 0x10C is the one counter that does not start on a multiple of 8 */
      val high = decoded(word(0) ^ isThrottled)
    }

    val fetching = state === State.fetch && !io.snapshotBusy
    arrivals.io.read.valid := fetching && decode.arrival
    arrivals.io.read.payload := CounterBank.index(c, decode.arrivalKind, decode.queue)
    departures.io.read.valid := fetching && decode.departure
    departures.io.read.payload := CounterBank.index(c, decode.departureKind, decode.queue)

    totals.unit.io.read.valid := fetching && decode.core
    totals.unit.io.read.payload := decode.row @@ decode.high

    private def wordOf(pair: Bits) = pair.subdivideIn(32 bits).read(decode.bytes ## decode.high asUInt)
    private val ofQueue = decode.arrival ? wordOf(arrivals.io.value.payload) | wordOf(departures.io.value.payload)
    val value = RegNextWhen(decode.core ? totals.unit.io.value.payload | ofQueue, state === State.found)
    val known = decode.core || decode.arrival || decode.departure

    switch(state) {
      is(State.idle) {
        when(io.bus.valid) { state := State.decode }
      }
      is(State.decode) { state := State.fetch }
      is(State.fetch) {
        when(arrivals.io.read.fire || departures.io.read.fire || totals.unit.io.read.fire) {
          state := State.found
        } elsewhen (fetching && !known) {
          state := State.answer
        }
      }
      is(State.found) {
        when(arrivals.io.value.valid || departures.io.value.valid || totals.unit.io.value.valid) { state := State.answer }
      }
      is(State.answer) { state := State.idle }
    }

    io.bus.ready := state === State.answer
    io.bus.rdata := (known && !decode.empty && moment.exists) ? value | B(0, 32 bits)
    io.bus.error := !known
  }

  io.busy := io.snapshotBusy || totals.unit.io.busy || core.active || arrivals.io.active || departures.io.active ||
    happened.traceLost || access.state =/= State.idle
}

object Counters {
  /** tallies of the core: the counters of pairs, of single events, and of the trace */
  def tallies(c: WeirConfig): Int = 12 + (if (c.trace) 1 else 0) + (if (c.jumbo) 14 else 0)
}
