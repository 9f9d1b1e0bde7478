package weir.csr

import spinal.core._
import weir.WeirConfig

/** From register words to live configuration. Values that hardware could not use are replaced here. */
object LiveConfig {
  private def pick(block: Block, word: String => Bits, register: String, field: String): Bits = {
    val f = block(register).field(field)
    word(register)(f.high downto f.low)
  }

  /** @param word the 32 bits of the register of that name, shadow or reset value */
  def queue(c: WeirConfig, word: String => Bits): QueueConfig = {
    def bits(register: String, field: String) = pick(RegisterMap.queue, word, register, field)
    val live = QueueConfig(c)
    val unit = bits("POLICY", "UNIT").asUInt
    val quantum = word("QUANTUM")(19 downto 0).asUInt
    live.policy := bits("POLICY", "POLICY").asUInt
    live.unit := Mux(unit === 3, U(QueueUnit.bytes, 2 bits), unit)
    live.dropFront := bits("POLICY", "DROP_FRONT").lsb
    live.strict := bits("POLICY", "STRICT").lsb
    live.limitBytes := word("LIMIT_BYTES")(20 downto 0).asUInt
    live.limitPackets := word("LIMIT_PACKETS")(15 downto 0).asUInt
    live.reserveCells := word("RESERVE_CELLS")(14 downto 0).asUInt
    live.quantum := Mux(quantum < c.maxFrameBytes, U(c.maxFrameBytes, 20 bits), quantum)
    if (c.jumbo) {
      def limited(register: String, width: Int, most: Int): UInt = {
        val value = word(register)(width - 1 downto 0).asUInt
        Mux(value > most, U(most, width bits), value)
      }
      live.mred := bits("MRED", "ENABLE").lsb
      live.merge.flow := bits("MERGE", "MODE").asUInt === MergeMode.flow
      live.merge.classes := bits("MERGE", "MODE").asUInt === MergeMode.classes
      live.merge.jfetNs := word("MERGE_JFET")(c.jfetWidth - 1 downto 0).asUInt
      live.merge.maxBytes := limited("MERGE_MAX_BYTES", 14, c.maxFrameBytes)
      live.merge.maxSum := limited("MERGE_MAX_SUM", 14, 8960)
      live.merge.maxCount := limited("MERGE_MAX_COUNT", c.memberWidth, 448)
    }
    live
  }

  /** @param word the 32 bits of the register of that name, shadow or reset value */
  def core(c: WeirConfig, word: String => Bits): CoreConfig = {
    def bits(register: String, field: String) = pick(RegisterMap.core, word, register, field)
    def built(number: Bits): UInt =
      Mux(number.asUInt < c.queues, number.asUInt.resize(c.queueWidth), U(0, c.queueWidth bits))
    val live = CoreConfig(c)
    val maxFrame = word("MAX_FRAME").asUInt
    live.maxFrame := Mux(maxFrame > c.maxFrameBytes, U(c.maxFrameBytes, c.lengthWidth bits), maxFrame.resized)
    live.sharedCells := word("SHARED_CELLS")(14 downto 0).asUInt
    live.defaultQueue := built(word("DEFAULT_QUEUE")(3 downto 0))
    for (dscp <- 0 until 64)
      live.dscpQueue(dscp) := built(word(s"DSCP_MAP${dscp / 8}")(4 * (dscp % 8), 4 bits))
    if (c.jumbo) {
      val tick = bits("JUMBO", "TICK").asUInt
      val mode = bits("JUMBO", "MODE").asUInt
      live.transit := mode === JumboMode.transit
      live.split := mode === JumboMode.split || live.transit
      live.jumboL3 := bits("JUMBO", "FORM").lsb
      live.jumboTick := Mux(tick > 16, U(16, 5 bits), tick)
      live.jumboEtherType := bits("JUMBO_TYPE", "ETHERTYPE")
      live.jumboProtocol := bits("JUMBO_TYPE", "PROTOCOL")
      live.matching := matching(c, word)
      live.spacing := mode === JumboMode.split && bits("SPACING", "ENABLE").lsb
      live.spacingLimitNs := bits("SPACING", "LIMIT").asUInt
    } else {
      live.split := False
      live.transit := False
      live.jumboL3 := False
      live.jumboTick := 0
      live.jumboEtherType := 0
      live.jumboProtocol := 0
    }
    live.shaperCost := (word("SHAPER_COST_HI")(3 downto 0) ## word("SHAPER_COST_LO")).asUInt
    live.shaperBurst := word("SHAPER_BURST").asUInt
    live.shaperOverhead := word("SHAPER_OVERHEAD")(15 downto 0).asSInt
    if (c.trace) {
      live.traceEnable := bits("TRACE_CTRL", "ENABLE").lsb
      live.traceQueues := bits("TRACE_CTRL", "QUEUES").resize(c.queues)
      live.traceKinds := bits("TRACE_CTRL", "TICKS") ## bits("TRACE_CTRL", "DEPARTURES") ## bits("TRACE_CTRL", "ARRIVALS")
    }
    live.lfsrFixed := bits("LFSR_FIXED", "ENABLE").lsb
    live.lfsrFixedDraw := bits("LFSR_FIXED", "VALUE").asUInt
    live
  }

  private def matching(c: WeirConfig, word: String => Bits): MatchActions = {
    val live = MatchActions(c)
    for ((rule, n) <- live.rules.zipWithIndex) {
      val action = word(s"MATCH_ACTION${n / 4}")(8 * (n % 4), 8 bits)
      rule.klass := action(c.classWidth - 1 downto 0).asUInt
      rule.bypass := action(4)
      rule.v6 := action(5)
      rule.enable := action(7)
    }
    live.unmatchedClass := pick(RegisterMap.core, word, "MATCH", "CLASS").asUInt
    live.unmatchedBypass := pick(RegisterMap.core, word, "MATCH", "BYPASS").lsb
    live
  }
}
