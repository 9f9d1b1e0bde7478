package weir.control.registers
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** How a policy measures its queue. */
object QueueUnit {
  val bytes = 0
  val packets = 1
  val frames = 2
}

/** What becomes of a jumbo frame that arrives. */
object JumboMode {
  /** a frame like any other */
  val opaque = 0
  val split = 1
  /** its packets stay together, as a group */
  val transit = 2
}

/** A number as `mantissa * 2^-exponent`. */
case class Scaled() extends Bundle {
  val mantissa = UInt(18 bits)
  val exponent = UInt(6 bits)
}

/** What a queue is told apart from its policy's parameters. Written to shadow registers, taken over by APPLY. */
case class QueueConfig(c: WeirConfig) extends Bundle {
  val policy = UInt(4 bits)
  /** [[QueueUnit]] */
  val unit = UInt(2 bits)
  /** over its limits the queue drops from its head, not the arrival */
  val dropFront = Bool()
  /** served before all that are not strict; of strict ones the lower number first */
  val strict = Bool()
  val limitBytes = c.quantity
  val limitPackets = c.count
  val reserveCells = UInt(15 bits)
  /** DWRR quantum in bytes; hardware uses no less than 9216 */
  val quantum = UInt(20 bits)
  val merge = c.jumbo generate MergeConfig(c)
  /** packets of jumbo frames that wait pay for those that come */
  val mred = c.jumbo generate Bool()
}

/** How the packets of a queue are merged into jumbo frames. */
case class MergeConfig(c: WeirConfig) extends Bundle {
  /** those of one flow, or of one class; not both */
  val flow, classes = Bool()
  /** of classes: how long a group is parked, in ns */
  val jfetNs = UInt(c.jfetWidth bits)
  /** of the jumbo frame, up to 9216 */
  val maxBytes = c.length
  /** of its IP packets, up to 8960 */
  val maxSum = c.length
  /** packets, up to 448 */
  val maxCount = UInt(c.memberWidth bits)
}

object MergeMode {
  val off = 0
  val flow = 1
  val classes = 2
}

/** What a rule of the match table does. */
case class MatchAction(c: WeirConfig) extends Bundle {
  val enable = Bool()
  /** the rule is of IPv6 packets, else of IPv4 packets */
  val v6 = Bool()
  /** packets are left alone, else they are of the class */
  val bypass = Bool()
  val klass = c.classId
}

/** What the rules of the match table do; taken over by CORE_APPLY. */
case class MatchActions(c: WeirConfig) extends Bundle {
  val rules = Vec(MatchAction(c), c.matchRules)
  /** what becomes of packets that no rule matches */
  val unmatchedBypass = Bool()
  val unmatchedClass = c.classId
}

/** The match table: what its rules do, and changes of what they match ([[MatchTable]]). */
case class MatchConfig(c: WeirConfig) extends Bundle {
  val actions = MatchActions(c)
  val column = Flow(MatchColumn(c))
}

/** What is told once a core. Taken over in one cycle by CORE_APPLY. */
case class CoreConfig(c: WeirConfig) extends Bundle {
  val maxFrame = c.length
  /** cells that queues may share beyond their reserves */
  val sharedCells = UInt(15 bits)
  val defaultQueue = c.queueId
  val dscpQueue = Vec(c.queueId, 64)
  /** jumbo frames are split; those that are stay together */
  val split, transit = Bool()
  /** jumbo frames are built in the L3 form */
  val jumboL3 = Bool()
  /** log2 of the spacing's unit in ns, up to 16 */
  val jumboTick = UInt(5 bits)
  /** of jumbo frames in the L2 form, and the IPv4 protocol of the L3 form */
  val jumboEtherType = Bits(16 bits)
  val jumboProtocol = Bits(8 bits)
  val matching = c.jumbo generate MatchActions(c)
  /** packets that are split wait for their spacing, so long at most */
  val spacing = c.jumbo generate Bool()
  val spacingLimitNs = c.jumbo generate UInt(30 bits)
  /** nanoseconds a byte, UQ17.19; 0 turns the shaper off */
  val shaperCost = UInt(36 bits)
  /** burst tolerance in ns */
  val shaperBurst = UInt(32 bits)
  val shaperOverhead = SInt(16 bits)
  /** least length that is charged */
  val shaperMpu = c.length
  val traceEnable = c.trace generate Bool()
  /** queues that are traced */
  val traceQueues = c.trace generate Bits(c.queues bits)
  /** which kinds of event are traced: bit 0 arrivals, bit 1 departures, bit 2 ticks */
  val traceKinds = c.trace generate Bits(3 bits)
  /** LFSR: answer `lfsrFixedDraw` instead of drawing */
  val lfsrFixed = Bool()
  val lfsrFixedDraw = UInt(24 bits)
}
