package weir.policy.compact
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.PerQueue

/** A word for the engine's memory. */
case class MemoryWrite() extends Bundle {
  val address = UInt(log2Up(Layout.words) bits)
  val data = Bits(Layout.wordWidth bits)
}

/** A step-sequenced unit that runs policies as programs, an instruction a cycle (docs/modules/compact.md).
  *
  * `start` begins the program at `entry` for `queue`, while it is not `busy`; instruction n is carried out n + 2 cycles
  * later. The inputs `empty` and `few` stand while it is busy. `write` comes first at the memory's write port, then the
  * program's stores, then `left`. A reset ends a program where it is; the memory keeps its words.
  */
class Engine(c: WeirConfig, image: Image) extends Component {
  val io = new Bundle {
    val start = in Bool ()
    val entry = in UInt (image.addressWidth bits)
    val queue = in(c.queueId)
    val empty, few = in Bool ()
    val acts = in Bool ()
    val write = slave(Flow(MemoryWrite()))
    val left = slave(Stream(MemoryWrite()))

    val busy = out Bool ()
    /** the queue that it runs, or ran, for */
    val running = out(c.queueId)
    /** the accumulator tells this part of the evidence, one bit each as in [[Evidence]] */
    val tells = out(Bits(Evidence.all.size bits))
    val told = out UInt (Engine.accWidth bits)
    /** in the cycle of `Verdict`: what the packet is selected for */
    val verdict, selected, forced = out Bool ()
    /** the flags from [[Flag.ecn]] on */
    val answers = out Bits (Flag.width - Flag.conditions bits)
  }
  noIoPrefix()

  require(c.queues <= Layout.queues, s"WeirConfig.queues=${c.queues} must be 1 to ${Layout.queues} with compact policies; try ${Layout.queues}")

  /** the fields of a microword */
  class Fields(word: Bits) {
    private val low = image.fields.map(_._1).zip(image.fields.scanLeft(0)(_ + _._2)).toMap
    private val size = image.fields.toMap
    def apply(name: String): UInt = word(low(name), size(name) bits).asUInt
    def flag(name: String): Bool = word(low(name))
  }

  val busy = RegInit(False)
  val queue = RegNextWhen(io.queue, io.start)
  io.busy := busy
  io.running := queue

  /** a cycle from the ROM, one from the memory, one to do it */
  val fetch = new Area {
    val rom = Mem(Bits(image.width bits), image.rom.map(B(_, image.width bits)))
    val target = UInt(image.addressWidth bits)
    val taken = Bool()
    val following = Reg(UInt(image.addressWidth bits))
    val address = Mux(!busy, io.entry, Mux(taken, target, following))
    following := address + 1
    val word = rom.readSync(address)
  }

  val stop = Bool()
  /** an instruction is in `read`, in `execute` */
  val reads, executes = RegInit(False)
  executes := reads
  when(io.start) {
    busy := True
    reads := True
  }
  when(stop) {
    busy := False
    reads := False
    executes := False
  }

  val read = new Area {
    private val word = new Fields(fetch.word)
    val index = Reg(UInt(9 bits))
    val address = word("readSpace").mux(
      Layout.queue -> (queue.resize(2) @@ word("readWord")).resize(10),
      Layout.common -> (U(4, 4 bits) @@ word("readWord")),
      Layout.smallTable -> (U(1, 2 bits) @@ word("readWord")(1 downto 0) @@ index(5 downto 0)),
      Layout.largeTable -> (U(1, 1 bits) @@ index))
  }

  val memory = Mem(Bits(Layout.wordWidth bits), image.layout.memory.map(B(_, Layout.wordWidth bits)))

