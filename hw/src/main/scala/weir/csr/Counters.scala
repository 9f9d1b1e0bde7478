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
  * Latency: an event is added 3 (core) to about 8 cycles (queue) after it came; a read takes 6 or 7 cycles, more
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
    val kinds = 34
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
    val copied = RegNext(take) init False
    /** there is a snapshot */
    val exists = RegInit(False)

    val settling = take || happened.clear || clear || arrivals.io.busy || departures.io.busy
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
    update.first := event.linkDown ? U(Departure.linkDown, 6 bits) | U(Departure.out, 6 bits)
    update.second := bin
    update.both := !event.linkDown
    departures.io.update.valid := RegNext(event.valid) init False
    departures.io.update.payload := RegNext(update)
  }

  /** A 64-bit counter in flip-flops and its copy. */
  case class Tally(amount: UInt) extends Area {
    val live = Reg(UInt(64 bits)) init 0
    val copy = Reg(UInt(64 bits)) init 0
    live := live + amount
    when(moment.clear) { live := 0 }
    when(moment.copied) { copy := live }
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
    val tx = pair(happened.departure.valid && !happened.departure.linkDown, departureBytes)
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

  /** Values of the core block by word address. */
  private val coreWords: Seq[(Int, Bits)] = {
    def words(address: Int, value: UInt) =
      Seq(address / 4 -> value(31 downto 0).asBits, address / 4 + 1 -> value(63 downto 32).asBits)
    val pairs = Seq(core.rx, core.tx, core.bad, core.runt, core.oversize, core.overflow).zipWithIndex
    words(0x10c, core.throttled.copy) ++ words(0x118, core.uptime.copy) ++
      pairs.flatMap { case (p, i) => words(0x200 + 16 * i, p.packets.copy) ++ words(0x208 + 16 * i, p.octets.copy) } ++
      words(0x260, core.traceLost.copy) ++ words(0x268, U(0, 64 bits))
  }

  object State extends SpinalEnum {
    val idle, decode, bank, answer = newElement()
  }

  /** One access at a time: idle, decode (until there is no snapshot under way), bank (queue counters only), answer. */
  val access = new Area {
    val state = RegInit(State.idle)
    val address = RegNextWhen(io.bus.address, state === State.idle)
    val write = RegNextWhen(io.bus.write, state === State.idle)
    val data = Reg(Bits(32 bits)) init 0
    val error = RegInit(False)

    /** the bits of the address that select a word in a queue's block, and its 16-byte line */
    val word = address(7 downto 0)
    val line = word(7 downto 2)
    val block = address(13 downto 8)
    val queue = (block - 4).resize(c.queueWidth)
    val inQueue = block >= 4 && block < 4 + c.queues && !write
    val arrivalHit = inQueue && line >= 0x20 && line < 0x20 + Arrival.kinds
    val exitHit = inQueue && (line === 0x29 || line === 0x2a)
    val sojournHit = inQueue && line >= 0x30
    val departureHit = exitHit || sojournHit
    val arrivalKind = line.resize(4)
    val departureKind = exitHit ? (line(0) ? U(Departure.out, 6 bits) | U(Departure.linkDown, 6 bits)) | word(5 downto 1).resize(6)
    val asked = state === State.decode && !io.snapshotBusy

    arrivals.io.read.valid := asked && arrivalHit
    arrivals.io.read.payload := arrivalKind @@ queue
    departures.io.read.valid := asked && departureHit
    departures.io.read.payload := departureKind @@ queue

    val pair = arrivals.io.value.valid ? arrivals.io.value.payload | departures.io.value.payload
    /** the upper half of the pair is bytes; bins of the histogram are 8 bytes apart and have none */
    val side = (!sojournHit && word(1)) ? pair(127 downto 64) | pair(63 downto 0)
    val ofPair = word(0) ? side(63 downto 32) | side(31 downto 0)

    val inCore = address(13 downto 8) === 0 && !write && coreWords.map(word === _._1).reduce(_ || _)
    val ofCore = Bits(32 bits)
    ofCore := 0
    switch(word) { coreWords.foreach { case (at, value) => is(at) { ofCore := value } } }

    switch(state) {
      is(State.idle) {
        when(io.bus.valid) { state := State.decode }
      }
      is(State.decode) {
        error := !(inCore || arrivalHit || departureHit)
        data := (inCore && moment.exists) ? ofCore | B(0, 32 bits)
        when(!io.snapshotBusy) {
          when(arrivalHit || departureHit) {
            when(arrivals.io.read.fire || departures.io.read.fire) { state := State.bank }
          } otherwise {
            state := State.answer
          }
        }
      }
      is(State.bank) {
        data := moment.exists ? ofPair | B(0, 32 bits)
        when(arrivals.io.value.valid || departures.io.value.valid) { state := State.answer }
      }
      is(State.answer) { state := State.idle }
    }

    io.bus.ready := state === State.answer
    io.bus.rdata := data
    io.bus.error := error
  }

  io.busy := io.snapshotBusy || core.active || arrivals.io.active || departures.io.active || moment.copied ||
    happened.traceLost || access.state =/= State.idle
}
