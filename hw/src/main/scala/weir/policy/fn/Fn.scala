package weir.policy.fn
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{Fixed, Multiplier, Multiply, PerQueue, ShiftRight, ValidPipeline}
import weir.control.registers.{ConfigWrite, Field, LiveWords, Register, Value}
import weir.control.registers.Registers._
import weir.policy.{Parameter, Parameters, Plot, Policy, PolicyEngine, PolicyUnit}

/** Fast Congestion Notification (Kadhum and Hassan, APCC 2009). */
object Fn extends PolicyEngine("fn") {
  def build(c: WeirConfig): PolicyUnit = new FnUnit(c)

  /** entries of the pool that the queues' windows share */
  val entries = 4096
  /** packets from a measurement of the acceleration to its use, and the least number between measurements */
  val period = 128

  private def wide: Seq[Field] =
    Seq(bits("MANTISSA", 17, 0, ""), bits("EXPONENT", 29, 24, "value = MANTISSA * 2^(EXPONENT - 32)"))

  val aim: Register = shadow("FN_QOPT", 0x07C, 25, Value(0), "Qopt in bytes, UQ21.4; only read back: FN_ROOM has it")
  val control: Register = shadow("FN_CTRL", 0x080, 32, Value(0), "variant of FN",
    flag("QUADRATIC", 0, "the rate goes on changing as it did"),
    flag("UNIFORM", 1, "marks are spread by the count of packets since the last one"),
    flag("BYTE_MODE", 2, "the probability is proportional to the packet's length"), flag("ECN", 3, "mark ECT packets"))
  val window: Register = shadow("FN_WINDOW", 0x084, 32, Value(0), "the window; a change empties it",
    bits("SIZE", 12, 0, "packets, 1 to 4096; 0 is taken as 1, more as 4096"),
    bits("BASE", 27, 16, "first entry of the queue's part of the pool; parts must not overlap"))
  val time: Register = shadow("FN_T", 0x088, 32, Value(0), "time constant T, ns", wide: _*)
  val roomLow: Register = shadow("FN_ROOM_LO", 0x08C, 32, Value(0), "link rate * T + Qopt in bytes, UQ36.4, low word")
  val roomHigh: Register = shadow("FN_ROOM_HI", 0x090, 8, Value(0), "link rate * T + Qopt in bytes, high bits")
  val mean: Register = shadow("FN_MEAN", 0x094, 32, Value(0), "2^20 / MaxPacketSize", scaled: _*)
  val halfT2: Register = shadow("FN_HALF_T2", 0x098, 32, Value(0), "T^2 / 2, ns^2; a change empties the window",
    bits("MANTISSA", 17, 0, ""), bits("EXPONENT", 29, 24, "value = MANTISSA * 2^EXPONENT"))

  object Policy extends Policy(4, "fn", 20) {
    import Parameters.{choice, count, held, length, rate, switch}

    val help = "fast congestion notification: by the rate of the last arrivals and the queue"
    val source = "FN (APCC 2009)"
    val acts = "arrival, arrival rate over a window"
    override val plot: Plot = Plot.Probability
    override val demo: Option[(String, String)] = Some((
      "limit 100KB window 256 t 500us ecn on",
      "Acts only when the queue that the measured rate leads to is above its optimum."))
    override val bench = "t 100us window 1024 ecn on"
    override val parameters: Seq[Parameter] = Seq(
      count("window", "packets", 1, entries, "1024", "FN Ws",
        s"arrivals over which the rate is taken; the queues' windows share $entries",
        s"the queues' windows share $entries"),
      Parameters.time("t", 1, "27ms", "FN T", "time constant, in which the queue is to reach qopt",
        "the paper has 1ms to 1.728s"),
      held("qopt", "limit_bytes/16", "FN Qopt", "queue that is aimed at", "it fits the buffer"),
      rate("capacity", "the link's rate", "FN mu", "rate at which the queue empties",
        "give the rate at which the queue empties"),
      length("mean", 16, "1514", "FN MaxPacketSize", "packet length that has the probability itself in byte mode",
        "give the longest usual frame"),
      switch("quadratic", "off", "FN; its form is ours", "count with the rate's change as well"),
      choice("spread", Seq("geometric", "uniform"), "uniform", "FN uniform mode", "how selected packets are spread"),
      switch("bytemode", "off", "FN byte mode; RFC 7141 advises off", "scale the probability by length/mean"),
      switch("ecn", "off", "FN", "mark ECT packets instead of dropping them"))
    val engine: Option[PolicyEngine] = Some(Fn)
    val registers: Seq[Register] = Seq(aim, control, window, time, roomLow, roomHigh, mean, halfT2)
    override val evidence: String =
      "`average` is R in bytes per 2^20 ns (R in bit/s is that times 8·10^9/2^20), `count` 0 " +
      "where P is 0, `p` P before κ and spreading, `idle_slots` the packets in the window"
  }
}