  val execute = new Area {
    val word = new Fields(RegNext(fetch.word))
    val m = memory.readSync(read.address)
    val acc = Reg(SInt(Engine.accWidth bits))
    val x = Reg(UInt(36 bits))
    val flags = Reg(Bits(Flag.width bits))
    val fresh = Reg(Bits(c.queues bits)) init ((1 << c.queues) - 1)
    val hit, forced, acts = Reg(Bool())

    private val isFresh = PerQueue.bit(fresh, queue)
    private val exempt = flags(RedProgram.exempt.bit)
    private def over(bits: Int): Bool = acc(acc.getWidth - 1 downto bits).orR
    private def holds(condition: Condition): Bool = condition match {
      case Condition.Always   => True
      case Condition.Negative => acc.msb
      case Condition.Over24   => over(24)
      case Condition.Over32   => over(32)
      case Condition.Over36   => over(36)
      case Condition.Empty    => io.empty
      case Condition.Few      => io.few
      case Condition.Fresh    => isFresh
      case Condition.Restarts => isFresh && !exempt
      case Condition.Spared   => isFresh && exempt || io.few
      case Condition.Acts     => acts
      case other              => throw new ProgramError(s"condition ${other.text} is not built")
    }
    private val conditions = Vec(Condition.all.map(holds).padTo(Image.flagCodes, True) ++
      (0 until Flag.conditions).map(flags(_)))
    val holds: Bool = conditions(word("condition")) ^ word.flag("negated")

    val branch = word.flag("branch")
    /** in the delay slot of a branch that was taken */
    val slot = RegNext(fetch.taken) init False
    fetch.taken := executes && branch && holds && !slot
    fetch.target := word("target")
    val go = executes && (holds || branch)

    val product = new Area {
      private val limb = word("limb").muxDc(0 -> m(17 downto 0), 1 -> m(35 downto 18), 2 -> m(47 downto 36).resize(18)).asUInt
      val low = RegNext(x(17 downto 0) * limb)
      val high = RegNext(x(35 downto 18) * limb)
      val sum = (high + (low >> 18)) @@ low(17 downto 0)
    }
    private def effect(e: Effect): Bool = go && word("effect") === Effect.all.indexOf(e)

    val sum = new Area {
      val left = word("left").muxDc(0 -> S(0, acc.getWidth bits), 1 -> acc, 2 -> (acc >> 18).resize(acc.getWidth))
      val right = word("right").muxDc(0 -> S(0, acc.getWidth bits),
        1 -> product.sum.resize(acc.getWidth).asSInt, 2 -> m.asSInt.resize(acc.getWidth))
      val minus = word.flag("minus")
      /** one adder: left + right, or left + not right + 1 */
      private val joined = (left ## True).asUInt + ((right ^ S(acc.getWidth bits, default -> minus)) ## minus).asUInt
      val value = joined(acc.getWidth downto 1).asSInt
    }
    when(go) {
      acc := sum.value
      when(word.flag("loadX")) {
        x := word("xSource").muxDc(0 -> m(35 downto 0).asUInt, 1 -> acc(35 downto 0).asUInt, 2 -> acc(42 downto 7).asUInt)
      }
      switch(word("index")) {
        is(Index.all.indexOf(Index.Low))(read.index := acc(8 downto 0).asUInt)
        is(Index.all.indexOf(Index.High))(read.index := acc(14 downto 9).asUInt.resized)
        is(Index.all.indexOf(Index.Exponent))(read.index := acc(29 downto 24).asUInt.resized)
      }
    }
    when(effect(Effect.LoadFlags))(flags := m(Flag.width - 1 downto 0))
    for (q <- 0 until c.queues) when(queue === q) {
      when(effect(Effect.SetFresh))(fresh(q) := True)
      when(effect(Effect.ClearFresh))(fresh(q) := False)
    }
    when(effect(Effect.Select) || effect(Effect.Force))(hit := True)
    when(effect(Effect.Force))(forced := True)
    when(effect(Effect.Spare) || !busy) {
      hit := False
      forced := False
    }
    acts.setWhen(io.acts).clearWhen(!busy)
    stop := effect(Effect.Done)
    io.verdict := effect(Effect.Verdict)
    io.selected := hit
    io.forced := forced
    io.answers := flags(Flag.width - 1 downto Flag.conditions)
    for (n <- Evidence.all.indices) io.tells(n) := go && word("tell") === n
    io.told := acc.asUInt
  }

  val store = new Area {
    private val word = execute.word
    val valid = execute.go && word.flag("store")
    io.left.ready := !io.write.valid && !valid
    val write = MemoryWrite()
    write := io.left.payload
    when(valid) {
      write.address := Mux(word.flag("storeShared"), U(4, 4 bits) @@ word("storeWord"),
        (queue.resize(2) @@ word("storeWord")).resize(10))
      write.data := execute.acc(47 downto 0).asBits
    }
    when(io.write.valid)(write := io.write.payload)
    memory.write(write.address, write.data, valid || io.write.valid || io.left.valid)
  }
}

object Engine {
  val accWidth = 56
  /** steps that begin to read before the first one stores */
  val readToWrite = 2
  /** a departure waits for a cycle without a store; departures are four cycles apart */
  val storesInRow = 3
}
