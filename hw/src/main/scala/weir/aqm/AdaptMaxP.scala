package weir.aqm

import spinal.core._
import spinal.lib._
import weir.{Steps, WeirConfig}
import weir.csr.{ConfigWrite, Register, RegisterMap, Scaled}

/** Adaptive RED: a tick per queue and interval moves max_p, and the slopes with it (docs/modules/ared.md).
  *
  * A tick takes 45 cycles, one at a time, with one multiplier; its result is written in one cycle, so that a request
  * sees all of it or nothing. `slopes` is combinational from `queue`; it is valid once a tick has changed what the
  * registers say. A tick that leaves max_p as it was puts the queue to rest until its average is stored again: only
  * then could the next one change anything. At reset and after `renew` a queue starts anew, an interval before its tick.
  */
case class AdaptMaxP(c: WeirConfig) extends Component {
  val io = new Bundle {
    val nowNs = in(c.time)
    val config = slave(Flow(ConfigWrite(c)))
    /** queues that run a policy of the family */
    val selected = in(Bits(c.queues bits))
    /** the queue's words have been copied, or its policy has changed */
    val renew = in(Bits(c.queues bits))
    val averages = in(Vec(UInt(43 bits), c.queues))
    /** the average of that queue is stored at the end of this cycle */
    val stored = slave(Flow(c.queueId))
    val queue = in(c.queueId)
    val slopes = master(Flow(Slopes()))
    val wake = master(Flow(c.time))
    val busy = out Bool ()
    /** a queue is adaptive, or work goes on: not to stand still */
    val active = out Bool ()
    val tick = master(Flow(PolicyTick(c)))
  }
  noIoPrefix()

  /** The words a tick reads, one after the other, two cycles after their address. */
  val words = new Area {
    private val registers = RedFamily.named("RED_MAXP") ++ RedFamily.Ared.registers
    private def slot(register: Register): Int = register.word % 16
    require(registers.map(slot).distinct.size == registers.size, "the words of a tick share a slot")
    private val memory = Mem(Bits(32 bits), 16 << c.queueWidth)
    memory.write(io.config.queue @@ io.config.word(3 downto 0), io.config.data,
      io.config.valid && registers.map(io.config.word === _.word).orR)
    val address = UInt(4 bits)
    address := 0
    def ask(name: String): Unit = address := slot(RedFamily.named(name).head)
    def read(queue: UInt, enable: Bool): UInt =
      RegNextWhen(memory.readSync(queue @@ address, enable), enable).asUInt
  }

  val results = Mem(Slopes(), c.queues max 2)
  val deadlines = Mem(c.time, c.queues max 2)

  val state = new Area {
    /** queues whose POLICY says ared */
    val adaptive = Reg(Bits(c.queues bits))
    private val policy = RegisterMap.queue("POLICY")
    private val number = policy.field("POLICY")
    for (q <- 0 until c.queues)
      when(io.config.valid && io.config.word === policy.word && io.config.queue === q) {
        adaptive(q) := io.config.data(number.high downto number.low).asUInt === RedFamily.Ared.id
      }
    val runs = adaptive & io.selected
    /** the configuration of the queue changes */
    val renew = io.renew | PerQueue.select(c.queues, io.config.valid, io.config.queue)
    /** `results` holds the queue's max_p */
    val adapted = Reg(Bits(c.queues bits)) init 0
    /** the deadline is to start anew */
    val renewed = Reg(Bits(c.queues bits)) init B(c.queues bits, default -> True)
    /** no tick before the next arrival */
    val resting = Reg(Bits(c.queues bits)) init 0
    /** an arrival has ended the rest */
    val revived = Reg(Bits(c.queues bits)) init 0
    /** a deadline starts anew, or the earliest is that of a queue that runs another policy now */
    val pending = Bool()
  }
  import state._

  io.slopes.valid := PerQueue.bit(adapted, io.queue)
  io.slopes.payload := results.readAsync(io.queue)

  object Phase extends SpinalEnum {
    val scan, idle, tick = newElement()
  }
  val phase = RegInit(Phase.idle)
  val queue = Reg(c.queueId) init 0
  val moving = phase =/= Phase.idle
  val word = words.read(queue, moving)
  /** in the next cycle a queue's scan, or a tick, is in step 0 */
  val scanStarts, tickStarts = False
  private val scanSteps = new Steps(scanStarts, AdaptMaxP.scanSteps)
  private val tickSteps = new Steps(tickStarts, AdaptMaxP.tickSteps)
  private def scanning(n: Int): Bool = scanSteps(n + 1)
  private def ticking(n: Int): Bool = tickSteps(n + 1)
  private def interval(word: UInt): UInt =
    Mux(word < AdaptMaxP.leastNs, U(AdaptMaxP.leastNs, 32 bits), word)

  /** Times, shared by scan and tick. */
  val time = new Area {
    val stored = deadlines.readAsync(queue)
    val intervalNs = Reg(UInt(32 bits))
    val deadline = Reg(c.time)
    val soon = Reg(c.time)
    val next = Reg(c.time)
    val passed = Reg(Bool())
  }
  import time._

  /** Looks for the earliest deadline, queue by queue, and starts those that have none. */
  val scan = new Area {
    val best = Reg(c.time)
    val earliest = Reg(c.queueId)
    val found = RegInit(False)
    val anew, again, better = Reg(Bool())
    val last = queue === c.queues - 1
    when(scanning(0)) {
      words.ask("ARED_INTERVAL")
      deadline := time.stored
      anew := PerQueue.bit(renewed, queue)
      again := PerQueue.bit(revived, queue)
      for (q <- 0 until c.queues) when(queue === q) {
        renewed(q) := renewed(q) && !runs(q)
        revived(q) := False
      }
    }
    when(scanning(1))(passed := !(io.nowNs - deadline).msb)
    when(scanning(2))(intervalNs := interval(word))
    when(scanning(3))(soon := io.nowNs + intervalNs)
    when(scanning(4))(next := (anew || again && passed) ? soon | deadline)
    when(scanning(5))(better := !found || (next - best).msb)
    when(scanning(6)) {
      when(PerQueue.bit(runs & ~resting, queue) && better) {
        best := next
        earliest := queue
        found := True
      }
      queue := queue + 1
      when(last)(phase := Phase.idle) otherwise (scanStarts := True)
    }
    pending := (runs & (renewed | revived)).orR || found && !PerQueue.bit(runs, earliest)
    val due = RegNext(phase === Phase.idle && found && !(io.nowNs - best).msb) init False
    when(phase === Phase.idle) {
      when(pending) {
        phase := Phase.scan
        scanStarts := True
        queue := 0
        found := False
      } elsewhen (due) {
        phase := Phase.tick
        tickStarts := True
        queue := earliest
      }
    }
  }

  /** One tick: the new max_p. */
  val adapt = new Area {
    val nowNs = Reg(c.time)
    val average = Reg(UInt(43 bits))
    val started = Reg(Slopes())
    val isAdapted, above, below, canRise, canFall, changed, touched = Reg(Bool())
    val p, top, change, raised, lowered, next = Reg(UInt(32 bits))
    val sum = Reg(UInt(33 bits))
    /** an arrival has stored an average that the tick does not know */
    val touch = io.stored.valid && io.stored.payload === queue
    when(touch)(touched := True)
    when(ticking(0)) {
      words.ask("RED_MAXP")
      nowNs := io.nowNs
      average := PerQueue(io.averages, queue)
      started := results.readAsync(queue)
      isAdapted := PerQueue.bit(adapted, queue)
      touched := touch
    }
    when(ticking(1))(words.ask("ARED_HIGH"))
    when(ticking(2)) {
      words.ask("ARED_LOW")
      p := isAdapted ? started.maxP | word
    }
    when(ticking(3)) {
      words.ask("ARED_INCREASE")
      above := average > (word @@ U(0, 11 bits))
    }
    when(ticking(4)) {
      words.ask("ARED_TOP")
      below := average < (word @@ U(0, 11 bits))
    }
    when(ticking(5)) {
      words.ask("ARED_DECREASE")
      change := (word < (p >> 2)) ? word | (p >> 2).resize(32)
    }
    when(ticking(6)) {
      sum := p +^ change
      top := word
      canRise := p < word
    }
    when(ticking(7))(raised := (sum > top) ? top | sum.resize(32))
    when(ticking(12))(words.ask("ARED_BOTTOM"))
  }
  import adapt.{next => newP, _}

  /** The multiplier, 16 × 18 bits a cycle, and the shift that normalises: a product of max_p and DECREASE, then two of a
    * probability and a scaled number.
    */
  val product = new Area {
    val multiplicand, factor = Reg(UInt(32 bits))
    val a = Reg(UInt(16 bits))
    val b = Reg(UInt(18 bits))
    val term = Multiply(a, b, phase === Phase.tick)
    val sum = Reg(UInt(34 bits))
    val low = Reg(UInt(16 bits))
    val normal = Reg(UInt(50 bits))
    val exponent = Reg(UInt(6 bits))
    /** which of the shifts is next, one bit each, and whether it is made: found a step before */
    val turn = Reg(Bits(AdaptMaxP.distances.size bits))
    val fits = Reg(Bool())
    def load(upper: Boolean, limb: UInt): Unit = {
      a := (if (upper) multiplicand(31 downto 16) else multiplicand(15 downto 0))
      b := limb.resized
    }
    private def add(on: Bool)(value: UInt): Unit = when(on)(sum := value)

    when(ticking(7)) {
      multiplicand := p
      factor := word
    }
    when(ticking(8))(load(upper = false, factor(15 downto 0)))
    when(ticking(9))(load(upper = false, factor(31 downto 16)))
    when(ticking(10))(load(upper = true, factor(15 downto 0)))
    when(ticking(11))(load(upper = true, factor(31 downto 16)))
    add(ticking(10))(term)
    add(ticking(11))((sum >> 16) + term)
    add(ticking(12))(sum + term)
    add(ticking(13))((sum >> 16) + term)

    for (start <- AdaptMaxP.products) {
      when(ticking(start + 1))(load(upper = false, factor(17 downto 0)))
      when(ticking(start + 2))(load(upper = true, factor(17 downto 0)))
      add(ticking(start + 3))(term)
      when(ticking(start + 4))(low := sum(15 downto 0))
      add(ticking(start + 4))((sum >> 16) + term)
      when(ticking(start + 5)) {
        normal := sum @@ low
        exponent := factor(29 downto 24)
        fits := sum(33 downto 34 - AdaptMaxP.distances.head) === 0 &&
          factor(29 downto 24) <= 63 - AdaptMaxP.distances.head
      }
    }
    when(phase === Phase.tick) {
      turn := turn |<< 1
      when(AdaptMaxP.products.map(start => ticking(start + 5)).orR)(turn := 1)
      for ((distance, n) <- AdaptMaxP.distances.zipWithIndex) when(turn(n)) {
        when(fits) {
          normal := normal |<< distance
          exponent := exponent + distance
        }
        for (next <- AdaptMaxP.distances.lift(n + 1)) {
          def zero(from: Int): Bool = normal(49 - from downto 50 - from - next) === 0
          fits := fits ? (zero(distance) && exponent <= 63 - distance - next) | (zero(0) && exponent <= 63 - next)
        }
      }
    }
    val scaled = Scaled()
    scaled.mantissa := normal(49 downto 32)
    scaled.exponent := exponent
  }

  val finish = new Area {
    val slope = Reg(Scaled())
    val Seq(first, second) = AdaptMaxP.products
    when(ticking(14)) {
      lowered := (product.sum(31 downto 0) < word) ? word | product.sum(31 downto 0)
      canFall := p > word
    }
    when(ticking(15)) {
      words.ask("ARED_BAND")
      newP := p
      when(above) {
        when(canRise)(newP := raised)
      } elsewhen (below && canFall)(newP := lowered)
    }
    when(ticking(first)) {
      changed := newP =/= p
      product.multiplicand := newP
      product.factor := word
    }
    when(ticking(second - 2))(words.ask("ARED_GENTLE"))
    when(ticking(second)) {
      slope := product.scaled
      product.multiplicand := ~newP
      product.factor := word
    }
    val end = second + 12
    when(ticking(end - 2)) {
      words.ask("ARED_INTERVAL")
      deadline := time.stored
    }
    /** what came meanwhile makes the tick void */
    val void = PerQueue.bit(renewed | renew, queue)
    val result = Slopes()
    result.maxP := newP
    result.slope := slope
    result.gentleSlope := product.scaled
    val write = ticking(end) && !void
    results.write(queue, result, write)
    when(ticking(end))(intervalNs := interval(word))
    when(ticking(end + 1)) {
      next := deadline + intervalNs
      soon := io.nowNs + intervalNs
    }
    when(ticking(end + 2))(passed := !(io.nowNs - next).msb)
    deadlines.write(queue, scanning(5) ? next | (passed ? soon | next), scanning(5) || ticking(end + 3))
    for (q <- 0 until c.queues) when(queue === q) {
      when(write)(adapted(q) := True)
      when(ticking(end + 3) && !void)(resting(q) := !changed && !touched && !touch)
    }
    when(ticking(end + 3)) {
      phase := Phase.scan
      scanStarts := True
      queue := 0
      scan.found := False
    }
    for (q <- 0 until c.queues) {
      when(io.stored.valid && io.stored.payload === q && resting(q)) {
        resting(q) := False
        revived(q) := True
      }
      when(renew(q)) {
        adapted(q) := False
        renewed(q) := True
        resting(q) := False
        revived(q) := False
      }
    }
  }

  io.wake.valid := scan.found && !moving
  io.wake.payload := scan.best
  io.busy := moving || pending
  io.active := runs.orR || moving || pending || scan.found
  io.tick.valid := finish.write
  io.tick.queue := queue
  io.tick.policy := RedFamily.Ared.id
  io.tick.nowNs := nowNs
  io.tick.words(0) := newP.asBits
  io.tick.words(1) := average(42 downto 11).asBits
  io.tick.words(2) := AdaptMaxP.word(finish.slope)
  io.tick.words(3) := AdaptMaxP.word(finish.result.gentleSlope)
}

object AdaptMaxP {
  /** the shortest interval: the ticks of eight queues take less */
  val leastNs = 16384
  /** the steps at which the factor of a slope arrives */
  val products = Seq(17, 29)
  /** the shifts that normalise a product, each in a step of its own */
  private val distances = Seq(32, 16, 8, 4, 2, 1)
  /** steps of a queue's scan, and of a tick: its last is three after its end */
  val scanSteps = 7
  val tickSteps: Int = products.last + 12 + 4
  /** as a register holds it */
  private def word(number: Scaled): Bits = B(0, 2 bits) ## number.exponent ## B(0, 6 bits) ## number.mantissa
}
