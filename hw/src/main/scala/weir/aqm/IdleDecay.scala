package weir.aqm

import spinal.core._
import spinal.lib._
import weir.{Loaded, Steps, WeirConfig, Whenever}
import weir.csr.{ConfigWrite, LiveWords}

/** Computes `A_idle ≈ (1−w)^(m+1)·2^36` while a frame is still coming in (docs/modules/ewma.md).
  *
  * Latency: a hint at c0 is held from c12 on, until the next request or `emptied` of its queue, or until it is
  * withdrawn. An apply of the queue has it computed again, with the new words. Throughput: one hint a cycle. `factor` is
  * combinational from `arrival.queue`. Idle times are modulo 2^48 ns.
  */
case class IdleDecay(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val hint = slave(Flow(c.queueId))
    /** pulse: the frame of the last hint before this cycle does not come */
    val withdraw = in Bool ()
    /** pulse: no hint before this cycle counts any more */
    val forget = in Bool ()
    /** pulses, a bit a queue: it has become empty; its words have been replaced */
    val emptied, applied = in(Bits(c.queues bits))
    /** the time of all these */
    val nowNs = in(c.time)
    val arrival = slave(Flow(IdleArrival(c)))
    val factor = out(IdleFactor())
    val stall = out(Bits(c.queues bits))
  }
  noIoPrefix()

  private val words = new LiveWords(c, RedFamily.named("RED_DECAY_LO", "RED_DECAY_HI", "RED_IDLE_RATE"), io.config)

  val arrivals = PerQueue.select(c.queues, io.arrival.valid, io.arrival.queue)
  /** every hint of these queues that came in an earlier cycle is stale */
  val stale = arrivals | io.emptied | B(c.queues bits, default -> io.forget)
  val goneStale = io.arrival.valid || io.emptied.orR || io.forget

  /** when the queue became empty; the later event wins, and `emptied` in one cycle */
  val idleSince = Vec.fill(c.queues)(Reg(c.time) init 0)
  Whenever(c, io.arrival.valid) {
    for (q <- 0 until c.queues) when(arrivals(q) && io.arrival.empty)(idleSince(q) := io.arrival.nowNs)
  }
  Whenever(c, io.emptied.orR) {
    for (q <- 0 until c.queues) when(io.emptied(q))(idleSince(q) := io.nowNs)
  }

  /** the queue whose hint is in stage cn and not stale, one bit a queue; stages 1 to 11, the first in the lowest bits:
    * one register, which is one word to the cycle model
    */
  val alive = Reg(Bits(IdleDecay.stages * c.queues bits)).init(0).allowOverride()
  private def stages(q: Int): Bits = Cat((0 until IdleDecay.stages).map(n => alive(n * c.queues + q)))
  /** queues without a result, and with a hint in c1 to c11 that is not stale: in a register, for who waits for it is soon to be known */
  val pending = Reg(Bits(c.queues bits)) init 0
  /** c12: a queue's result */
  val holds = Reg(Bits(c.queues bits)) init 0

  /** Where the last hint is, which alone may be withdrawn. */
  val last = new Area {
    /** bit n − 1: in cn, stale or not; none if it has to do for older ones too */
    val at = Reg(Bits(IdleDecay.stages bits)) init 0
    /** its result is held */
    val held = Reg(Bits(c.queues bits)) init 0
    private def some(q: Int => Bool): Bits = Meaningful(io.applied.orR)(B((0 until c.queues).map(q)))
    /** its queue, if it is not stale */
    val of = some(q => (stages(q) & at).orR || held(q))
    /** queues with an older hint that is not stale */
    val others = some(q => (stages(q) & ~at).orR || holds(q) && !held(q))
  }

  /** An apply is followed by a hint of its own if there were hints before it that are not stale. It goes when no other
    * comes; if one of its queue comes, that one does for all.
    */
  val again = new Area {
    /** its queue, one bit each; none without one */
    val of = Reg(Bits(c.queues bits)) init 0
    val valid = of.orR
    /** it stands for the last hint alone, and is withdrawn with it */
    val only = Reg(Bool())
    val queue = Reg(c.queueId)
    /** `of` if it counts */
    val still = of & ~stale & B(c.queues bits, default -> !(io.withdraw && only))
    val counts = still.orR
    private val alone = last.of & ~last.others & B(c.queues bits, default -> !io.withdraw)
    val wanted = io.applied & ~stale & (last.others | alone)
    /** a hint comes for a queue for which one has to go again */
    val joined = io.hint.valid && PerQueue.bit(wanted | still, io.hint.payload)
    of := still & B(c.queues bits, default -> (io.hint.valid && !joined))
    private val standsAlone = CombInit(only)
    when(io.applied.orR) {
      for (q <- 0 until c.queues) when(wanted(q)) {
        of := B(1 << q, c.queues bits) & B(c.queues bits, default -> !joined)
        standsAlone := !last.others(q)
        queue := q
      }
    }
    only := standsAlone && !io.hint.valid
  }

  /** c0 */
  val starts = io.hint.valid || again.counts
  val hinted = Mux(io.hint.valid, io.hint.payload, again.queue)
  /** a hint, stale or not, is in cn */
  val moves = new Steps(starts, IdleDecay.stages)

  // whether a hint comes is known late
  private val newest = Mux(io.hint.valid, PerQueue.select(c.queues, True, io.hint.payload), again.still)
  private val older = IdleDecay.stages - 1
  alive := alive.resize(older * c.queues) ## newest
  Whenever(c, goneStale || io.applied.orR || io.withdraw) {
    val kept = Seq.tabulate(older)(n => ~stale & ~io.applied & B(c.queues bits, default -> !(io.withdraw && last.at(n))))
    alive := (alive.resize(older * c.queues) & Cat(kept)) ## newest
  }
  private val moving = B((0 until c.queues).map(q =>
    (0 until older).map(n => alive(n * c.queues + q) && !(io.withdraw && last.at(n))).orR))
  // no reset by what comes late: each bit takes it for itself
  private val newer = io.hint.valid || again.counts && again.only
  last.at := (last.at & B(IdleDecay.stages bits, default -> !(io.withdraw || newer))).resize(IdleDecay.stages - 1) ## (newer && !again.joined)

  /** i = now − idleSince of each queue: which queue it is comes late, and is chosen in the next cycle.
    * What `emptied` and an arrival change counts for `again` too: if they are of its queue, it does not count.
    */
  val c0 = new Area {
    val idleNs = Vec((0 until c.queues).map { q =>
      val idle = Meaningful(io.hint.valid || again.valid)(io.nowNs - idleSince(q))
      when(arrivals(q) && io.arrival.empty)(idle := io.nowNs - io.arrival.nowNs)
      when(io.emptied(q))(idle := 0)
      idle
    })
  }

  /** i·Rm, partial products. `moves` and `alive` tell whether what is loaded counts, which is known later. An apply between c0 and c1 has all of it computed again. */
  val c1 = new Area {
    private val loads = io.hint.valid || again.valid
    val queue = Loaded(c, hinted, loads)
    val idleNs = PerQueue(Loaded(c, c0.idleNs, loads), queue)
    val rate = RedFamily.scaled(words("RED_IDLE_RATE", queue))
    val product = new PartialProducts(idleNs, rate.mantissa, moves(1))
  }

  /** i·Rm */
  val c2 = new Area {
    val queue = RegNextWhen(c1.queue, moves(1))
    val exponent = RegNextWhen(c1.rate.exponent, moves(1))
    val product = c1.product.sum(66, moves(2))
  }

  /** min((i·Rm) >> Re, 2^22 − 1); the bound is 2^22 − 2, corrected in c4 */
  val c3 = new Area {
    val queue = RegNextWhen(c2.queue, moves(2))
    val product = RegNextWhen(c2.product, moves(2))
    val exponent = RegNextWhen(c2.exponent, moves(2))
    val slots = Meaningful(moves(3))(ShiftSaturate(product, exponent, 22))
    val decay = (words("RED_DECAY_HI", queue) ## words("RED_DECAY_LO", queue)).asUInt
  }

  /** m·C, partial products. With all ones the bound was passed by one: then m + 1 is the number itself. */
  val c4 = new Area {
    val slots = RegNextWhen(c3.slots, moves(3))
    val decay = RegNextWhen(c3.decay, moves(3))
    val bounded = slots.andR
    val product = new PartialProducts(slots, decay, moves(4))
  }

  /** y = (m+1)·C = m·C + C */
  val c5 = new Area {
    val slots = RegNextWhen(c4.slots & ~(c4.bounded.asUInt.resize(22)), moves(4))
    val once = RegNextWhen(c4.bounded ? U(0, 42 bits) | c4.decay, moves(4))
    val exponent = CarrySave.sum(c4.product.parts :+ (once -> 0), 64, moves(5))
  }

  /** f_hi to the ROM; z = (f_lo·11629080) >> 15 = (f_lo·1453635) >> 12, 1453635 = 5·2^18 + 142915 */
  val c6 = new Area {
    val slots = RegNextWhen(c5.slots, moves(5))
    val exponent = RegNextWhen(c5.exponent, moves(5))
    val fractionHigh = exponent(35 downto 27)
    val fractionLow = exponent(26 downto 0)
    val rom = Exp2Rom()
    rom.io.fraction := fractionHigh
    val product = new PartialProducts(fractionLow, U(IdleDecay.ln2Low, 18 bits), moves(6))
    val five = new PartialProducts(fractionLow, U(5, 3 bits), moves(6))
  }

  /** z, 45 fraction bits; the shift I, at 40 and above 63 */
  val c7 = new Area {
    val slots = RegNextWhen(c6.slots, moves(6))
    val whole = RegNextWhen(c6.exponent(63 downto 36), moves(6))
    val shift = (whole >= 40) ? U(63, 6 bits) | whole.resize(6)
    val z = CarrySave.sum(c6.product.parts ++ c6.five.parts.map { case (term, offset) => term -> (offset + 18) }, 48, moves(7))(47 downto 12)
  }

  /** T·z, and z²/2, whose upper 26 bits are zz */
  val c8 = new Area {
    val slots = RegNextWhen(c7.slots, moves(7))
    val shift = RegNextWhen(c7.shift, moves(7))
    val z = RegNextWhen(c7.z, moves(7))
    val power = c6.rom.io.value
    val product = new PartialProducts(power, z, moves(8))
    val zTop = z(35 downto 18)
    val square = Multiply(zTop, zTop, moves(8))
  }

  /** T − ((T·h) >> 45) with h = z − zz is ⌊(T·2^45 + 2^45 − 1 − T·z + T·zz) / 2^45⌋, and −T·z is ~(T·z) + 1: first T·z, and
    * T·zz in parts that leave a place for the rest
    */
  val c9 = new Area {
    val slots = RegNextWhen(c8.slots, moves(8))
    val shift = RegNextWhen(c8.shift, moves(8))
    val power = RegNextWhen(c8.power, moves(8))
    val zz = c8.square(35 downto 10)
    private val low = new PartialProducts(power, zz(7 downto 0), moves(9))
    private val high = new PartialProducts(power, zz(25 downto 8), moves(9))
    def square: Seq[(UInt, Int)] = low.parts ++ high.parts.map { case (term, offset) => term -> (offset + 8) }
    val linear = c8.product.sum(72, moves(9))
  }

  /** 2^(−f), before >> I */
  val c10 = new Area {
    val slots = RegNextWhen(c9.slots, moves(9))
    val shift = RegNextWhen(c9.shift, moves(9))
    val power = RegNextWhen(c9.power, moves(9))
    val linear = RegNextWhen(c9.linear, moves(9))
    private val rest = Seq(~linear.resize(81) -> 0, power -> 45, U(1, 1 bit) -> 45)
    val mantissa = Meaningful(moves(10))(CarrySave.sum(c9.square ++ rest, 81, moves(10))(80 downto 45))
  }

  /** A_idle */
  val c11 = new Area {
    val slots = RegNextWhen(c10.slots, moves(10))
    val shift = RegNextWhen(c10.shift, moves(10))
    val mantissa = RegNextWhen(c10.mantissa, moves(10))
    val retained = Meaningful(moves(11))(mantissa >> shift)
  }

  /** c12: one result a queue; the oldest that is not stale stays */
  val held = for (q <- 0 until c.queues) yield new Area {
    val factor = Reg(IdleFactor())
    factor.decays.init(False)
    val stores = alive(older * c.queues + q) && !holds(q)
    val storesLast = stores && last.at(older)
    val withdrawn = io.withdraw && (last.held(q) || storesLast)
    val drops = stale(q) || io.applied(q) || withdrawn
  }
  when(moves(IdleDecay.stages)) {
    for (q <- 0 until c.queues) when(held(q).stores) {
      holds(q) := True
      last.held(q) := last.at(older)
      held(q).factor.decays := c11.slots =/= 0
      held(q).factor.retained := c11.retained
      held(q).factor.slots := c11.slots
    }
  }
  Whenever(c, goneStale || io.applied.orR || io.withdraw) {
    for (q <- 0 until c.queues) when(held(q).drops) {
      holds(q) := False
      last.held(q) := False
      held(q).factor.decays := False
    }
  }
  when(io.hint.valid)(last.held := 0)
  io.factor := PerQueue(Vec(held.map(_.factor)), io.arrival.queue)

  /** no result is held in the next cycle: there is none and none comes, or it is withdrawn; of what is not `outdated` */
  private val without = ~(holds | alive(older * c.queues, c.queues bits)) | B(held.map(_.withdrawn))
  private val outdated = stale | io.applied
  // whether a hint comes is known late
  pending := newest & (without | outdated) | moving & ~outdated & without
  io.stall := again.of | pending
}

object IdleDecay {
  /** c1 to c11: what a hint passes until its result is held */
  private val stages = 11
  /** round(ln 2 · 2^24) / 8 without its upper three bits, which are 5 */
  val ln2Low = 11629080 / 8 - (5 << 18)
}
