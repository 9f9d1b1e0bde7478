package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.aqm.{Action, Cause, Ecn}

/** All 64-bit counters of the core, copied together by `snapshot`, read by the host from the copy.
  *
  * Queue counters live in two [[CounterBank]]s, one for arrivals, one for departures. Ingress events can
  * come in every cycle (runts of one beat), so the core's counters are flip-flops with an adder each.
  *
  * Snapshot: a pulse while `snapshotBusy` is low copies the state after that very cycle: its events are included,
  * later ones are not. A pulse while it is high is kept, and the snapshot is taken when it falls. Reads
  * wait for `snapshotBusy` to fall. Without a snapshot since the last clear they answer 0.
  *
  * Latency: an event is added 3 (core) to about 8 cycles (queue) after it came; a read takes 4 to 8 cycles, more
  * under load. Limits: arrivals and departures four or more cycles apart each, ingress events every cycle: nothing
  * is lost (see [[CounterBank]]). Counters wrap at 2^64.
  * Reset and `clear`: everything is 0, the events of that cycle included; events may come in the next one.
  */
case class Counters(c: WeirConfig) extends Component {
  val io = new Bundle {
    val arrival = slave(Flow(ArrivalEvent(c)))
    val departure = slave(Flow(DepartureEvent(c)))
    val ingress = slave(Flow(IngressEvent(c)))
    /** pulse: a trace record did not fit in the FIFO */
    val traceLost = in(Bool())
    /** the shaper holds a backlog */
    val throttled = in(Bool())
    val now = in(c.time)
    val snapshot = in(Bool())
    val snapshotBusy = out(Bool())
    val clear = in(Bool())
    /** something is still to be counted or copied */
    val busy = out(Bool())
    /** reads of counters, at the addresses of the register map (in words) */
    val bus = slave(CsrBus(14))
  }

  /** Order of the counters in a queue's block at 0x200. */
  private object Arrival {
    val in = 0
    val early = 4
    val forced = 5
    val overflow = 6
    val marked = 7
    val alreadyCe = 8
    val kinds = 9
  }
  /** Bins of the sojourn histogram, then: */
  private object Departure {
    val out = 32
    val linkDown = 33
    val front = 34
    val refused = 35
    val marked = 36
    val kinds = 37
  }

  /** Inputs, registered: what happened in the cycle before. */
  val happened = new Area {
    val arrival = io.arrival.stage()
    val departure = io.departure.stage()
    val ingress = io.ingress.stage()
    val traceLost = RegNext(io.traceLost) init False
    val throttled = RegNext(io.throttled) init False
    val now = RegNext(io.now)
    val cycle = RegNext(True) init False
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
    take := waiting && !settling
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
    val alreadyCe = event.action === Action.accept && event.ecn === Ecn.ce &&
      (event.cause === Cause.early || event.cause === Cause.forced)
    val update = CounterUpdate(c, Arrival.kinds)
    update.queue := event.queue
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
    when(event.action === Action.accept) { update.second := Arrival.alreadyCe }
    update.both := dropped || marked || alreadyCe
    arrivals.io.update.valid := RegNext(event.valid) init False
    arrivals.io.update.payload := RegNext(update)
  }

  val departureUpdate = new Area {
    val event = happened.departure
    val update = CounterUpdate(c, Departure.kinds)
    /** max(0, floor(log2 sojourn)), up to 31 */
    val bin = (0 until 32).foldLeft(U(0, 6 bits)) { (lower, bit) =>
      (if (bit == 31) event.sojournNs(47 downto 31).orR else event.sojournNs(bit)) ? U(bit, 6 bits) | lower
    }
    update.queue := event.queue
    update.length := event.length
    update.first := event.marked ? U(Departure.marked, 6 bits) | U(Departure.out, 6 bits)
    when(event.discard) {
      update.first := Departure.refused
      when(event.cause === Cause.linkDown)(update.first := Departure.linkDown)
      when(event.cause === Cause.front)(update.first := Departure.front)
    }
    update.second := bin
    update.both := !event.discard
    departures.io.update.valid := RegNext(event.valid) init False
    departures.io.update.payload := RegNext(update)
  }

  /** A 64-bit counter in flip-flops. */
  case class Tally(amount: UInt) extends Area {
    val live = Reg(UInt(64 bits)) init 0
    live := live + amount
    when(moment.clear) { live := 0 }
  }

  val core = new Area {
    val ingress = happened.ingress
    val ingressBytes = RegNext(ingress.bytes)
    val departureBytes = RegNext(happened.departure.length)
    private def pair(condition: Bool, bytes: UInt) = new Area {
      val valid = RegNext(condition) init False
      val packets = Tally(valid.asUInt)
      val octets = Tally(valid ? bytes | bytes.getZero)
    }
    private def ended(end: Int) = pair(ingress.valid && ingress.end === end, ingressBytes)

    val rx = pair(ingress.valid, ingressBytes)
    val tx = pair(happened.departure.valid && !happened.departure.discard, departureBytes)
    val bad = ended(FrameEnd.bad)
    val runt = ended(FrameEnd.runt)
    val oversize = ended(FrameEnd.oversize)
    val overflow = ended(FrameEnd.overflow)
    val traceLost = Tally((RegNext(happened.traceLost) init False).asUInt)

    /** ns since the cycle before, if the shaper held a backlog then; time may jump */
    val before = RegNext(happened.now)
    val held = RegNext(happened.throttled) init False
    val passed = RegNext(held ? (happened.now - before) | happened.now.getZero) init 0
    val throttled = Tally(passed)
    val uptime = Tally((RegNext(happened.cycle) init False).asUInt)

    val active = ingress.valid || happened.arrival.valid || happened.departure.valid || rx.valid || tx.valid
  }

  /** The copy of the core's counters: taken at once, then shifted into a RAM, one a cycle, while the banks sweep. */
  val unload = new Area {
    /** rows of the RAM; the first 14 are the core block from 0x200 on, 8 bytes each */
    val throttledRow = 14
    val uptimeRow = 15
    val rows: Seq[UInt] =
      Seq(core.rx, core.tx, core.bad, core.runt, core.oversize, core.overflow)
        .flatMap(pair => Seq(pair.packets.live, pair.octets.live)) ++
        Seq(core.traceLost.live, U(0, 64 bits), core.throttled.live, core.uptime.live)

    val ram = Mem(UInt(64 bits), 16)
    val chain = Vec(Reg(UInt(64 bits)) init 0, 16)
    val row = Reg(UInt(4 bits)) init 0
    val running = RegInit(False)

    moment.unloading := running
    for (i <- 0 until 16) chain(i) := moment.copied ? rows(i) | (if (i < 15) chain(i + 1) else U(0, 64 bits))
    ram.write(row, chain(0), running)
    row := row + 1
    when(row === 15) { running := False }
    when(moment.copied) {
      running := True
      row := 0
    }
  }

  object State extends SpinalEnum {
    val idle, decode, fetch, bank, answer = newElement()
  }

  /** One access at a time: idle, decode, fetch (as soon as there is no snapshot under way), bank (queue counters
    * only), answer.
    */
  val access = new Area {
    val state = RegInit(State.idle)
    val address = RegNextWhen(io.bus.address, state === State.idle)
    val write = RegNextWhen(io.bus.write, state === State.idle)

    val decode = new Area {
      /** the bits of the address that select a word in a block, and its line of 16 bytes */
      val word = address(7 downto 0)
      val line = word(7 downto 2)
      val block = address(13 downto 8)
      val inCore = block === 0 && !write
      val inQueue = block >= 4 && block < 4 + c.queues && !write
      val exit = line >= 0x29 && line <= 0x2d

      val isThrottled = word === 0x10c / 4 || word === 0x110 / 4
      val isUptime = word(7 downto 1) === 0x118 / 8
      val isRow = line >= 0x20 && line <= 0x26

      val core = RegNext(inCore && (isThrottled || isUptime || isRow))
      val row = RegNext(word(4 downto 1))
      when(isThrottled) { row := unload.throttledRow }
      when(isUptime) { row := unload.uptimeRow }
      val arrival = RegNext(inQueue && line >= 0x20 && line < 0x20 + Arrival.kinds)
      val departure = RegNext(inQueue && (exit || line >= 0x30))
      val arrivalKind = RegNext(line.resize(4))
      val departureKind = RegNext(
        exit ? (line.resize(6) - 0x29 + Departure.out) | word(5 downto 1).resize(6))
      val queue = RegNext((block - 4).resize(c.queueWidth))
      /** the second 64 bits of a pair; a bin of the histogram is 8 bytes and has none */
      val bytes = RegNext(line < 0x30 && word(1))
      /** the high word; 0x10C is the one counter that does not start on a multiple of 8 */
      val high = RegNext(word(0) ^ isThrottled)
    }

    val fetching = state === State.fetch && !io.snapshotBusy
    arrivals.io.read.valid := fetching && decode.arrival
    arrivals.io.read.payload := decode.arrivalKind @@ decode.queue
    departures.io.read.valid := fetching && decode.departure
    departures.io.read.payload := decode.departureKind @@ decode.queue

    val pair = decode.arrival ? arrivals.io.value.payload | departures.io.value.payload
    val ofPair = decode.bytes ? pair(127 downto 64) | pair(63 downto 0)
    val ofCore = unload.ram.readAsync(decode.row).asBits
    val value = RegNext(decode.core ? ofCore | ofPair)
    val known = decode.core || decode.arrival || decode.departure

    switch(state) {
      is(State.idle) {
        when(io.bus.valid) { state := State.decode }
      }
      is(State.decode) { state := State.fetch }
      is(State.fetch) {
        when(arrivals.io.read.fire || departures.io.read.fire) {
          state := State.bank
        } elsewhen (fetching && !decode.arrival && !decode.departure) {
          state := State.answer
        }
      }
      is(State.bank) {
        when(arrivals.io.value.valid || departures.io.value.valid) { state := State.answer }
      }
      is(State.answer) { state := State.idle }
    }

    io.bus.ready := state === State.answer
    io.bus.rdata := (known && moment.exists) ? (decode.high ? value(63 downto 32) | value(31 downto 0)) | B(0, 32 bits)
    io.bus.error := !known
  }

  io.busy := io.snapshotBusy || core.active || arrivals.io.active || departures.io.active ||
    happened.traceLost || access.state =/= State.idle
}
