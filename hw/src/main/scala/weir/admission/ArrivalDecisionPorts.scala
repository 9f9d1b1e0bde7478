package weir.admission
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Arrival, BacklogChange, Chain, Fill, FlowLook, Link, PartialSelection}
import weir.control.counters.ArrivalEvent
import weir.control.registers.QueueConfig
import weir.control.trace.TraceRecord
import weir.policy.{PolicyCommit, PolicyRequest, PolicyVerdict}

/** The ports of what decides about arrivals: [[ArrivalDecision]] beside fast policies, [[SerialDecision]] beside the
  * compact engine.
  */
abstract class ArrivalDecisionPorts(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = in(Vec(QueueConfig(c), c.queues))
    val sharedCells = in(UInt(15 bits))
    val nowNs = in(c.time)
    val arrival = slave(Flow(Arrival(c)))
    /** the second one is of the next cycle */
    val room, roomNext = out Bool ()
    /** arrivals of this queue wait */
    val hold = in(Bits(c.queues bits))
    /** no decision of this queue is being made */
    val settled = out(Bits(c.queues bits))

    val draw = in(UInt(c.drawWidth bits))
    /** `draw` was taken a cycle ago */
    val nextDraw = out Bool ()
    val descriptor = slave(Stream(c.descriptorId))
    /** descriptors that are not in use, the one on offer included */
    val descriptors = c.jumbo generate in(UInt(c.descriptorWidth + 1 bits))
    val fill = in(Vec(Fill(c), c.queues))
    /** queues without packets, as `fill` shows it */
    val empty = in(Bits(c.queues bits))
    val sharedUsed = in(UInt(15 bits))

    /** the compact engine takes a request */
    val ready = c.compact generate in(Bool())
    val request = master(Flow(PolicyRequest(c)))
    /** the engine that `request` is for, one bit each; none with the limits alone, or without a request */
    val requestEngine = out(Bits(c.engines.size bits))
    val verdicts = Vec(slave(Flow(PolicyVerdict(c))), c.engines.size)
    val commit = master(Flow(PolicyCommit(c)))
    /** the engine that `commit` is for, one bit each */
    val commitEngine = out(Bits(c.engines.size bits))
    /** `acts` of `commit`, for its engine: from registers */
    val commitActs = out(Bits(c.engines.size bits))

    val enter = master(Flow(BacklogChange(c)))
    val refund = master(Flow(BacklogChange(c)))
    /** `enter`, `refund`, one bit a queue: from registers */
    val enters, refunds = out(Bits(c.queues bits))
    /** as a group of its own */
    val link = master(Flow(Link(c)))
    /** a decision that will be known three cycles later, its link four */
    val look = c.jumbo generate master(Flow(FlowLook(c)))
    val free = master(Flow(Chain(c)))
    val giveDescriptor = master(Flow(c.descriptorId))
    val event = master(Flow(ArrivalEvent(c)))
    val trace = master(Flow(Bits(TraceRecord.width bits)))
    /** queues whose arrivals are to be recorded; with `trace`: it is one of them */
    val traces = in(Bits(c.queues bits))
    val traced = out Bool ()
    /** queues whose policy has jumbo frames that wait pay for one that comes, and that have such ones; a selection can be
      * taken
      */
    val mred, able = c.jumbo generate in(Bits(c.queues bits))
    val partialRoom = c.jumbo generate (in Bool ())
    val selection = c.jumbo generate master(Flow(PartialSelection(c)))
    val busy = out Bool ()
  }
  noIoPrefix()
}

object ArrivalDecisionPorts {
  /** what decides in a core of this build */
  def build(c: WeirConfig): ArrivalDecisionPorts = if (c.compact) new SerialDecision(c) else new ArrivalDecision(c)
}
