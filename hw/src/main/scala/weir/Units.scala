package weir

import spinal.core._

/** Everything that is generated and tested apart from a whole core. A new unit is one line here. */
object Units {
  private val c = WeirConfig.preset("ten-gig")
  /** What a solver can go through exhaustively. */
  private val smallest = WeirConfig("smallest", cells = 8, descriptors = 4, traceDepth = 4)
  private val tiny = WeirConfig("tiny", queues = 2, cells = 8, descriptors = 4)

  /** Units with a bench in `cocotb-tests/`; the name is the file's and the top module's. */
  val all: Seq[(String, () => Component)] = Seq(
    "CsrUnit" -> (() => new csr.CsrUnit(c)),
    "CsrUnitTail" -> (() => new csr.CsrUnit(WeirConfig.preset("tail"))),
    "Counters" -> (() => new csr.Counters(c)),
    "TraceFifo" -> (() => new csr.TraceFifo(c)),
    "Shape" -> (() => new egress.Shape(c)),
    "Ingress" -> (() => new frame.Ingress(c)),
    "Rewrite" -> (() => new frame.Rewrite(c)),
    "FrameCloser" -> (() => new frame.FrameCloser(c)),
    "Lfsr" -> (() => new aqm.Lfsr(c)),
    "Ewma" -> (() => new aqm.Ewma(c)),
    "Red" -> (() => new aqm.Red(c)),
    "RedPolicy" -> (() => new aqm.RedPolicy(c)),
    "Fn" -> (() => new aqm.FnUnit(c)),
    "DropTail" -> (() => new aqm.DropTail(c)),
    "FreeList" -> (() => new buffer.FreeList(c)),
    "CellStore" -> (() => new buffer.CellStore(c)),
    "Store" -> (() => new buffer.Store(c)),
    "DescriptorPool" -> (() => new buffer.DescriptorPool(c)),
    "Backlog" -> (() => new buffer.Backlog(c)),
    "Queues" -> (() => new buffer.Queues(c)),
    "Admit" -> (() => new aqm.Admit(c)),
    "Schedule" -> (() => new egress.Schedule(c)),
    "Egress" -> (() => new egress.Egress(c))
  )

  /** Property components of `hw/formal/`; the name is the file's and the top module's. A `Leak` holds a fault. */
  val formal: Seq[(String, () => Component)] =
    proof("FreeList", new weir.formal.FreeListProperties(smallest, _)) ++
      proof("Lfsr", new weir.formal.LfsrProperties(smallest, _)) ++
      proof("FrameCloser", new weir.formal.FrameCloserProperties(smallest, _)) ++
      proof("Rewrite", new weir.formal.RewriteProperties(smallest, _)) ++
      proof("DescriptorPool", new weir.formal.DescriptorPoolProperties(smallest, _)) ++
      proof("Queues", new weir.formal.QueuesProperties(tiny, _)) ++
      proof("TraceFifo", new weir.formal.TraceFifoProperties(smallest, _)) ++ Seq(
        "EgressBounds" -> (() => new weir.formal.EgressProperties(smallest, longest = 9216, bounds = true, leak = false)),
        "EgressBoundsLeak" -> (() => new weir.formal.EgressProperties(smallest, longest = 9216, bounds = true, leak = true)),
        "AxiLiteFrontProperties" -> (() => new weir.formal.AxiLiteFrontProperties(None)),
        "AxiLiteFrontHang" -> (() => new weir.formal.AxiLiteFrontProperties(Some("hang"))),
        "AxiLiteFrontStable" -> (() => new weir.formal.AxiLiteFrontProperties(Some("stable")))
      )

  private def proof(name: String, make: Boolean => Component): Seq[(String, () => Component)] =
    Seq(s"${name}Properties" -> (() => make(false)), s"${name}Leak" -> (() => make(true)))
}