/** What is kept of an arrival while it is being decided. */
case class FnArrival(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val length = c.length
  val draw = UInt(c.drawWidth bits)
  val ecn = UInt(2 bits)
}

/** FN behind the policy ports (docs/modules/fn.md): `act iff u·D < Nn·g`, no divider.
  *
  * Latency: the verdict is valid 20 cycles after its request; the commit is due one cycle later. Throughput: a request
  * every 4 cycles, of any queue; what is needed longer than 4 cycles moves on through `held`.
  */
class FnUnit(c: WeirConfig) extends PolicyUnit(c) {
  private val told = ConfigWrite.later(io.config)
  private val live = new LiveWords(c, Seq(Fn.control, Fn.time, Fn.roomLow, Fn.roomHigh), told)

  val window = FnWindow(c)

  /** stage(n): a request is in tn */
  val stage = new ValidPipeline(io.request.valid, 13)

  val acceleration = FnAcceleration(c)
  io.busy := acceleration.io.busy

  /** pulse: the queue's window starts anew */
  val restart = RegNext(io.clear | window.io.moved | acceleration.io.retimed) init 0

  /** held(n): the request in t(4n+1) to t(4n+4) */
  val held = Vec.fill(3)(Reg(FnArrival(c)))
  when(stage(0)) {
    held(0).queue := io.request.queue
    held(0).length := io.request.length
    held(0).draw := io.request.draw
    held(0).ecn := io.request.ecn
  }
  for (n <- 1 to 2) when(stage(4 * n))(held(n) := held(n - 1))

  window.io.config << told
  window.io.request << io.request
  window.io.restart := restart
  /** of the request in t6 to t9, t10 to t13 */
  val place6 = RegNextWhen(window.io.place, stage(5))
  val place10 = RegNextWhen(place6, stage(9))

  acceleration.io.config << told
  acceleration.io.restart := restart

  /** K = μT + Qopt − q in 1/16 bytes */
  val room = new Area {
    val bytes = RegNextWhen(io.request.bytes, stage(0))
    val limit = RegNextWhen(live("FN_ROOM_HI", held(0).queue).asUInt @@ live("FN_ROOM_LO", held(0).queue).asUInt, stage(1))
    /** 0 but in t3 */
    val space = RegNext(Mux(stage(2), limit.resize(41).asSInt - (bytes << 4).resize(41).asSInt, S(0, 41 bits)))
    val none = RegNextWhen(space <= 0, stage(3))
    val none8 = RegNextWhen(none, stage(7))
    val none12 = RegNextWhen(none8, stage(11))
  }

