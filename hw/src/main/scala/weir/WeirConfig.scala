package weir
import spinal.core._
import weir.policy.{Policy, PolicyEngine}
import weir.policy.compact.CompactEngine

/** Everything that is fixed when Verilog is generated. All of it can be read back from register block 0.
  *
  * @param name        preset name, used for file names
  * @param dataWidth   bits of tdata: 64; the buffer is twice as wide
  * @param queues      number of queues, 1 to 8
  * @param cells       64-byte cells of the shared buffer, a power of two; one cell is the tail sentinel of the free list
  * @param descriptors packets that the buffer can hold at once, a power of two
  * @param policies    policies that are built; Drop-Tail always is
  * @param jumbo       jumbo frames can be split and merged
  * @param flowSlots   places of flows whose packets are merged, a power of two; two flows of one place close each other's groups;
  *                    each queue has places for `classes` classes beside them
  * @param traceDepth  records in the host's trace FIFO, a power of two; 0: a core without a trace, whose trace port stays low
  * @param clockHz     frequency of `clk`, reported to the host
  * @param compact     policies are programs of one engine, a decision after the other: for 1 Gb/s
  *                    (docs/modules/compact.md)
  */
case class WeirConfig(
    name: String,
    dataWidth: Int = 64,
    queues: Int = 4,
    cells: Int = 2048,
    descriptors: Int = 2048,
    policies: Set[Policy] = Set(Policy.DropTail, Policy.Red),
    jumbo: Boolean = false,
    flowSlots: Int = 256,
    traceDepth: Int = 64,
    clockHz: Int = 156250000,
    compact: Boolean = false
) {
  private def power(n: Int) = n > 0 && (n & (n - 1)) == 0
  private def nearest(n: Int, low: Int, high: Int) =
    (low to high).map(1 << _).minBy(p => math.abs(p.toLong - n))

  require(dataWidth == 64, s"WeirConfig.dataWidth=$dataWidth is not supported; use 64")
  require(queues >= 1 && queues <= 8, s"WeirConfig.queues=$queues must be 1 to 8; try 4")
  require(power(cells) && cells >= 8 && cells <= 16384,
    s"WeirConfig.cells=$cells must be a power of two from 8 to 16384; try ${nearest(cells, 3, 14)}")
  require(power(descriptors) && descriptors >= 4 && descriptors <= 16384,
    s"WeirConfig.descriptors=$descriptors must be a power of two from 4 to 16384; try ${nearest(descriptors, 2, 14)}")
  require(policies.contains(Policy.DropTail), "WeirConfig.policies must contain Policy.DropTail")
  for (policy <- policies; other <- policy.needs)
    require(policies.contains(other), s"WeirConfig.policies with ${policy.name} must contain ${other.name}, whose registers it uses")
  require(power(flowSlots) && flowSlots >= 16 && flowSlots <= 4096,
    s"WeirConfig.flowSlots=$flowSlots must be a power of two from 16 to 4096; try ${nearest(flowSlots, 4, 12)}")
  require(traceDepth == 0 || power(traceDepth) && traceDepth >= 4 && traceDepth <= 4096,
    s"WeirConfig.traceDepth=$traceDepth must be a power of two from 4 to 4096, or 0 for none; try ${nearest(traceDepth, 2, 12)}")
  if (compact) {
    require(!jumbo, "WeirConfig.compact is not built with jumbo; leave one of them out")
    require(queues <= CompactEngine.queues, s"WeirConfig.queues=$queues must be 1 to ${CompactEngine.queues} with compact; try ${CompactEngine.queues}")
    for (policy <- policies) require(CompactEngine.policies.contains(policy),
      s"WeirConfig.policies with compact must be of ${CompactEngine.names}, which have programs; leave ${policy.name} out")
  }
  require(clockHz > 0, s"WeirConfig.clockHz=$clockHz must be positive; try 156250000")

  val cellBytes = 64
  val wordWidth: Int = 2 * dataWidth
  val wordBytes: Int = wordWidth / 8
  val wordsPerCell: Int = cellBytes / wordBytes

  val queueWidth: Int = log2Up(queues max 2)
  val cellWidth: Int = log2Up(cells)
  val descriptorWidth: Int = log2Up(descriptors)
  val lengthWidth = 14
  val timeWidth = 48
  val drawWidth = 24
  /** Width of a queue measured in any unit: the buffer holds less than 2^21 bytes. */
  val quantityWidth = 21
  /** Width of a queue measured in packets or frames. */
  val countWidth = 16
  val maxFrameBytes = 9216
  /** classes of a queue whose packets are merged by class, and rules that tell them by the destination */
  val classes = 16
  val classWidth: Int = log2Up(classes)
  val matchRules = 16
  /** places of classes whose groups are parked, by queue and class */
  val parkingPlaces: Int = classes * (queues max 2)
  /** a place of a flow, below `classSlots`; or of a class of a queue, from there on */
  val classSlots: Int = flowSlots max 1 << log2Up(classes * queues)
  val allSlots: Int = classSlots + classes * queues
  val flowSlotWidth: Int = log2Up(allSlots)
  /** longest that a group of a class is parked, in ns */
  val jfetWidth = 30
  /** Widths of numbers that are given to flows and groups one after the other: those of the last 2^32 ns differ by less than
    * half of what fits (a flow in three cycles, a group in four).
    */
  val flowNumberWidth = 30
  val groupNumberWidth = 30
  /** number of an arrival among those that may wait between CellWriter and the decision */
  val flowIndexWidth = 11
  /** packets of a group: at most 448 */
  val memberWidth = 9
  /** cells of a group: a jumbo frame in transit has at most 383 packets, of a cell each, and its header's cells */
  val groupCellWidth: Int = if (jumbo) 10 else 8
  /** A verdict reaches ArrivalDecision this many cycles after its request: of a policy that answers within the
    * decision latency
    * of the RED family, and of the others. Every policy of a class is awaited for the same time. A packet's flow is known
    * before the end of it. Beside slow policies it is 10, not a multiple of four less than theirs: commits of arrivals four cycles
    * apart never meet.
    */
  val fastLatency: Int = policies.map(_.latency).filter(_ <= Policy.fast).max max
    (if (jumbo || policies.exists(_.latency > Policy.fast)) Policy.fast else 5)
  val slowLatency: Int = policies.map(_.latency).max max fastLatency
  /** the units of hardware that serve the policies */
  val engines: Seq[PolicyEngine] =
    if (compact) Seq(CompactEngine) else policies.toSeq.sortBy(_.id).flatMap(_.engine).distinct
  /** policies that an engine of the build serves, in order of number */
  def servedBy(engine: PolicyEngine): Seq[Policy] =
    policies.toSeq.sortBy(_.id).filter(compact || _.engine.contains(engine))
  /** cycles by which an engine's verdict comes later for an arrival that finds its queue empty; 0: none defers it */
  val afterwards: Int = engines.map(_.afterwards).foldLeft(0)(_ max _)

  /** decisions, departures and ticks leave records */
  val trace: Boolean = traceDepth != 0

  def has(policy: Policy): Boolean = policies.contains(policy)
  def queueId: UInt = UInt(queueWidth bits)
  def cellId: UInt = UInt(cellWidth bits)
  def descriptorId: UInt = UInt(descriptorWidth bits)
  def length: UInt = UInt(lengthWidth bits)
  def time: UInt = UInt(timeWidth bits)
  def quantity: UInt = UInt(quantityWidth bits)
  def count: UInt = UInt(countWidth bits)
  def classId: UInt = UInt(classWidth bits)
}

