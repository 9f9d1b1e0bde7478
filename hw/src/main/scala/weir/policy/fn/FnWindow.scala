package weir.policy.fn
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{IsSuccessor, PerQueue, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords}
import weir.policy.PolicyRequest

/** FN's windows: bytes and time of the last packets of each queue (docs/modules/fn.md, Window).
  *
  * An entry is a packet's length and the time since the packet before it. The queues share a pool of 4096 entries in
  * block RAM. The sums, this packet included, are there 4 to 6 cycles after its request, a request every 4 cycles.
  * At reset and after `restart` a queue's window is empty, and its next packet only starts the clock.
  */
case class FnWindow(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val request = slave(Flow(PolicyRequest(c)))
    /** the window of that queue starts anew; no request of it is in t0 to t4 */
    val restart = in(Bits(c.queues bits))
    /** pulse: `config` changes the window's size or place */
    val moved = out(Bits(c.queues bits))
    /** in t4, in t5 and in t6; 0 in other cycles */
    val bytes = out(UInt(26 bits))
    val time, elapsed = out(UInt(44 bits))
    /** t2 to t5 */
    val place = out(FnPlace())
  }
  noIoPrefix()

  private val live = new LiveWords(c, Seq(Fn.window), io.config)
  private val changed = io.config.word === Fn.window.word && Seq("SIZE", "BASE").map { name =>
    val f = Fn.window.field(name)
    io.config.data(f.high downto f.low) =/= live.field("FN_WINDOW", name, io.config.queue)
  }.orR
  io.moved := PerQueue.select(c.queues, io.config.valid && changed, io.config.queue)
  val stage = new ValidPipeline(io.request.valid, 5)

  case class State() extends Bundle {
    val last = c.time
    /** next entry to be written: in the queue's part, and in the pool */
    val position, address = UInt(12 bits)
    val fill = UInt(13 bits)
    /** packets since the last measurement of the rate */
    val since = UInt(12 bits)
  }
  private val states = Mem(State(), c.queues max 2)
  private val sums = Mem(Bits(26 + 44 + 44 bits), c.queues max 2)
  private val pool = Mem(Bits(46 bits), Fn.entries)
  val started = Reg(Bits(c.queues bits)) init 0

  val t1 = new Area {
    private val size = live.field("FN_WINDOW", "SIZE", io.request.queue).asUInt
    private val used = UInt(13 bits)
    used := size
    when(size === 0)(used := 1)
    when(size.msb)(used := Fn.entries)
    val queue = RegNextWhen(io.request.queue, stage(0))
    val length = RegNextWhen(io.request.length, stage(0))
    val now = RegNextWhen(io.request.nowNs, stage(0))
    val entries = RegNextWhen(used, stage(0))
    val period = RegNextWhen((used(12 downto 7) === 0) ? U(Fn.period, 13 bits) | used, stage(0))
    val base = RegNextWhen(live.field("FN_WINDOW", "BASE", io.request.queue).asUInt, stage(0))
    val state = RegNextWhen(states.readAsync(io.request.queue.resized), stage(0))
    val first = RegNextWhen(!PerQueue.bit(started, io.request.queue), stage(0))

    val full = state.fill === entries
    val wraps = IsSuccessor(state.position.resize(13), entries)
    val ends = IsSuccessor(state.since.resize(13), period)
    val next = State()
    next.last := now
    next.position := (first || wraps) ? U(0, 12 bits) | state.position + 1
    next.address := (first || wraps) ? base | state.address + 1
    next.fill := first ? U(0, 13 bits) | (full ? state.fill | state.fill + 1)
    next.since := (first || ends) ? U(0, 12 bits) | state.since + 1
    val old = pool.readSync(state.address, stage(1))
  }

  val t2 = new Area {
    val gap = RegNextWhen(t1.now - t1.state.last, stage(1))
    val next = RegNextWhen(t1.next, stage(1))
    val full = RegNextWhen(t1.full && !t1.first, stage(1))
    val empty = RegNextWhen(t1.first || t1.state.fill === 0, stage(1))
    val fresh = RegNextWhen(t1.first || t1.state.since === 0, stage(1))
    val place = Reg(FnPlace())
    when(stage(1)) {
      place.entered := !t1.first
      place.measures := t1.ends && !t1.first
      place.takes := t1.state.since === Fn.period - 1 && !t1.first
      place.fill := t1.next.fill
    }
    states.write(t1.queue.resized, next, stage(2))
    for (q <- 0 until c.queues) {
      when(stage(2) && t1.queue === q)(started(q) := True)
      when(io.restart(q))(started(q) := False)
    }
    val saturated = (gap(47 downto 32) =/= 0) ? U(0xffffffffL, 32 bits) | gap(31 downto 0)
    val sum = sums.readAsync(t1.queue.resized)
  }
  io.place := t2.place

  val t3 = new Area {
    def masked(value: Bits, keep: Bool): UInt = Mux(keep, value.asUInt, U(0, value.getWidth bits))
    val gap = RegNextWhen(masked(t2.saturated.asBits, t2.place.entered), stage(2))
    val length = RegNextWhen(masked(t1.length.asBits, t2.place.entered), stage(2))
    val old = RegNextWhen(t1.old, stage(2))
    val leaves = RegNextWhen(t2.full, stage(2))
    val bytes = RegNextWhen(masked(t2.sum(25 downto 0), !t2.empty), stage(2))
    val time = RegNextWhen(masked(t2.sum(69 downto 26), !t2.empty), stage(2))
    val elapsed = RegNextWhen(masked(t2.sum(113 downto 70), !t2.fresh), stage(2))
    pool.write(t1.state.address, gap ## length, stage(3) && t2.place.entered)
    val oldLength = masked(old(13 downto 0), leaves)
    val oldGap = masked(old(45 downto 14), leaves)

    /** a + b − c */
    private def balance(a: UInt, b: UInt, c: UInt): UInt = {
      val width = a.getWidth
      val (x, y, z) = (a, b.resize(width), ~c.resize(width))
      val carry = (x & y) | (x & z) | (y & z)
      (x ^ y ^ z) + (carry(width - 2 downto 0) @@ U(1, 1 bit))
    }
    val newBytes = balance(bytes, length, oldLength)
    val newTime = balance(time, gap, oldGap)
    val newElapsed = elapsed + gap
  }

  val t4 = new Area {
    val bytes = RegNext(t3.masked(t3.newBytes.asBits, stage(3)))
    val time = RegNextWhen(t3.newTime, stage(3))
    val elapsed = RegNextWhen(t3.newElapsed, stage(3))
    sums.write(t1.queue.resized, elapsed ## time ## bytes, stage(4))
  }
  io.bytes := t4.bytes
  io.time := RegNext(t3.masked(t4.time.asBits, stage(4)))
  io.elapsed := RegNext(t3.masked(t4.elapsed.asBits, stage(5)))
}

/** What a packet is to its window. */
case class FnPlace() extends Bundle {
  /** it is not the first one, which has no time since the packet before it */
  val entered = Bool()
  /** the rate is measured now */
  val measures = Bool()
  /** the acceleration of the last measurement takes effect */
  val takes = Bool()
  /** packets in the window */
  val fill = UInt(13 bits)
}
