package weir.control.registers
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.Fixed
import weir.control.trace.TraceRecord

/** What the registers show of a queue. */
case class QueueLive(c: WeirConfig) extends Bundle {
  val bytes, peakBytes = c.quantity
  val packets, frames, peakPackets = c.count
  val cells = UInt(15 bits)
  /** UQ21.22 in the queue's unit */
  val average = Fixed.average()
}

/** What the registers tell the core, and what they show of it. */
class RegisterPorts(c: WeirConfig) extends Bundle {
  /** reads of counters, at the same addresses; whoever answers must do so in bounded time */
  val counters = master(CsrBus(RegisterMap.addressWidth - 2))
  val queueConfig = out(Vec(QueueConfig(c), c.queues))
  /** words of a queue's configuration while its apply copies them */
  val config = master(Flow(ConfigWrite(c)))
  val coreConfig = out(CoreConfig(c))
  val matching = c.jumbo generate out(MatchConfig(c))
  /** `matching` changes with the next cycle */
  val matchChanged = c.jumbo generate out(Bool())
  /** queue q takes over its shadows: it waits for `applyReady(q)`, which must come in bounded time, then copies them */
  val apply = out Bits (c.queues bits)
  val applyReady = in Bits (c.queues bits)
  /** pulse, one cycle before `apply(q)` falls: all of its configuration is new */
  val applied = out Bits (c.queues bits)
  /** from two cycles before the first `config` of a copy to its `applied` */
  val copying = out Bool ()
  /** with `applied`: policy or unit have changed */
  val clear = out Bits (c.queues bits)
  val softReset, snapshot = out Bool()
  val seed = master(Flow(Bits(64 bits)))
  /** pulse: the next record is the one that is read */
  val tracePop = c.trace generate (out Bool())
  val traceLevel = c.trace generate (in UInt (log2Up(c.traceDepth) + 1 bits))
  /** which words of a trace record `traceData` has to be a cycle later: the odd ones */
  val traceOdd = c.trace generate (out Bool())
  val traceData = c.trace generate in(Vec(Bits(32 bits), TraceRecord.words / 2))
  val statusLinkUp, resetting, quiet, snapshotBusy = in Bool()
  val now = in(c.time)
  val freeCells, freeCellsMin = in UInt (15 bits)
  val heldPackets = in(c.count)
  val live = in(Vec(QueueLive(c), c.queues))
  /** an access or an apply is in progress, or its effect is still on its way */
  val busy = out Bool()
}
