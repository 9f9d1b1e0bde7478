package weir.policy.fn
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.PerQueue
import weir.control.registers.{ConfigWrite, LiveWords}

/** A part of a measurement: bytes or time of a window, or, the last one, the time since the measurement before. */
case class FnMeasurement(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** [[FnMeasurement]] */
  val part = UInt(2 bits)
  val value = FnFloat()
}

object FnMeasurement {
  val bytes = 0
  val time = 1
  val elapsed = 2
}

/** The acceleration of a queue's arrivals, off the path of decisions (docs/modules/fn.md, Acceleration):
  * `lead = (ΔB/Δt − the rate before)/elapsed · T²/2`, one measurement after another, at most 60 cycles each.
  *
  * A queue is measured at most every 128 packets, that is every 512 cycles, so that all of 8 queues are served in
  * time for the 128th packet after. Divisions are bit-serial. After `restart` a queue has no rate and no result.
  */
case class FnAcceleration(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val restart = in(Bits(c.queues bits))
    /** pulse: `config` changes T²/2 */
    val retimed = out(Bits(c.queues bits))
    /** a measurement is waiting or being worked on */
    val busy = out(Bool())
    val measured = slave(Flow(FnMeasurement(c)))
    /** whose `lead` is read, combinationally; 0 while there is none */
    val queue = in(c.queueId)
    val lead = out(FnSigned())
  }
  noIoPrefix()

  private val live = new LiveWords(c, Seq(Fn.halfT2), io.config)
  private val changed = io.config.word === Fn.halfT2.word && Seq("MANTISSA", "EXPONENT").map { name =>
    val f = Fn.halfT2.field(name)
    io.config.data(f.high downto f.low) =/= live.field("FN_HALF_T2", name, io.config.queue)
  }.orR
  io.retimed := PerQueue.select(c.queues, io.config.valid && changed, io.config.queue)
  private val jobs = Mem(FnFloat(), 4 << c.queueWidth)
  private val rates = Mem(Bits(28 bits), c.queues max 2)
  private val leads = Mem(FnSigned(), c.queues max 2)
  val waiting, rated, led = Reg(Bits(c.queues bits)) init 0
  jobs.write(io.measured.queue @@ io.measured.part, io.measured.value, io.measured.valid)

  io.lead := leads.readAsync(io.queue.resized)
  when(!PerQueue.bit(led, io.queue))(io.lead.mantissa := 0)

  object Phase extends SpinalEnum {
    val idle, load, window, start, divide, change, align, shift, subtract, normalise, divideAgain, multiply, product, store = newElement()
  }
  val phase = RegInit(Phase.idle)
  val queue = Reg(c.queueId)
  /** Parts of the measurement are read one after the other: `part` is of the phase before. */
  val job = new Area {
    val address = UInt(2 bits)
    address := FnMeasurement.elapsed
    val part = RegNext(jobs.readAsync(queue @@ address))
    val bytes = Reg(FnFloat())
    val timeless = Reg(Bool())
  }
  val cancelled = Reg(Bool())
  private val chosen = OHMasking.first(waiting)
  io.busy := waiting.orR || phase =/= Phase.idle

  /** rest·2^18/divisor, a bit a cycle */
  val division = new Area {
    val rest = Reg(UInt(19 bits))
    val divisor = Reg(UInt(18 bits))
    val quotient = Reg(UInt(19 bits))
    val exponent = Reg(SInt(10 bits))
    val left = Reg(UInt(5 bits))
    val reduced = rest -^ divisor.resize(19)
    val fits = !reduced.msb
    def start(a: UInt, b: UInt, e: SInt): Unit = {
      rest := a.resize(19)
      divisor := b
      exponent := e
      left := 18
    }
    def advance(): Unit = {
      quotient := quotient(17 downto 0) @@ fits
      rest := ((fits ? reduced(17 downto 0) | rest(17 downto 0)) @@ False)
      left := left - 1
    }
    /** quotient and exponent as a float */
    val large = quotient.msb
    val mantissa = large ? quotient(18 downto 1) | quotient(17 downto 0)
    val value = FnSigned()
    value.negative := False
    value.mantissa := mantissa
    value.exponent := exponent - (large ? S(17, 10 bits) | S(18, 10 bits))
  }

  val rate = Reg(FnSigned())
  val previous = rates.readAsync(queue.resized)
  val known = RegNext(PerQueue.bit(rated, queue))
  /** new and old rate, the one with the smaller exponent shifted */
  val aligned = new Area {
    val a, b = Reg(UInt(26 bits))
    val top = Reg(SInt(10 bits))
    val old = FnSigned()
    old.negative := False
    old.mantissa := previous(17 downto 0).asUInt
    old.exponent := previous(27 downto 18).asSInt
    val oldReg = RegNext(old)
    val ahead = Reg(SInt(10 bits))
    /** places that the one with the smaller exponent is still to be shifted */
    val left = Reg(UInt(5 bits))
    private val distance = ahead.abs
    val amount = UInt(5 bits)
    amount := distance(4 downto 0)
    when(distance(9 downto 5) =/= 0)(amount := 28)
    // of what has no rate before it nothing is kept
    when(!known)(amount := 0)
    def advance(): Unit = {
      val far = left(4 downto 2) =/= 0
      for ((value, on) <- Seq(a -> ahead.msb, b -> !ahead.msb)) {
        when(on && left =/= 0)(value := far ? (value |>> 4) | (value |>> 1))
      }
      left := left - (far ? U(4, 5 bits) | U(1, 5 bits))
    }
  }
  val size = Reg(UInt(26 bits))
  val exponent = Reg(SInt(10 bits))
  val negative = Reg(Bool())
  val factor = RegNext(live.scaled("FN_HALF_T2", queue))
  val exact = Reg(UInt(36 bits))
  val result = Reg(FnSigned())

  /** the lead of this job, in `store` */
  val outcome = new Area {
    val lead = FnSigned()
    lead.negative := negative
    lead.mantissa := exact.msb ? exact(35 downto 18) | exact(34 downto 17)
    lead.exponent := exponent + exact.msb.asUInt.resize(10).asSInt
    when(!known || job.timeless || job.part.isZero || size === 0)(lead.mantissa := 0)
    val kept = phase === Phase.store && !cancelled
    leads.write(queue.resized, lead, kept)
    rates.write(queue.resized, rate.exponent ## rate.mantissa, kept)
  }

  switch(phase) {
    is(Phase.idle) {
      queue := OHToUInt(chosen).resized
      cancelled := False
      when(waiting.orR)(phase := Phase.load)
    }
    is(Phase.load) {
      job.address := FnMeasurement.bytes
      PerQueue.bit(waiting, queue) := False
      when(!PerQueue.bit(waiting, queue))(cancelled := True)
      phase := Phase.window
    }
    is(Phase.window) {
      job.address := FnMeasurement.time
      job.bytes := job.part
      phase := Phase.start
    }
    is(Phase.start) {
      job.timeless := job.part.isZero
      division.start(job.bytes.mantissa, job.part.mantissa,
        job.part.shift.resize(10).asSInt - job.bytes.shift.resize(10).asSInt)
      phase := Phase.divide
    }
    is(Phase.divide) {
      division.advance()
      when(division.left === 0)(phase := Phase.change)
    }
    is(Phase.change) {
      rate := division.value
      aligned.ahead := division.value.exponent - aligned.oldReg.exponent
      phase := Phase.align
    }
    is(Phase.align) {
      aligned.a := rate.mantissa << 8
      aligned.b := aligned.oldReg.mantissa << 8
      aligned.left := aligned.amount
      aligned.top := aligned.ahead.msb ? aligned.oldReg.exponent | rate.exponent
      phase := Phase.shift
    }
    is(Phase.shift) {
      aligned.advance()
      when(aligned.left === 0)(phase := Phase.subtract)
    }
    is(Phase.subtract) {
      val difference = aligned.a -^ aligned.b
      negative := difference.msb
      size := difference.msb ? (aligned.b - aligned.a) | difference(25 downto 0)
      exponent := aligned.top
      phase := Phase.normalise
    }
    is(Phase.normalise) {
      // the last of these loads counts
      division.start(size(25 downto 8), job.part.mantissa, exponent + job.part.shift.resize(10).asSInt - 26)
      when(size.msb || size === 0) {
        phase := Phase.divideAgain
      } elsewhen (size(25 downto 22) === 0) {
        size := size |<< 4
        exponent := exponent - 4
      } otherwise {
        size := size |<< 1
        exponent := exponent - 1
      }
    }
    is(Phase.divideAgain) {
      division.advance()
      when(division.left === 0)(phase := Phase.multiply)
    }
    is(Phase.multiply) {
      result := division.value
      phase := Phase.product
    }
    is(Phase.product) {
      exact := result.mantissa * factor.mantissa
      exponent := result.exponent + (factor.exponent.resize(10).asSInt + 17)
      phase := Phase.store
    }
    is(Phase.store) {
      when(outcome.kept) {
        PerQueue.bit(led, queue) := True
        PerQueue.bit(rated, queue) := !job.timeless
      }
      phase := Phase.idle
    }
  }

  for (q <- 0 until c.queues) {
    when(io.measured.valid && io.measured.part === FnMeasurement.elapsed && io.measured.queue === q)(waiting(q) := True)
    when(io.restart(q)) {
      waiting(q) := False
      rated(q) := False
      led(q) := False
      when(queue === q)(cancelled := True)
    }
  }
}