object WeirConfig {
  import Policy._

  val presets: Seq[WeirConfig] = Seq(
    WeirConfig("full",    cells = 16384, descriptors = 16384, policies = Policy.all.toSet,      jumbo = true, flowSlots = 1024, traceDepth = 256),
    WeirConfig("ten-gig", cells = 2048,  descriptors = 2048,  policies = Policy.all.toSet,      jumbo = true, traceDepth = 64),
    WeirConfig("aqm",     cells = 4096,  descriptors = 4096,  policies = Policy.all.toSet,      traceDepth = 256),
    WeirConfig("board",   cells = 1024,  descriptors = 1024,  policies = Set(DropTail, Red, DtEcn), traceDepth = 16, clockHz = 125000000, compact = true),
    WeirConfig("small",   cells = 256,   descriptors = 256,   policies = Set(DropTail, Red), traceDepth = 16, queues = 2),
    WeirConfig("tail",    cells = 256,   descriptors = 64,    policies = Set(DropTail),      traceDepth = 16, queues = 1)
  )

  /** The preset of that name; the error lists those that exist. */
  def preset(name: String): WeirConfig = presets.find(_.name == name).getOrElse(
    throw new IllegalArgumentException(s"preset '$name' does not exist; choose one of ${presets.map(_.name).mkString(", ")}"))
}