  /** K, ΔB, Δt and the time since the last measurement one after another: t3 to t6, results t6 to t9 */
  val floats = new Area {
    /** each is 0 when it is not its turn */
    val value = (room.space.msb ? U(0, 44 bits) | room.space.asUInt.resize(44)) |
      window.io.bytes.resize(44) | window.io.time | window.io.elapsed
    private def loads(first: Int) = (first to first + 3).map(stage(_)).orR
    val normaliser = new FnNormaliser(value, U(0, 1 bit), Seq(loads(3), loads(4), loads(5)))
    val now = normaliser.result
    val room7 = RegNextWhen(now, stage(6))
    val bytes8 = RegNextWhen(now, stage(7))
    val time9 = RegNextWhen(now, stage(8))
  }
  acceleration.io.measured.valid := place6.measures && (stage(7) || stage(8) || stage(9))
  acceleration.io.measured.queue := Mux(stage(9), held(2).queue, held(1).queue)
  acceleration.io.measured.part := Mux(stage(7), U(FnMeasurement.bytes, 2 bits),
    Mux(stage(8), U(FnMeasurement.time, 2 bits), U(FnMeasurement.elapsed, 2 bits)))
  acceleration.io.measured.value := floats.now

  /** What acceleration adds in T: taken over from the last measurement now and then */
  val lead = new Area {
    private val used = Mem(FnSigned(), c.queues max 2)
    val known = Reg(Bits(c.queues bits)) init 0
    private val queue = held(1).queue
    acceleration.io.queue := queue
    val current = FnSigned()
    current := used.readAsync(queue.resized)
    when(!PerQueue.bit(known, queue))(current.mantissa := 0)
    when(place6.takes)(current := acceleration.io.lead)
    val taken = RegNextWhen(current, stage(7))
    val quadratic = RegNextWhen(live.flag("FN_CTRL", "QUADRATIC", queue), stage(7))
    val quadratic12 = RegNextWhen(quadratic, stage(11))
    used.write(held(1).queue.resized, taken, stage(8) && place6.takes)
    for (q <- 0 until c.queues) {
      when(stage(8) && place6.takes && held(1).queue === q)(known(q) := True)
      when(restart(q))(known(q) := False)
    }
    val mantissa = quadratic ? taken.mantissa | U(0, 18 bits)
  }

  /** of t9 and t10 */
  val multiplier = new Multiplier

  /** X = ΔB·T, Y = Δt·K, Z = Δt·H with their exponents; one multiplier for X and Y */
  val products = new Area {
    private val nothing = S(-256, 10 bits)
    private def signed(v: UInt): SInt = v.resize(10).asSInt
    val t = live.scaled("FN_T", held(1).queue)
    val a, b, h = Reg(UInt(18 bits))
    val exponentX, exponentY, exponentZ = Reg(SInt(10 bits))
    val negative = RegNextWhen(lead.taken.negative, stage(8))
    when(stage(7)) {
      a := floats.now.mantissa
      b := t.mantissa
      exponentX := signed(t.exponent) - signed(floats.now.shift) - 6
      when(floats.now.isZero || t.mantissa === 0)(exponentX := nothing)
    }
    when(stage(8)) {
      a := floats.now.mantissa
      b := floats.room7.mantissa
      h := lead.mantissa
      exponentY := S(48, 10 bits) - signed(floats.now.shift) - signed(floats.room7.shift)
      exponentZ := S(26, 10 bits) - signed(floats.now.shift) + lead.taken.exponent
      when(floats.now.isZero || floats.room7.isZero)(exponentY := nothing)
      when(floats.now.isZero || lead.mantissa === 0)(exponentZ := nothing)
    }
    private val first = Multiply(a, b)
    private val second = multiplier(a, h, stage(9))
    val x = RegNextWhen(first, stage(9))
    val y = RegNextWhen(first, stage(10))
    val z = RegNextWhen(second, stage(10))
    val negative10 = RegNextWhen(negative, stage(9))
    val negative12 = RegNextWhen(negative10, stage(11))
  }

