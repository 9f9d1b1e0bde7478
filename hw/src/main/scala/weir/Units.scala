package weir
import spinal.core._
import weir.policy.Policy

/** Everything that is generated and tested apart from a whole core. A new unit is one line here, that of a policy none. */
object Units {
  private val c = WeirConfig.preset("ten-gig")
  /** RED without the policies that share its unit. */
  private val red = c.copy(policies = Set(Policy.DropTail, Policy.Red))
  /** The smallest, with policies whose numbers have others between them. */
  private val few = WeirConfig.preset("tail").copy(policies = Set(Policy.DropTail, Policy.Fn, Policy.Codel))
  /** Not even a trace. */
  private val untraced = WeirConfig.preset("tail").copy(traceDepth = 0)
  /** Five cores with as little as possible in each. */
  private val outputs = WeirConfig.preset("tail").copy(cells = 512, clockHz = board.Boards.netFpgaHz)
  /** Four cores likewise, with two queues. */
  private val sume = outputs.copy(queues = 2, clockHz = board.NetFpgaSume.coreHz)
  /** What a solver can go through exhaustively. */
  private val smallest = WeirConfig("smallest", cells = 8, descriptors = 4, traceDepth = 4)
  private val tiny = WeirConfig("tiny", queues = 2, cells = 8, descriptors = 4)
  private val grouped = tiny.copy(jumbo = true)
  /** no policy decides afterwards: the induction of groups and of that together is too much for the solver */
  private val asking = grouped.copy(policies = Set(Policy.DropTail, Policy.DtEcn))

  /** The policies' units as they are in a core, by the name of the engine; those of the RED family are below, each by itself. */
  private def engines: Seq[(String, () => Component)] =
    for (engine <- Policy.all.flatMap(_.engine).distinct if engine != policy.red.RedFamily)
      yield engine.name.capitalize -> (() => policy.GatedEngine.unit(c, engine))

