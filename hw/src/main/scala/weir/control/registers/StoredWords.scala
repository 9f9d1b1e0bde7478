package weir.control.registers
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The words that the host has written, of the core and of every queue, in a RAM from which they are read back; and the copy of a
  * queue's words that an apply makes.
  *
  * One word a cycle is read; a copied word is at `config` two cycles after its read. A copy takes as many cycles as the queues have words, and
  * 3. After reset every word takes its reset value, one a cycle, the queues' first, and every queue is applied; `busy`
  * is high meanwhile and during a copy, and the host's access must wait.
  */
case class StoredWords(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** the host's access, not while `busy`: of queue `block`, or of the core; `rdata` one cycle after the address */
    val block = in UInt (StoredWords.blockWidth(c) bits)
    val address = in(UInt(ConfigWrite.wordWidth bits))
    val write = in Bool ()
    val wdata = in Bits (32 bits)
    val rdata = out Bits (32 bits)
    /** pulse: queue q is to be applied */
    val apply = in Bits (c.queues bits)
    val applyReady = in Bits (c.queues bits)
    val pending = out Bits (c.queues bits)
    val applied, clear = out Bits (c.queues bits)
    val config = master(Flow(ConfigWrite(c)))
    val live = out(Vec(QueueConfig(c), c.queues))
    /** a copy goes on: from two cycles before its first `config` to its `applied` */
    val copying = out Bool ()
    val busy = out Bool ()
    /** the applies that follow a reset are not done */
    val initial = out Bool ()
  }

  private val blockWidth = StoredWords.blockWidth(c)
  private val queueWords = RegisterMap.queue.built(c).filter(_.kind == Kind.Shadow)
  private val coreWords = StoredWords.core(c)
  private val lastWord = queueWords.map(_.word).max
  require(RegisterMap.queue("POLICY").word != lastWord, "`clear` follows POLICY by a word or more")
  private val memory = Mem(Bits(32 bits), (c.queues + 1) << ConfigWrite.wordWidth)

  /** Reset values, one word at a time: of each queue, then of the core, while the queues are applied. */
  private val sweep = new Area {
    val done = RegInit(False)
    private def counter(width: Int, first: Int) = Reg(UInt(width bits)) init first
    /** the word that comes after this one: its reset value takes long to tell */
    val ahead = new Area {
      val core = RegInit(False)
      val block = counter(blockWidth, 0)
      val word = counter(ConfigWrite.wordWidth, 1)
    }
    private val lastOfCore = coreWords.map(StoredWords.place).max
    private def resets(registers: Seq[Register]) = registers.groupBy(_.reset.of(c)).filter(_._1 != 0).toSeq.sortBy(_._1).map { case (reset, same) =>
      reset -> same.map(r => ahead.word === StoredWords.place(r)).orR }
    private val hits = resets(queueWords).map { case (reset, hit) => reset -> (hit && !ahead.core) } ++
      resets(coreWords).map { case (reset, hit) => reset -> (hit && ahead.core) }
    private def load[T <: Data](value: T, first: T): T = RegNextWhen(value, !done) init first
    val core = load(ahead.core, False)
    val block = load(ahead.block, U(0, blockWidth bits))
    val word = load(ahead.word, U(0, ConfigWrite.wordWidth bits))
    val value = load(hits.map { case (reset, hit) => Mux(hit, B(reset, 32 bits), B(0, 32 bits)) }.reduceBalancedTree(_ | _),
      B(queueWords.find(StoredWords.place(_) == 0).map(_.reset.of(c)).getOrElse(BigInt(0)), 32 bits))
    when(!done) {
      ahead.word := ahead.word + 1
      when(ahead.word === Mux(ahead.core, U(lastOfCore, ConfigWrite.wordWidth bits), U(lastWord, ConfigWrite.wordWidth bits))) {
        ahead.word := 0
        ahead.block := ahead.block + 1
        ahead.core := ahead.block === c.queues - 1
      }
      done := core && word === lastOfCore
    }
  }

  private val initial = RegInit(True)
  private val pending = Reg(Bits(c.queues bits)) init B(c.queues bits, default -> True)

  private val copy = new Area {
    /** queues of which a copy may begin, of the cycle before: that nothing of a queue is on its way is known late */
    val ready = Reg(Bits(c.queues bits)) init 0
    val begins = ready.orR
    val goesOn = RegInit(False)
    val active = begins || goesOn
    val last = Reg(c.queueId) init 0
    val queue = begins ? OHToUInt(OHMasking.first(ready)).resize(c.queueWidth) | last
    last := queue
    val word = Reg(UInt(ConfigWrite.wordWidth bits)) init 0
    val reading = RegNext(active) init False
    /** with the last word; `finishing` a cycle later */
    val ends = io.config.valid && !reading
    val finishing = RegNext(ends) init False
    val busy = active || reading || io.config.valid || finishing
    ready := (pending & io.applyReady).andMask(!busy && (sweep.core || sweep.done))
    goesOn := active && word =/= lastWord
    word := active ? (word + 1) | U(0)
  }

  memory.write(
    Mux(sweep.done, io.block @@ io.address, sweep.block @@ sweep.word).resized,
    Mux(sweep.done, io.wdata, sweep.value),
    !sweep.done || io.write)
  io.rdata := memory.readSync(Mux(copy.active, copy.queue.resize(blockWidth) @@ copy.word, io.block @@ io.address).resized)

  io.config.valid := RegNext(copy.reading) init False
  io.config.queue := copy.last
  /** of the next cycle's `config` */
  private val nextWord = RegNext(copy.word)
  io.config.word := RegNext(nextWord)
  io.config.data := RegNext(io.rdata)

  io.initial := initial
  when(pending === 0)(initial := False)

  /** A word on its way as a queue would take it, and which word it is. */
  private val offered = new Area {
    val registers = LiveConfig.queue(c)
    val config = QueueConfig(c)
    for ((_, take) <- registers) take(config, io.config.data)
    val hit = registers.map { case (name, _) => name -> (RegNext(copy.reading && nextWord === RegisterMap.queue(name).word) init False) }.toMap
  }

  for (q <- 0 until c.queues) {
    val mine = io.config.queue === q
    val live = Reg(QueueConfig(c)).setName(s"queue$q") init LiveConfig.queueOfReset(c)
    for ((name, take) <- offered.registers) when(mine && offered.hit(name))(take(live, io.config.data))
    io.live(q) := live

    val changes = Reg(Bool())
    when(mine && offered.hit("POLICY")) {
      changes := initial || offered.config.policy =/= live.policy || offered.config.unit =/= live.unit
    }

    // from registers: all policies' units get them
    val ended = copy.ends && mine
    val done = RegNext(ended) init False
    when(done)(pending(q) := False)
    when(io.apply(q))(pending(q) := True)
    io.applied(q) := done
    io.clear(q) := RegNext(ended && changes) init False
  }
  io.pending := pending
  io.copying := copy.busy
  io.busy := !sweep.done || copy.busy
}

object StoredWords {
  /** number of a queue, or `c.queues`, which is the core */
  def blockWidth(c: WeirConfig): Int = log2Up(c.queues + 1)

  /** the core's words that are read back as they were written */
  def core(c: WeirConfig): Seq[Register] = {
    val words = RegisterMap.core.built(c).filter(_.access == Access.ReadWrite)
    require(words.map(place).distinct.size == words.size, "RegisterMap.core: two words that are stored have the same low bits of their addresses")
    words
  }

  /** where a word is in its block's part of the RAM */
  def place(r: Register): Int = r.word & ((1 << ConfigWrite.wordWidth) - 1)
}
