package weir.policy
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.Fixed
import weir.control.registers.ConfigWrite

/** ECN codepoints (RFC 3168) as they stand in the header. */
object Ecn {
  val notEct = 0
  val ect1 = 1
  val ect0 = 2
  val ce = 3
}

/** What is to happen to a packet. */
object Action {
  val accept = 0
  val mark = 1
  val drop = 2
}

/** Why a packet was dropped or selected. Also the cause field of a trace record. */
object Cause {
  val none = 0
  /** the policy's random decision */
  val early = 1
  /** the policy's certain decision */
  val forced = 2
  /** the queue's hard limit, its share of the cells, or no descriptor */
  val overflow = 3
  val linkDown = 4
  /** dropped from the head of a queue that was over its limit */
  val front = 5
  /** of a jumbo frame that waits, in place of one that comes */
  val partial = 6
}

/** An arrival that a policy is asked about. The quantities are those of the queue before the arrival;
  * arrivals whose verdict is pending count as accepted.
  */
case class PolicyRequest(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** [[weir.policy.Policy]] of the queue; an engine may serve several */
  val policy = UInt(4 bits)
  val nowNs = c.time
  val length = c.length
  val bytes = c.quantity
  val packets = c.count
  val frames = c.count
  /** no packets: told apart, so that a unit need not compare before it can choose */
  val empty = Bool()
  val ecn = UInt(2 bits)
  /** u * 2^24 */
  val draw = UInt(c.drawWidth bits)
}

/** What the policy used for its decision; copied to the trace record. */
case class PolicyEvidence(c: WeirConfig) extends Bundle {
  /** UQ21.22 in the queue's unit */
  val average = Fixed.average()
  /** packets since the last action, as used */
  val count = UInt(16 bits)
  /** probability before spreading, UQ1.32 */
  val probability = Fixed.probability()
  /** idle slots that the average was decayed by */
  val idleSlots = Fixed.slots()
}

/** A policy's answer, a fixed number of cycles after the request, in order. */
case class PolicyVerdict(c: WeirConfig) extends Bundle {
  /** [[Action]] */
  val action = UInt(2 bits)
  /** [[Cause]]: early or forced when the packet was selected, also when it is accepted nevertheless (nodrop, CE) */
  val cause = UInt(3 bits)
  val evidence = PolicyEvidence(c)
}

/** What really happened to the oldest request that has a verdict but no commit yet: one cycle after each verdict. */
case class PolicyCommit(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val length = c.length
  /** The policy selected the packet (early or forced) and it is not exempt, or it was dropped for any cause: counts of packets since the
    * last action start anew. Low without `valid`, so that it can be used alone.
    */
  val acts = Bool()
}

/** A packet that leaves its queue, at its grant. The quantities are those of the queue after the departure. */
case class PolicyDeparture(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val nowNs = c.time
  /** time since the packet's arrival was decided */
  val sojournNs = c.time
  val length = c.length
  val ecn = UInt(2 bits)
  /** never dropped or marked */
  val exempt = Bool()
  val bytes = c.quantity
  val packets = c.count
}

/** A packet has left its queue. */
case class QueueLeft(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** the time of its grant */
  val nowNs = c.time
}

/** What is to happen to a departing packet. */
case class DepartureVerdict(c: WeirConfig) extends Bundle {
  /** [[Action]] */
  val action = UInt(2 bits)
  /** [[Cause]] */
  val cause = UInt(3 bits)
}

/** What a periodic tick did; a trace record of kind 2. */
case class PolicyTick(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val policy = UInt(4 bits)
  val nowNs = c.time
  /** the policy's state after the tick, by policy (docs/architecture.md, Trace) */
  val words = Vec(Bits(32 bits), 4)
}

/** The ports of every policy engine. An engine connects those that it uses; the others rest at "nothing".
  *
  * Arrivals: requests come at least 4 cycles apart; `verdict` follows each by the policy's fixed latency, in order;
  * `commit` one cycle after the verdict. A request that finds its queue empty may be answered later, by the engine's
  * `afterwards`: the arrival has been accepted by then. Other requests keep 4 cycles from where one would stand that is
  * later by as much, and those of its queue come after it. The compact engine takes one request at a time, when it is
  * `ready`, and answers when its program has decided. Departures: one at a time; an engine whose policy decides
  * at departure
  * answers each with `departureVerdict`, at most 16 cycles later, and no departure of any queue comes before that.
  * Ticks: an engine looks at `nowNs` itself, and tells the earliest time at which it has something to do.
  */
class PolicyPorts(c: WeirConfig) extends Bundle {
  val nowNs = in(c.time)
  /** configuration words of every queue, as an apply copies them; queue q gets no request meanwhile, nor in the cycle after `applied` */
  val config = slave(Flow(ConfigWrite(c)))
  /** words of a queue are being copied: from a cycle before the first `config`, or earlier, to `applied` and `clear` */
  val copying = in Bool ()
  /** queues that run a policy of this engine; requests and departures are theirs, or an engine that [[GatedEngine]]
    * holds may miss them
    */
  val selected = in(Bits(c.queues bits))
  /** [[weir.control.registers.QueueUnit]] of each queue */
  val unit = in(Vec(UInt(2 bits), c.queues))
  /** pulse: the words of that queue have been copied, the last one in the cycle before */
  val applied = in(Bits(c.queues bits))
  /** pulse, with or after `applied`: the queue's state starts anew (its policy or unit has changed) */
  val clear = in(Bits(c.queues bits))

  /** a packet has left that queue, granted at that time: two cycles before `empty` of a request can tell, or more */
  val left = slave(Flow(QueueLeft(c)))
  /** pulse: these queues have become empty; their last packet left, or their policy dropped the last that was pending; up to three cycles after a request that
    * will still enter */
  val emptied = in(Bits(c.queues bits))

  val request = slave(Flow(PolicyRequest(c)))
  val verdict = master(Flow(PolicyVerdict(c)))
  val commit = slave(Flow(PolicyCommit(c)))

  val departure = slave(Flow(PolicyDeparture(c)))
  val departureVerdict = master(Flow(DepartureVerdict(c)))

  /** the earliest time of which the engine has to know, if `valid` */
  val wake = master(Flow(c.time))
  /** a tick is being carried out */
  val busy = out(Bool())
  /** something in it may still be changed by events of queues that have not selected it */
  val attentive = out(Bool())
  /** something in it goes round, or counts, without end */
  val turning = out(Bool())
  val tick = master(Flow(PolicyTick(c)))

  /** what LIVE_AVERAGE shows, UQ21.22 */
  val live = out(Vec(Fixed.average(), c.queues))

  /** Lets every output rest; whatever an engine assigns afterwards counts. */
  def rest(): Unit = {
    val outputs = Seq[Data](verdict, departureVerdict, wake, busy, attentive, turning, tick, live)
    for (output <- outputs; leaf <- output.flatten) {
      leaf := leaf.getZero
      leaf.allowOverride()
    }
  }
}

/** A [[weir.policy.PolicyEngine]]'s hardware. */
abstract class PolicyUnit(c: WeirConfig) extends Component {
  val io = new PolicyPorts(c)
  noIoPrefix()
  io.rest()
}