  /** Units with a bench in `cocotb-tests/`; the name is the file's and the top module's. */
  val all: Seq[(String, () => Component)] = Seq(
    "CsrUnit" -> (() => new control.registers.CsrUnit(c)),
    "CsrUnitFew" -> (() => new control.registers.CsrUnit(few)),
    "CsrUnitUntraced" -> (() => new control.registers.CsrUnit(untraced)),
    "CoreUntraced" -> (() => new WeirCore(untraced)),
    "TallyCounters" -> (() => control.counters.Counters.build(c)),
    "RowCounters" -> (() => control.counters.Counters.build(WeirConfig.preset("board"))),
    "TraceFifo" -> (() => new control.trace.TraceFifo(c)),
    "TraceMerge" -> (() => new control.trace.TraceMerge(c)),
    "Shaper" -> (() => new transmit.Shaper(c)),
    "Ingress" -> (() => new receive.Ingress(c)),
    "Rewrite" -> (() => new transmit.Rewrite(c)),
    "FrameCloser" -> (() => new transmit.FrameCloser(c)),
    "Lfsr" -> (() => new admission.Lfsr(c)),
    "IdleDecay" -> (() => new policy.red.IdleDecay(red)),
    "Ewma" -> (() => new policy.red.Ewma(red)),
    "Red" -> (() => new policy.red.Red(red)),
    "RedPolicy" -> (() => new policy.red.RedPolicy(red)),
    "RedIsred" -> (() => new policy.red.RedPolicy(red.copy(policies = red.policies + Policy.Isred))),
    "RedAred" -> (() => new policy.red.RedPolicy(red.copy(policies = red.policies + Policy.Ared))),
    "RedFamily" -> (() =>
      new policy.red.RedPolicy(red.copy(policies = red.policies ++ Set(Policy.Isred, Policy.Ared)))),
    "DropTail" -> (() => new policy.DropTail(c)),
    "CompactPolicies" -> (() => new policy.compact.CompactPolicies(c.copy(policies = red.policies + Policy.DtEcn))),
    "FreeList" -> (() => new buffer.FreeList(c)),
    "CellRam" -> (() => new buffer.CellRam(c)),
    "CellWriter" -> (() => new receive.CellWriter(c)),
    "CellWriterPlain" -> (() => new receive.CellWriter(c.copy(jumbo = false))),
    "CommitFifo" -> (() => new admission.CommitFifo(c)),
    "Spacing" -> (() => new admission.Spacing(c)),
    "DescriptorPool" -> (() => new buffer.DescriptorPool(c)),
    "Backlog" -> (() => new buffer.Backlog(c)),
    "Queues" -> (() => new buffer.Queues(c)),
    "ArrivalDecision" -> (() => new admission.ArrivalDecision(c)),
    "Scheduler" -> (() => new transmit.Scheduler(c)),
    "HeadDrop" -> (() => new buffer.HeadDrop(c)),
    "JumboUnpack" -> (() => new receive.JumboUnpack(c)),
    "Egress" -> (() => new transmit.Egress(c)),
    "JumboPack" -> (() => new transmit.JumboPack(c)),
    "FlowTable" -> (() => new receive.FlowTable(c)),
    "FlowGroups" -> (() => new buffer.FlowGroups(c)),
    "MatchLookup" -> (() => new receive.MatchLookup(c)),
    "Parking" -> (() => new buffer.Parking(c)),
    "TransitPatch" -> (() => new transmit.TransitPatch(c)),
    "JumboList" -> (() => new buffer.JumboList(c)),
    "PartialDrop" -> (() => new buffer.PartialDrop(c)),
    "GroupAccumulator" -> (() => new transmit.GroupAccumulator(c)),
    "MarkWords" -> (() => new transmit.MarkWords(c)),
    "TenGigabitMac" -> (() => new mac.TenGigabitMac),
    "GigabitMac" -> (() => new mac.GigabitMac),
    "RgmiiMacEcp5" -> (() => new board.RgmiiMacEcp5(rxTaps = 80, txTaps = 80)),
    "RgmiiMac7Series" -> (() => new board.RgmiiMac7Series(rxTaps = 12, referenceMhz = 200, shifted = true)),
    "RgmiiMac7SeriesAligned" -> (() => new board.RgmiiMac7Series(rxTaps = 0, referenceMhz = 200, shifted = false)),
    "RgmiiMac7SeriesShared" -> (() => new board.RgmiiMac7Series(rxTaps = 12, referenceMhz = 300, shifted = false, group = "bank_15", calibrates = false)),
    "AxiLiteDemux" -> (() => new board.netfpga.AxiLiteDemux(2, 5)),
    "NetFpgaOutputQueues" -> (() => new board.netfpga.NetFpgaOutputQueues(outputs)),
    "PcieCompleter" -> (() => new board.pcie.PcieCompleter(19)),
    "AccessCrossingUnit" -> (() => new board.pcie.AccessCrossingUnit(19, patienceWidth = 8)),
    "Si5324Setup" -> (() => new board.Si5324Setup(clockHz = 4000000, bitHz = 50000, startCycles = 400, settleCycles = 300)),
    "SumeRegisters" -> (() => new board.SumeRegisters(4)),
    "NetFpgaSume" -> (() => new board.NetFpgaSume(sume, startCycles = 20, settleCycles = 20)),
    "UartBridge" -> (() => new board.uart.UartBridge(board.uart.UartConfig(clockHz = 62500000))),
    "UartBridgeFast" -> (() => new board.uart.UartBridge(
      board.uart.UartConfig(clockHz = 62500000, baud = 7812500, cores = 2, requestBytes = 256, patience = 256))),
    "UartBump" -> (() => new board.UartBump(board.Boards.versa.copy(queues = 4, descriptors = 1024), baud = 4000000))
  ) ++ engines

