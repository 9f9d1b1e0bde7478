package weir

import spinal.core._

/** Everything that is generated and tested apart from a whole core. A new unit is one line here. */
object Units {
  private val c = WeirConfig.preset("ten-gig")
  /** What a solver can go through exhaustively. */
  private val smallest = WeirConfig("smallest", cells = 8, descriptors = 4, traceDepth = 4)

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

  /** Property components of `hw/formal/`; the name is the file's and the top module's. */
  val formal: Seq[(String, () => Component)] = Seq(
    "FreeListProperties" -> (() => new weir.formal.FreeListProperties(smallest, leak = false)),
    "FreeListLeak" -> (() => new weir.formal.FreeListProperties(smallest, leak = true))
  )
}
