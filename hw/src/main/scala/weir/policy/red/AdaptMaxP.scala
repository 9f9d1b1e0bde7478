package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{Fixed, Multiply, PerQueue, ValidPipeline}
import weir.control.registers.{ConfigWrite, Register, RegisterMap, Scaled}
import weir.control.trace.TraceRecord
import weir.policy.PolicyTick

/** Adaptive RED: a tick per queue and interval moves max_p, and the slopes with it (docs/modules/ared.md).
  *
  * A tick that is due is carried out at the queue's next arrival, with the average that the arrival has left; if it found its
  * queue empty, that has decayed. In silence nothing moves. At reset and after `renew` the registers' max_p counts, and an
  * interval begins with the next arrival.
  *
  * A look at an arrival takes 3 cycles and one to choose its queue, a tick 59, one at a time, with one multiplier and one comparison; its result is written in one
  * cycle, so that a request sees all of it or nothing. `slopes` is combinational from `queue`; it is valid once a tick has been.
  */
case class AdaptMaxP(c: WeirConfig) extends Component {
  val io = new Bundle {
    val nowNs = in(c.time)
    val config = slave(Flow(ConfigWrite(c)))
    /** queues that run a policy of the family */
    val selected = in(Bits(c.queues bits))
    /** the queue's words have been copied, or its policy has changed */
    val renew = in(Bits(c.queues bits))
    val averages = in(Vec(Fixed.average(), c.queues))
    /** the average of that queue is stored at the end of this cycle */
    val stored = slave(Flow(c.queueId))
    val queue = in(c.queueId)
    val slopes = master(Flow(Slopes()))
    val busy = out Bool ()
    /** a queue is adaptive, or work goes on: not to stand still */
    val active = out Bool ()
    /** what it tells stands for another cycle */
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
  /** when the interval of each queue began */
  val begins = Mem(c.time, c.queues max 2)

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
    /** an interval is to begin */
    val renewed = Reg(Bits(c.queues bits)) init B(c.queues bits, default -> True)
    /** there was an arrival: is a tick due? */
    val asked = Reg(Bits(c.queues bits)) init 0
  }
  import state._

  io.slopes.valid := PerQueue.bit(adapted, io.queue)
  io.slopes.payload := results.readAsync(io.queue)

  object Phase extends SpinalEnum {
    val idle, look, tick = newElement()
  }
  val phase = RegInit(Phase.idle)
  val queue = Reg(c.queueId) init 0
  val moving = phase =/= Phase.idle
  val word = words.read(queue, moving)
  /** in the next cycle a look, or a tick, is in step 0 */
  val lookStarts, tickStarts = False
  private val lookSteps = new ValidPipeline(lookStarts, AdaptMaxP.lookSteps)
  private val tickSteps = new ValidPipeline(tickStarts, AdaptMaxP.tickSteps)
  private def looking(n: Int): Bool = lookSteps(n + 1)
  private def ticking(n: Int): Bool = tickSteps(n + 1)
  /** in the next cycle a product begins */
  private val multiplyStarts = Bool()
  private val multiplySteps = new ValidPipeline(multiplyStarts, 6)
  private def multiplying(n: Int): Bool = multiplySteps(n + 1)

  /** One tick: the new max_p. Each word that comes is compared with one number, and the lesser or the greater of both taken. */
  val adapt = new Area {
    val nowNs = Reg(c.time)
    val average = Reg(Fixed.average())
    val isAdapted, above, below, canRise, canFall = Reg(Bool())
    /** max_p, the one before the tick to begin with */
    val maxP, change = Reg(UInt(32 bits))
    val sum = Reg(UInt(33 bits))
    val number = Reg(UInt(34 bits))
    /** with a bit after the point, for ≤ and an average's fraction: in steps 3 and 16 */
    private val after = RegNext(ticking(2) || ticking(15)) init False
    val less = number < U(0, 1 bit) @@ word @@ after
    val chosen = UInt(32 bits)
    private val takesNumber = CombInit(less)
    chosen := takesNumber ? number(32 downto 1) | word
    def compare(value: UInt): Unit = number := value.resize(33) @@ U(0, 1 bit)
    when(ticking(0)) {
      words.ask("RED_MAXP")
      nowNs := io.nowNs
      average := PerQueue(io.averages, queue)
      compare(results.readAsync(queue).maxP)
      isAdapted := PerQueue.bit(adapted, queue)
    }
    when(ticking(1))(words.ask("ARED_HIGH"))
    when(ticking(2)) {
      words.ask("ARED_LOW")
      takesNumber := isAdapted
      maxP := chosen
      number := (average(42 downto 11) @@ average(10 downto 0).orR).resize(34)
    }
    when(ticking(3)) {
      words.ask("ARED_INCREASE")
      above := !less
    }
    when(ticking(4)) {
      words.ask("ARED_TOP")
      below := less
      compare(maxP >> 2)
    }
    when(ticking(5)) {
      change := chosen
      compare(maxP)
    }
    when(ticking(6)) {
      words.ask("ARED_TOP")
      canRise := less
      sum := maxP +^ change
    }
    when(ticking(7)) {
      words.ask("ARED_DECREASE")
      compare(sum)
    }
    when(ticking(8) && above && canRise)(maxP := chosen)
    when(ticking(14))(words.ask("ARED_BOTTOM"))
    when(ticking(15)) {
      words.ask("ARED_BOTTOM")
      compare(maxP)
    }
    when(ticking(16)) {
      words.ask("ARED_BAND")
      canFall := !less
    }
    when(ticking(17)) {
      takesNumber := !less
      when(!above && below && canFall)(maxP := chosen)
    }
  }
  import adapt._

  /** The queue whose turn it is, if it has been asked for, and whether its interval is over. Times are modular in 2^48 ns: after a silence of
    * a multiple of that, and less than an interval, the tick comes up to an interval late.
    */
  val look = new Area {
    val since = Reg(c.time)
    private val next = (queue === c.queues - 1) ? U(0, c.queueWidth bits) | queue + 1
    private val restarts = looking(2) && PerQueue.bit(renewed, queue)
    private val due = !adapt.less && since(47 downto log2Up(AdaptMaxP.leastNs)).orR
    // what a tick tells stands for another cycle, `queue` too
    when(phase === Phase.idle && asked.orR) {
      queue := next
      when(PerQueue.bit(asked, next)) {
        phase := Phase.look
        lookStarts := True
      }
    }
    when(looking(0)) {
      words.ask("ARED_INTERVAL")
      since := io.nowNs - begins.readAsync(queue)
    }
    when(looking(1))(adapt.compare((since(47 downto 32) =/= 0) ? U(BigInt(1) << 32, 33 bits) | since(31 downto 0).resize(33)))
    when(looking(2)) {
      phase := Phase.idle
      when(!restarts && due) {
        phase := Phase.tick
        tickStarts := True
      }
    }
    begins.write(queue, io.nowNs, restarts || ticking(0))
    for (q <- 0 until c.queues) {
      when(looking(0) && queue === q)(asked(q) := False)
      when(io.stored.valid && io.stored.payload === q)(asked(q) := True)
      when(!runs(q))(asked(q) := False)
      when(restarts && queue === q)(renewed(q) := False)
    }
  }

  /** The multiplier, 16 × 18 bits a cycle, and the shift that normalises: a product of max_p and DECREASE, then two of
    * a probability and a scaled number.
    */
  val product = new Area {
    val factor = Reg(UInt(32 bits))
    val a = Reg(UInt(16 bits))
    val b = Reg(UInt(18 bits))
    val term = Multiply(a, b)
    val sum = Reg(UInt(34 bits))
    val low = Reg(UInt(16 bits))
    val normal = Reg(UInt(50 bits))
    val exponent = Reg(UInt(6 bits))
    /** the product of 1 − max_p */
    val second = Reg(Bool())
    /** steps of the shift that are left */
    val left = Reg(UInt(4 bits)) init 0
    val normalised = RegNext(left === 1) init False
    private def load(upper: Boolean, limb: UInt): Unit = {
      a := (if (upper) maxP(31 downto 16) else maxP(15 downto 0)) ^ second.asSInt.resize(16).asUInt
      b := limb.resized
    }
    private val upper = ticking(13) || ticking(15) || multiplying(4)
    when(ticking(12) || ticking(14) || multiplying(3) || upper) {
      sum := term + (upper ? (sum >> 16).resize(34) | (ticking(14) ? sum | U(0)))
    }

    when(ticking(0))(second := False)
    when(ticking(9) || multiplying(0))(factor := word)
    when(ticking(10))(load(upper = false, factor(15 downto 0)))
    when(ticking(11))(load(upper = false, factor(31 downto 16)))
    when(ticking(12))(load(upper = true, factor(15 downto 0)))
    when(ticking(13))(load(upper = true, factor(31 downto 16)))

    when(multiplying(1))(load(upper = false, factor(17 downto 0)))
    when(multiplying(2))(load(upper = true, factor(17 downto 0)))
    when(multiplying(4))(low := sum(15 downto 0))
    when(left =/= 0) {
      left := left - 1
      val far = normal(49 downto 50 - AdaptMaxP.distance) === 0 && exponent <= 63 - AdaptMaxP.distance
      when(!normal.msb && exponent =/= 63) {
        normal := normal |<< 1
        exponent := exponent + 1
      }
      when(far) {
        normal := normal |<< AdaptMaxP.distance
        exponent := exponent + AdaptMaxP.distance
      }
    }
    when(multiplying(5)) {
      normal := sum @@ low
      exponent := factor(29 downto 24)
      left := AdaptMaxP.shifts
    }
    when(left === 2 && !second)(words.ask("ARED_GENTLE"))
    val scaled = Scaled()
    scaled.mantissa := normal(49 downto 32)
    scaled.exponent := exponent
  }

  val finish = new Area {
    val slope = Reg(Scaled())
    when(ticking(16))(compare(product.sum(31 downto 0)))
    multiplyStarts := ticking(17) || product.left === 1 && !product.second
    when(product.normalised && !product.second) {
      slope := product.scaled
      product.second := True
    }
    val ends = product.normalised && product.second
    /** What came before this cycle makes the tick void; what comes in it goes before the tick's results below, and is told by `renew`: it comes from
      * afar.
      */
    val void = PerQueue.bit(renewed, queue)
    val result = Slopes()
    result.maxP := maxP
    result.slope := slope
    result.gentleSlope := product.scaled
    // nobody looks at what is written of a void tick: the queue is not adapted
    results.write(queue, result, ends)
    when(ends)(phase := Phase.idle)
    for (q <- 0 until c.queues) {
      when(ends && !void && queue === q)(adapted(q) := True)
      when(renew(q)) {
        adapted(q) := False
        renewed(q) := True
      }
    }
  }

  io.busy := moving || asked.orR
  io.active := runs.orR || moving
  io.tick.valid := finish.ends && !PerQueue.bit(renewed | renew, queue)
  io.tick.queue := queue
  io.tick.policy := RedFamily.Ared.id
  io.tick.nowNs := nowNs
  io.tick.words := TraceRecord.tickState(RedFamily.Ared, "max_p" -> maxP, "average" -> average(42 downto 11),
    "slope" -> AdaptMaxP.word(finish.slope), "gentle_slope" -> AdaptMaxP.word(finish.result.gentleSlope))
}

object AdaptMaxP {
  /** the shortest interval, ns, a power of two: the looks and ticks of eight queues take less */
  val leastNs = 16384
  /** A step of the shift that normalises goes that far, or by one; steps for the farthest, 63. */
  private val distance = 8
  private val shifts = 14
  /** steps of a look, and of a tick up to the new max_p */
  val lookSteps = 3
  val tickSteps = 18
  /** as a register holds it */
  private def word(number: Scaled): Bits = B(0, 2 bits) ## number.exponent ## B(0, 6 bits) ## number.mantissa
}