  /** Property components of `hw/formal/`; the name is the file's and the top module's. A `Leak` holds a fault. */
  val formal: Seq[(String, () => Component)] =
    proof("FreeList", new weir.formal.FreeListProperties(smallest, _)) ++
      proof("Lfsr", new weir.formal.LfsrProperties(smallest, _)) ++
      proof("FrameCloser", new weir.formal.FrameCloserProperties(smallest, _)) ++
      proof("Rewrite", new weir.formal.RewriteProperties(smallest, _)) ++
      proof("DescriptorPool", new weir.formal.DescriptorPoolProperties(smallest, _)) ++
      proof("Queues", new weir.formal.QueuesProperties(tiny, _)) ++
      proof("RedCount", new weir.formal.RedCountProperties(tiny, _)) ++
      proof("Shaper", new weir.formal.ShaperProperties(c, _)) ++
      proof("CounterBank", new weir.formal.CounterBankProperties(tiny, steps = false, _)) ++
      proof("CounterSteps", new weir.formal.CounterBankProperties(tiny, steps = true, _)) ++
      proof("TraceFifo", new weir.formal.TraceFifoProperties(smallest, _)) ++ Seq(
        "FreeListUsed" -> (() => new weir.formal.FreeListProperties(smallest, leak = false, used = true)),
        "FreeListUsedLeak" -> (() => new weir.formal.FreeListProperties(smallest, leak = true, used = true)),
        "QueueGroupsProperties" -> (() => new weir.formal.QueueGroupsProperties(grouped, begun = false, None)),
        "QueueGroupsLost" -> (() => new weir.formal.QueueGroupsProperties(grouped, begun = false, Some("lost"))),
        "QueueGroupsBegun" -> (() => new weir.formal.QueueGroupsProperties(grouped, begun = true, None)),
        "QueueGroupsTwice" -> (() => new weir.formal.QueueGroupsProperties(grouped, begun = true, Some("twice"))),
        "BacklogProperties" -> (() => new weir.formal.BacklogProperties(c, None)),
        "BacklogOnce" -> (() => new weir.formal.BacklogProperties(c, Some("once"))),
        "BacklogSilent" -> (() => new weir.formal.BacklogProperties(c, Some("silent"))),
        "EgressProperties" -> (() => new weir.formal.EgressProperties(smallest, 80, bounds = false, None)),
        "EgressLink" -> (() => new weir.formal.EgressProperties(smallest, 80, bounds = false, Some("link"))),
        "EgressBounds" -> (() => new weir.formal.EgressProperties(smallest, 9216, bounds = true, None)),
        "EgressCredit" -> (() => new weir.formal.EgressProperties(smallest, 9216, bounds = true, Some("credit"))),
        "EgressRoom" -> (() => new weir.formal.EgressProperties(smallest, 9216, bounds = true, Some("room"))),
        "EgressGroupsProperties" -> (() => new weir.formal.EgressGroupsProperties(grouped, 80, None)),
        "EgressGroupsCredit" -> (() => new weir.formal.EgressGroupsProperties(grouped, 300, Some("credit"))),
        "EgressGroupsTwice" -> (() => new weir.formal.EgressGroupsProperties(grouped, 80, Some("twice"))),
        "ShiftSaturateProperties" -> (() => new weir.formal.ShiftSaturateProperties(54, 32, leak = false)),
        "ShiftSaturateMeans" -> (() => new weir.formal.ShiftSaturateProperties(42, 36, leak = false)),
        "ShiftSaturateSlots" -> (() => new weir.formal.ShiftSaturateProperties(65, 22, leak = false)),
        "ShiftSaturateRise" -> (() => new weir.formal.ShiftSaturateProperties(64, 43, leak = false)),
        "ShiftSaturateGain" -> (() => new weir.formal.ShiftSaturateProperties(50, 36, leak = false)),
        "ShiftSaturateLeak" -> (() => new weir.formal.ShiftSaturateProperties(54, 32, leak = true)),
        "RedProperties" -> (() => new weir.formal.RedProperties(tiny, None)),
        "RedRange" -> (() => new weir.formal.RedProperties(tiny, Some("range"))),
        "RedMark" -> (() => new weir.formal.RedProperties(tiny, Some("mark"))),
        "RedFew" -> (() => new weir.formal.RedProperties(tiny, Some("few"))),
        "ArrivalDecisionProperties" -> (() => new weir.formal.ArrivalDecisionProperties(tiny, None)),
        "ArrivalDecisionRoom" -> (() => new weir.formal.ArrivalDecisionProperties(tiny, Some("room"))),
        "ArrivalDecisionDescriptor" -> (() => new weir.formal.ArrivalDecisionProperties(tiny, Some("descriptor"))),
        "ArrivalDecisionSpare" -> (() => new weir.formal.ArrivalDecisionProperties(tiny, Some("spare"))),
        "ArrivalDecisionExempt" -> (() => new weir.formal.ArrivalDecisionProperties(tiny, Some("exempt"))),
        "ArrivalDecisionGroupsProperties" -> (() => new weir.formal.ArrivalDecisionGroupsProperties(asking, None)),
        "ArrivalDecisionGroupsComplete" -> (() =>
          new weir.formal.ArrivalDecisionGroupsProperties(asking, Some("complete"))),
        "RegisterMasterProperties" -> (() => new weir.formal.RegisterMasterProperties(None)),
        "RegisterMasterEarly" -> (() => new weir.formal.RegisterMasterProperties(Some("early"))),
        "RegisterMasterHasty" -> (() => new weir.formal.RegisterMasterProperties(Some("hasty"))),
        "AxiLiteFrontProperties" -> (() => new weir.formal.AxiLiteFrontProperties(None)),
        "AxiLiteFrontHang" -> (() => new weir.formal.AxiLiteFrontProperties(Some("hang"))),
        "AxiLiteFrontStable" -> (() => new weir.formal.AxiLiteFrontProperties(Some("stable")))
      )

  private def proof(name: String, make: Boolean => Component): Seq[(String, () => Component)] =
    Seq(s"${name}Properties" -> (() => make(false)), s"${name}Leak" -> (() => make(true)))
}
