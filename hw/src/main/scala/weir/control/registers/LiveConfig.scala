package weir.control.registers
import spinal.core._
import weir.WeirConfig

/** From register words to live configuration. Values that hardware could not use are replaced here. */
object LiveConfig {
  /** What a register's word becomes of the live configuration. */
  type Take[T] = (T, Bits) => Unit

  private def field(block: Block, register: String, name: String, word: Bits): Bits = {
    val f = block(register).field(name)
    word(f.high downto f.low)
  }

  /** The registers of a queue's configuration that the core itself uses, each with the part of it that its word tells; the others are the
    * policies'.
    */
  def queue(c: WeirConfig): Seq[(String, Take[QueueConfig])] = {
    def bits(word: Bits, register: String, name: String) = field(RegisterMap.queue, register, name, word)
    def register(name: String)(take: Take[QueueConfig]): Seq[(String, Take[QueueConfig])] = Seq(name -> take)
    def limited(word: Bits, width: Int, most: Int): UInt = {
      val value = word(width - 1 downto 0).asUInt
      Mux(value > most, U(most, width bits), value)
    }
    val every = register("POLICY") { (live, word) =>
      val unit = bits(word, "POLICY", "UNIT").asUInt
      live.policy := bits(word, "POLICY", "POLICY").asUInt
      live.unit := Mux(unit === 3, U(QueueUnit.bytes, 2 bits), unit)
      live.dropFront := bits(word, "POLICY", "DROP_FRONT").lsb
      live.strict := bits(word, "POLICY", "STRICT").lsb
    } ++
      register("LIMIT_BYTES")((live, word) => live.limitBytes := word(20 downto 0).asUInt) ++
      register("LIMIT_PACKETS")((live, word) => live.limitPackets := word(15 downto 0).asUInt) ++
      register("RESERVE_CELLS")((live, word) => live.reserveCells := word(14 downto 0).asUInt) ++
      register("QUANTUM") { (live, word) =>
        val quantum = word(19 downto 0).asUInt
        live.quantum := Mux(quantum < c.maxFrameBytes, U(c.maxFrameBytes, 20 bits), quantum)
      }
    val jumbo = register("MRED")((live, word) => live.mred := bits(word, "MRED", "ENABLE").lsb) ++
      register("MERGE") { (live, word) =>
        live.merge.flow := bits(word, "MERGE", "MODE").asUInt === MergeMode.flow
        live.merge.classes := bits(word, "MERGE", "MODE").asUInt === MergeMode.classes
      } ++
      register("MERGE_JFET")((live, word) => live.merge.jfetNs := word(c.jfetWidth - 1 downto 0).asUInt) ++
      register("MERGE_MAX_BYTES")((live, word) => live.merge.maxBytes := limited(word, 14, c.maxFrameBytes)) ++
      register("MERGE_MAX_SUM")((live, word) => live.merge.maxSum := limited(word, 14, 8960)) ++
      register("MERGE_MAX_COUNT")((live, word) => live.merge.maxCount := limited(word, c.memberWidth, 448))
    if (c.jumbo) every ++ jumbo else every
  }

  /** What the reset values make of a queue. */
  def queueOfReset(c: WeirConfig): QueueConfig = {
    val live = QueueConfig(c)
    for ((name, take) <- queue(c)) take(live, B(RegisterMap.queue(name).reset.of(c), 32 bits))
    live
  }

  /** What the reset values make of the core. */
  def coreOfReset(c: WeirConfig): CoreConfig = {
    val live = CoreConfig(c)
    absent(c, live)
    for ((name, take) <- core(c)) take(live, B(RegisterMap.core(name).reset.of(c), 32 bits))
    live
  }

  /** Packets wait for their spacing: SPACING.ENABLE counts with JUMBO.MODE 1 only. */
  def spacing(live: CoreConfig): Bool = live.spacing && live.split && !live.transit

  /** What no register of this build tells. */
  def absent(c: WeirConfig, live: CoreConfig): Unit = if (!c.jumbo) {
    live.split := False
    live.transit := False
    live.jumboL3 := False
    live.jumboTick := 0
    live.jumboEtherType := 0
    live.jumboProtocol := 0
  }

