package weir.control.registers
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The registers of a core and its queues, as listed in [[RegisterMap]].
  *
  * An access takes 5 cycles, from `bus.valid` to `bus.ready`: take the request, decode, gather (first half of the read
  * multiplexer), execute (second half), respond. Longer: reads of counters (passed on to `counters`), writes to
  * a queue's configuration while its apply is pending, SNAPSHOT while `snapshotBusy`, CORE_APPLY while words of the match table are being taken over ([[MatchTable]]), and any access while the words
  * of a queue are copied. All side effects happen in the cycle of `bus.ready`.
  *
  * Whatever is read back as it was written is in a RAM ([[StoredWords]]). The queues' configuration is nowhere else; of the core's, flip-flops
  * keep what hardware will make of it. APPLY raises `apply(q)`; from a cycle with `applyReady(q)` on, the queue's words are copied, one a cycle, to `config` and
  * `queueConfig`; `apply(q)` falls after the last, with `applied(q)`. The queue makes no decision in between, so it
  * never sees half a configuration. CORE_APPLY acts in the cycle of `bus.ready`. After reset shadow and live configuration take the reset
  * values, the queues' by a sweep and an apply of every queue; `softReset` is only passed on.
  */
case class RegisterFile(c: WeirConfig) extends Component {
  val io = new RegisterPorts(c) {
    val bus = slave(CsrBus(RegisterMap.addressWidth - 2))
  }

  private val coreRegisters = RegisterMap.core.built(c)
  private val queueRegisters = RegisterMap.queue.built(c)
  private val traceWords = coreRegisters.filter(_.name.startsWith("TRACE_DATA"))

  private object State extends SpinalEnum(binaryOneHot) {
    val idle, decode, gather, execute, forward, respond = newElement()
  }
  private val state = RegInit(State.idle())

  private val words = StoredWords(c)

  private val request = new Area {
    private val starts = state === State.idle && io.bus.valid
    val address = RegNextWhen(io.bus.address, starts)
    val wdata = RegNextWhen(io.bus.wdata, starts)
    val write = RegNextWhen(io.bus.write, starts)
    when(starts)(state := State.decode)
  }

  private val decode = new Area {
    val decoder = RegisterDecoder(c)
    decoder.io.address := request.address
    val core = RegNextWhen(decoder.io.core, state === State.decode)
    val queue = RegNextWhen(decoder.io.queue, state === State.decode)
    val mapped = RegNextWhen(decoder.io.mapped, state === State.decode)
    val writable = RegNextWhen(decoder.io.writable, state === State.decode)
    val counter = RegNextWhen(decoder.io.counter, state === State.decode)
    val shadow = RegNextWhen(decoder.io.shadow, state === State.decode)
    /** its word is in the RAM */
    val stored = RegNextWhen(decoder.io.stored, state === State.decode)
    /** of which block, one bit each, the core's the highest */
    val blockNow = (state === State.decode) ? (decoder.io.core ## decoder.io.queue) | (core ## queue)
    /** the low 8 address bits as two digits, one bit for each value: to be used at writes, for which a register needs no more than both */
    private val digits = for (low <- Seq(4, 0)) yield
      RegNextWhen(B(1, 16 bits) |<< request.address(low, 4 bits), state === State.decode)
    def at(register: Register): Bool = digits(0)(register.word >> 4 & 15) && digits(1)(register.word & 15)
    private def hits(registers: Seq[Register], prefix: String): Map[String, Bool] = registers.map { r =>
      r.name -> RegNextWhen(request.address.resize(8) === r.word, state === State.decode).setName(s"hit_${prefix}_${r.name}")
    }.toMap
    /** the low 8 address bits are those of this register */
    val coreHit = hits(coreRegisters.filter(r => r.kind != Kind.Counter && r.access != Access.ReadWrite && !traceWords.contains(r)), "core")
    val queueHit = hits(queueRegisters.filter(r => r.kind != Kind.Counter && r.kind != Kind.Shadow || r.name == "POLICY"), "queue")
    /** an access to one word of a pair of the trace's record, of each pair; a pair begins at an even word */
    val traceHit = for (pair <- traceWords.grouped(2).toSeq) yield
      RegNextWhen(decoder.io.core && request.address.resize(8)(7 downto 1) === pair.head.word >> 1, state === State.decode)
    require(traceWords.zipWithIndex.forall { case (r, n) => r.word == traceWords.head.word + n } && traceWords.headOption.forall(_.word % 2 == 0))
    /** the bits that do not exist of a word that is stored: from a register, as it is written two cycles later at the earliest */
    val absent = {
      val here = queueRegisters.filter(_.kind == Kind.Shadow).map(r => r -> !decoder.io.core) ++ StoredWords.core(c).map(r => r -> decoder.io.core)
      val told = here.groupBy(_._1.mask).filter(_._1 != 0xffffffffL).toSeq.sortBy(_._1).map { case (bits, registers) =>
        val hit = RegNextWhen(registers.map { case (r, block) => block && request.address.resize(8) === r.word }.orR, state === State.decode)
        Mux(hit, ~B(bits, 32 bits), B(0, 32 bits))
      }.reduceBalancedTree(_ | _)
      RegNextWhen(told, state === State.gather)
    }
    when(state === State.decode && !words.io.busy)(state := State.gather)
  }

  /** The one cycle of an access that changes anything. */
  private val strobe = RegInit(False)
  private def written(name: String): Bool = strobe && decode.core && decode.coreHit(name)
  private def triggered(name: String): Bool = written(name) && request.wdata(0)

  /** Accesses to registers of block 0 that are only stored do not wait: what they write is decoded a cycle ahead, and each has its own strobe. */
  private val stores = Bool()
  private def stored(register: Bool): Bool = RegNext(stores && register) init False
  private def stored(name: String): Bool = stored(decode.at(RegisterMap.core(name)))

  private val coreApply = new Area {
    val now = stored(decode.coreHit("CORE_APPLY") && request.wdata(0))
    /** what was written, as the next apply takes it over */
    val next = Reg(CoreConfig(c)) init LiveConfig.coreOfReset(c)
    LiveConfig.absent(c, next)
    for ((name, take) <- LiveConfig.core(c)) when(stored(name))(take(next, request.wdata))
    private val taken = CoreConfig(c).allowOverride()
    taken := next
    if (c.jumbo) taken.spacing := LiveConfig.spacing(next)
    val live = RegNextWhen(taken, now) init LiveConfig.coreOfReset(c)
    io.coreConfig := live
  }

  /** The match table: its rules' values and masks are used as they stand, as soon as [[MatchTable]] is done with them, the rest is live after
    * CORE_APPLY, which waits for that.
    */
  private val matching = c.jumbo generate new Area {
    private val live = coreApply.live.matching
    private val registers = for (n <- 0 until c.matchRules; name <- Seq("VALUE0", "VALUE1", "MASK0", "MASK1")) yield RegisterMap.core(s"MATCH${n}_$name")
    require(registers.map(_.word) == registers.indices.map(registers.head.word + _) && registers.head.word % registers.size == 0)
    val table = new MatchTable(c)
    table.io.write.valid := stored(registers.map(decode.at).orR)
    table.io.write.place := request.address.resized
    table.io.write.data := request.wdata
    io.matching.column << table.io.column
    io.matching.actions := live
    for ((rule, n) <- io.matching.actions.rules.zipWithIndex) {
      rule.enable.allowOverride()
      rule.enable := live.rules(n).enable && !table.io.off(n)
    }
    private val enabled = B(live.rules.map(_.enable))
    /** a rule that is in use is written */
    val rules = for (n <- 0 until c.matchRules) yield enabled(n) && registers.slice(4 * n, 4 * n + 4).map(decode.at).orR
    val differs = RegNext(coreApply.next.matching =/= live) init False
    io.matchChanged := coreApply.now && differs || stored(rules.orR) || (table.io.returns & enabled).orR
  }

  private val queueApply = new Area {
    words.io.address := request.address.resize(ConfigWrite.wordWidth)
    words.io.block := OHToUInt(decode.blockNow)
    words.io.write := strobe && decode.stored
    words.io.wdata := request.wdata & ~decode.absent
    words.io.apply := 0
    when(strobe && decode.queueHit("APPLY") && request.wdata(0))(words.io.apply := decode.queue)
    words.io.applyReady := io.applyReady
    io.config << words.io.config
    io.queueConfig := words.io.live
    io.apply := words.io.pending
    io.copying := words.io.copying
    io.applied := words.io.applied
    io.clear := words.io.clear
  }
  private val applyPending = words.io.pending.orR

  private val generation = new Area {
    private val applied = io.applied & ~B(c.queues bits, default -> words.io.initial)
    val more = Reg(UInt(4 bits)) init 0
    val count = Reg(UInt(32 bits)) init 0
    more := 0
    when(applied.orR || coreApply.now)(more := CountOne(applied).resize(4) + coreApply.now.asUInt)
    when(more =/= 0)(count := count + more)
  }

  private val pulses = new Area {
    io.softReset := triggered("CTRL")
    io.snapshot := triggered("SNAPSHOT")
    if (c.trace) {
      io.tracePop := triggered("TRACE_POP")
      // for the read of the memory that ends with `decode`
      io.traceOdd := request.address.lsb
    }
    io.seed.valid := RegNext(stored("LFSR_SEED_HI")) init False
    val seedLow = RegNextWhen(request.wdata, stored("LFSR_SEED_LO")) init 0
    /** the access has ended; its word stands until a next one is taken, which is with the next cycle at the earliest */
    io.seed.payload := request.wdata ## seedLow
  }

  private val gather = new Area {
    val nowHigh = Reg(Bits(16 bits)) init 0
    when(state === State.gather) {
      state := State.execute
      when(decode.core && decode.coreHit("NOW_LO") && !request.write)(nowHigh := io.now(47 downto 32).asBits)
    }

    /** Since the snapshot before this one, or the reset: the peaks themselves start anew with both. */
    private def peak(value: UInt, first: Int = 0): Bits =
      RegNextWhen(value.asBits, io.snapshot || io.resetting, B(first, widthOf(value) bits))
    private def constants = coreRegisters.filter(_.kind == Kind.Constant).map(r => r.name -> B(r.reset.of(c), 32 bits))
    private def status = Seq(io.statusLinkUp, io.resetting, io.quiet, io.snapshotBusy, applyPending)
    private def coreLive: Seq[(String, Bits)] = Seq(
      "STATUS" -> status.asBits(), "GENERATION" -> generation.count.asBits,
      "NOW_LO" -> io.now(31 downto 0).asBits, "NOW_HI" -> nowHigh
    ) ++ traceLevel ++ Seq("FREE_CELLS" -> io.freeCells.asBits, "FREE_CELLS_MIN" -> peak(io.freeCellsMin, c.cells - 1),
      "HELD_PACKETS" -> io.heldPackets.asBits)
    private def traceLevel: Seq[(String, Bits)] = if (c.trace) Seq("TRACE_LEVEL" -> io.traceLevel.asBits) else Nil
    private def traceData: Seq[(Bool, Seq[(Bool, Bits)])] =
      if (c.trace) Seq(decode.traceHit.orR -> decode.traceHit.zip(io.traceData)) else Nil
    private def queueLive(live: QueueLive): Seq[(String, Bits)] = Seq(
      "LIVE_BYTES" -> live.bytes.asBits, "LIVE_PACKETS" -> live.packets.asBits,
      "LIVE_FRAMES" -> live.frames.asBits, "LIVE_CELLS" -> live.cells.asBits,
      "LIVE_AVERAGE" -> live.average(42 downto 11).asBits,
      "PEAK_BYTES" -> peak(live.peakBytes), "PEAK_PACKETS" -> peak(live.peakPackets))
    private def withHits(hit: Map[String, Bool], words: Seq[(String, Bits)]) =
      words.map { case (name, word) => hit(name) -> word.resize(32) }

    val mux = new ReadMux(
      (decode.core -> withHits(decode.coreHit, constants ++ coreLive)) +:
        (0 until c.queues).map(q =>
          decode.queue(q) -> withHits(decode.queueHit, queueLive(io.live(q)))) :+
        (decode.stored -> Seq(decode.stored -> words.io.rdata)) :++ traceData,
      enable = state === State.gather)

    private def policyBuilt: Bool = {
      val policy = RegisterMap.queue("POLICY").field("POLICY")
      c.policies.toSeq.sortBy(_.id).map(request.wdata(policy.high downto policy.low).asUInt === _.id).orR
    }
    val badPolicy = decode.queue.orR && decode.queueHit("POLICY") && !policyBuilt
    val nothingToPop = if (c.trace) decode.core && decode.coreHit("TRACE_POP") && request.wdata(0) && io.traceLevel === 0 else False
    val illegal = RegNextWhen(!decode.mapped || request.write && (!decode.writable || badPolicy || nothingToPop),
      state === State.gather)
  }

  private def tableBusy: Bool = if (c.jumbo) matching.table.io.busy else False

  private val execute = new Area {
    val rdata = RegNextWhen(Mux(state === State.forward, io.counters.rdata, gather.mux.data),
      state === State.execute || state === State.forward)
    val error = Reg(Bool())
    val waitsForApply = decode.shadow && (decode.queue & io.apply).orR
    val waitsForSnapshot = decode.core && decode.coreHit("SNAPSHOT") && io.snapshotBusy
    val waitsForTable = decode.core && decode.coreHit("CORE_APPLY") && tableBusy
    val waits = request.write && !gather.illegal && (waitsForApply || waitsForSnapshot || waitsForTable)

    stores := state === State.execute && request.write && !gather.illegal && decode.core && !waitsForTable
    strobe := False
    when(state === State.execute && !waits) {
      state := Mux(decode.counter && !request.write, State.forward(), State.respond())
      strobe := request.write && !gather.illegal
      error := gather.illegal
    }

    io.counters.valid := state === State.forward
    io.counters.write := False
    io.counters.address := request.address
    io.counters.wdata := 0
    when(state === State.forward && io.counters.ready) {
      state := State.respond
      error := io.counters.error
    }

    io.bus.ready := state === State.respond
    io.bus.rdata := rdata
    io.bus.error := error
    when(state === State.respond)(state := State.idle)
  }

  io.busy := state =/= State.idle || io.bus.valid || applyPending || io.seed.valid || generation.more =/= 0 || words.io.busy || tableBusy
}
