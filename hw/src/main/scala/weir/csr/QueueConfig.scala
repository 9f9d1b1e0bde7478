package weir.csr

import spinal.core._
import weir.WeirConfig

/** How a policy measures its queue. */
object QueueUnit {
  val bytes = 0
  val packets = 1
  val frames = 2
}

/** A number as `mantissa * 2^-exponent`. */
case class Scaled() extends Bundle {
  val mantissa = UInt(18 bits)
  val exponent = UInt(6 bits)
}

/** Parameters of RED and its average, as `libweir` writes them (docs/modules/ewma.md, docs/modules/red.md). */
case class RedConfig() extends Bundle {
  /** w * 2^36; 2^36 is w = 1 */
  val weight = UInt(37 bits)
  /** -log2(1-w), UQ6.36 */
  val decay = UInt(42 bits)
  /** idle slots per nanosecond */
  val idleRate = Scaled()
  /** thresholds in the queue's unit, UQ21.11 */
  val minimum, maximum = UInt(32 bits)
  /** max_p / (max - min) * 2^17 */
  val slope = Scaled()
  /** (1 - max_p) / max * 2^17 */
  val gentleSlope = Scaled()
  /** max_p, UQ0.32 */
  val maxP = UInt(32 bits)
  /** 2^20 / mean packet size */
  val meanReciprocal = Scaled()
  /** 0 geometric, 1 uniform, 2 uniform-wait */
  val spread = UInt(2 bits)
  /** 0 off, 1 after spreading (ns-2), 2 before spreading (Floyd 1993) */
  val byteMode = UInt(2 bits)
  val gentle, ecn, hardDrop, noDrop = Bool()
  /** ns-2's rule for entering the band: the first packet in it is exempt and counts as 1 */
  val exemptFirst = Bool()
}

/** What a queue is told apart from its policy's parameters. Written to shadow registers, taken over by APPLY. */
case class QueueConfig(c: WeirConfig) extends Bundle {
  val policy = UInt(4 bits)
  /** [[QueueUnit]] */
  val unit = UInt(2 bits)
  /** over its limits the queue drops from its head, not the arrival */
  val dropFront = Bool()
  /** served before every queue of a higher number */
  val strict = Bool()
  val limitBytes = c.quantity
  val limitPackets = c.count
  val reserveCells = UInt(15 bits)
  /** DWRR quantum in bytes; hardware uses no less than 9216 */
  val quantum = UInt(20 bits)
}

/** What is told once a core. Taken over in one cycle by CORE_APPLY. */
case class CoreConfig(c: WeirConfig) extends Bundle {
  val maxFrame = c.length
  /** cells that queues may share beyond their reserves */
  val sharedCells = UInt(15 bits)
  val defaultQueue = c.queueId
  val dscpQueue = Vec(c.queueId, 64)
  /** nanoseconds a byte, UQ17.19; 0 turns the shaper off */
  val shaperCost = UInt(36 bits)
  /** burst tolerance in ns */
  val shaperBurst = UInt(32 bits)
  val shaperOverhead = SInt(16 bits)
  val traceEnable = Bool()
  /** queues that are traced */
  val traceQueues = Bits(c.queues bits)
  /** which kinds of event are traced: bit 0 arrivals, bit 1 departures, bit 2 ticks */
  val traceKinds = Bits(3 bits)
  /** LFSR: answer `lfsrFixedDraw` instead of drawing */
  val lfsrFixed = Bool()
  val lfsrFixedDraw = UInt(24 bits)
}