  /** The three at the largest exponent, in t12; D = X + Z, Nn = D − Y */
  val balance = new Area {
    private val exponents = Seq(products.exponentX, products.exponentY, products.exponentZ)
    /** below(i)(j) = e_j − e_i, t10 */
    val below = exponents.map(i => exponents.map(j => RegNextWhen(j - i, stage(9))))
    /** how far the largest exponent is above e_i, 63 at most, t11 */
    val amounts = for (i <- 0 until 3) yield {
      val (j, k) = ((i + 1) % 3, (i + 2) % 3)
      val above = below(k)(j).msb ? below(i)(k) | below(i)(j)
      val amount = UInt(6 bits)
      amount := above(5 downto 0).asUInt
      when(above(9 downto 6) =/= 0)(amount := 63)
      when(above.msb)(amount := 0)
      RegNextWhen(amount, stage(10))
    }
    val x = new ShiftRight(products.x, amounts(0), stage(11)).result
    val y = new ShiftRight(products.y, amounts(1), stage(11)).result
    val z = new ShiftRight(products.z, amounts(2), stage(11)).result
    private val minus = products.negative12
    private val wideX = x.resize(39)
    private val wideY = ~y.resize(39)
    private val wideZ = minus ? ~z.resize(39) | z.resize(39)
    private val carry = (wideX & wideY) | (wideX & wideZ) | (wideY & wideZ)
    private val both = ((wideX @@ True) + (wideZ @@ minus)) >> 1
    private val (sums, carries) = (wideX ^ wideY ^ wideZ, carry(37 downto 0) @@ minus)
    private val all = ((sums @@ True) + (carries @@ True)) >> 1
    val denominator = RegNextWhen(both(36 downto 0), stage(12))
    val numerator = RegNextWhen(all, stage(12))
    /** Nn > 0: by the sign of Nn − 1, for the numerator is far from the count */
    val positive = RegNextWhen(!(sums + carries).msb, stage(12))
  }

  /** R in bytes per 2^20 ns, UQ21.22: for the record only */
  val rate = new Area {
    private val rom = FnReciprocal.rom()
    val reciprocal = FnReciprocal.read(rom, floats.now.mantissa, stage(8), stage(9))
    val exact = multiplier(floats.bytes8.mantissa, reciprocal, stage(10))
    val top = exact(35 downto 18)
    /** 50 − x */
    val down = RegNextWhen(U(25, 7 bits) + floats.bytes8.shift - floats.time9.shift, stage(10))
    val infinite = RegNextWhen(floats.time9.isZero && !floats.bytes8.isZero, stage(10))
    /** the shift by 50 − down in two steps */
    val fine = RegNextWhen((top @@ U(0, 7 bits)) >> down(2 downto 0), stage(11))
    val coarse = RegNextWhen(down(6 downto 3), stage(11))
    val infinite12 = RegNextWhen(infinite, stage(11))
    val shifted = (fine @@ Fixed.average.zero) >> (coarse @@ U(0, 3 bits))
    /** all ones if it does not fit: by an OR, for that comes late */
    private val most = infinite12 || (shifted >> Fixed.average.width) =/= 0
    /** from t13 on */
    val average = RegNextWhen(shifted.resize(Fixed.average.width) | Fixed.average.all(most), stage(12))
    val queue = RegNextWhen(held(2).queue, stage(12))
    val values = for (q <- 0 until c.queues) yield {
      val value = Reg(Fixed.average()) init 0
      when(stage(13) && queue === q)(value := average)
      when(io.clear(q))(value := 0)
      io.live(q) := value
    }
  }

  val decision = FnDecision(c)
  decision.io.config << told
  decision.io.arriving := stage(9)
  decision.io.arrival := held(2)
  decision.io.entered := place10.entered
  decision.io.fill := place10.fill
  decision.io.full := room.none12
  decision.io.quadratic := lead.quadratic12
  decision.io.numerator := balance.numerator
  decision.io.positive := balance.positive
  decision.io.denominator := balance.denominator
  decision.io.average := rate.average
  decision.io.commit << io.commit
  decision.io.clear := io.clear
  io.verdict << decision.io.verdict
}