  /** The registers of the core's configuration, each with the part of it that its word alone tells. */
  def core(c: WeirConfig): Seq[(String, Take[CoreConfig])] = {
    def bits(word: Bits, register: String, name: String) = field(RegisterMap.core, register, name, word)
    def built(number: Bits): UInt =
      if (c.queues == 1) U(0, c.queueWidth bits)
      else Mux(number.asUInt < c.queues, number(c.queueWidth - 1 downto 0).asUInt, U(0, c.queueWidth bits))
    def register(name: String)(take: Take[CoreConfig]): Seq[(String, Take[CoreConfig])] = Seq(name -> take)

    register("MAX_FRAME") { (live, word) =>
      live.maxFrame := Mux(word.asUInt > c.maxFrameBytes, U(c.maxFrameBytes, c.lengthWidth bits), word.asUInt.resized)
    } ++
      register("SHARED_CELLS")((live, word) => live.sharedCells := word(14 downto 0).asUInt) ++
      register("DEFAULT_QUEUE")((live, word) => live.defaultQueue := built(word(3 downto 0))) ++
      (0 until 8).flatMap(n => register(s"DSCP_MAP$n") { (live, word) =>
        for (k <- 0 until 8) live.dscpQueue(8 * n + k) := built(word(4 * k, 4 bits))
      }) ++
      register("SHAPER_COST_LO")((live, word) => live.shaperCost(31 downto 0) := word.asUInt) ++
      register("SHAPER_COST_HI")((live, word) => live.shaperCost(35 downto 32) := word(3 downto 0).asUInt) ++
      register("SHAPER_BURST")((live, word) => live.shaperBurst := word.asUInt) ++
      register("SHAPER_OVERHEAD") { (live, word) =>
        live.shaperOverhead := bits(word, "SHAPER_OVERHEAD", "BYTES").asSInt
        live.shaperMpu := bits(word, "SHAPER_OVERHEAD", "MPU").asUInt
      } ++
      register("LFSR_FIXED") { (live, word) =>
        live.lfsrFixed := bits(word, "LFSR_FIXED", "ENABLE").lsb
        live.lfsrFixedDraw := bits(word, "LFSR_FIXED", "VALUE").asUInt
      } ++
      (if (c.trace) register("TRACE_CTRL") { (live, word) =>
        live.traceEnable := bits(word, "TRACE_CTRL", "ENABLE").lsb
        live.traceQueues := bits(word, "TRACE_CTRL", "QUEUES").resize(c.queues)
        live.traceKinds := Cat(Seq("ARRIVALS", "DEPARTURES", "TICKS").map(bits(word, "TRACE_CTRL", _)))
      } else Nil) ++
      (if (c.jumbo) jumbo(c) else Nil)
  }

  private def jumbo(c: WeirConfig): Seq[(String, Take[CoreConfig])] = {
    def bits(word: Bits, register: String, name: String) = field(RegisterMap.core, register, name, word)
    val jumbo: Take[CoreConfig] = (live, word) => {
      val tick = bits(word, "JUMBO", "TICK").asUInt
      val mode = bits(word, "JUMBO", "MODE").asUInt
      live.transit := mode === JumboMode.transit
      live.split := mode === JumboMode.split || mode === JumboMode.transit
      live.jumboL3 := bits(word, "JUMBO", "FORM").lsb
      live.jumboTick := Mux(tick > 16, U(16, 5 bits), tick)
    }
    val tells: Take[CoreConfig] = (live, word) => {
      live.jumboEtherType := bits(word, "JUMBO_TYPE", "ETHERTYPE")
      live.jumboProtocol := bits(word, "JUMBO_TYPE", "PROTOCOL")
    }
    val unmatched: Take[CoreConfig] = (live, word) => {
      live.matching.unmatchedClass := bits(word, "MATCH", "CLASS").asUInt
      live.matching.unmatchedBypass := bits(word, "MATCH", "BYPASS").lsb
    }
    val spacing: Take[CoreConfig] = (live, word) => {
      live.spacing := bits(word, "SPACING", "ENABLE").lsb
      live.spacingLimitNs := bits(word, "SPACING", "LIMIT").asUInt
    }
    def actions(n: Int): Take[CoreConfig] = (live, word) => for (k <- 0 until 4) {
      val action = word(8 * k, 8 bits)
      val rule = live.matching.rules(4 * n + k)
      rule.klass := action(c.classWidth - 1 downto 0).asUInt
      rule.bypass := action(4)
      rule.v6 := action(5)
      rule.enable := action(7)
    }
    Seq("JUMBO" -> jumbo, "JUMBO_TYPE" -> tells, "MATCH" -> unmatched, "SPACING" -> spacing) ++
      (0 until c.matchRules / 4).map(n => s"MATCH_ACTION$n" -> actions(n))
  }
}
