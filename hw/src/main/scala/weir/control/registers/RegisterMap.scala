package weir.control.registers

import weir.WeirConfig
import weir.control.trace.TraceRecord
import weir.policy.Policy

/** The single source of the registers: decoder, storage, C header, Python names, JSON and Markdown come from it. */
object RegisterMap {
  import Access._
  import Kind._
  import Registers._

  val magic: BigInt = BigInt(0x57454952L)
  val (major, minor, patch) = (0, 2, 0)
  val queueBase = 0x1000
  val queueStride = 0x400
  val addressWidth = 16

  /** Bit n: policy number n is built; bit 16: trace; bits 17 and 18: jumbo frames can be split, packets merged. */
  def features(c: WeirConfig): BigInt =
    c.policies.map(p => BigInt(1) << p.id).sum + (if (c.trace) BigInt(1) << 16 else BigInt(0)) + (if (c.jumbo) BigInt(3) << 17 else BigInt(0))

  private def storage(name: String, offset: Int, description: String) =
    Register(name, offset, ReadWrite, Storage, description = description)

  /** A 64-bit counter: two registers, low word first. */
  private def wide(name: String, offset: Int, description: String): Seq[Register] =
    for ((half, i) <- Seq("LO" -> 0, "HI" -> 1))
      yield Register(s"${name}_$half", offset + 4 * i, ReadOnly, Counter,
        description = s"$description, ${if (i == 0) "low" else "high"} word")

  /** A pair of 64-bit counters, 16 bytes. */
  private def counter(name: String, offset: Int, description: String): Seq[Register] =
    wide(s"${name}_PACKETS", offset, s"$description: packets") ++
      wide(s"${name}_BYTES", offset + 8, s"$description: bytes")

  private val identity = Seq(
    constant("MAGIC", 0x000, Value(magic), "\"WEIR\""),
    constant("VERSION", 0x004, Value((BigInt(major) << 16) + (minor << 8) + patch), "version of the hardware",
      bits("MAJOR", 31, 16, ""), bits("MINOR", 15, 8, ""), bits("PATCH", 7, 0, "")),
    constant("FEATURES", 0x008, Value.built("by build")(features), "what is built",
      bits("POLICIES", 15, 0, "bit n: policy number n"), flag("TRACE", 16, "trace records"),
      flag("SPLIT", 17, "jumbo frames can be split"), flag("MERGE", 18, "packets can be merged to jumbo frames")),
    constant("PARAMS", 0x00C, Value.built("by build")(c => BigInt(c.dataWidth) * 256 + c.queues), "sizes",
      bits("QUEUES", 7, 0, "queues"), bits("DATA_WIDTH", 23, 8, "bits of tdata")),
    constant("CELLS", 0x010, Value.built("by build")(c => c.cells), "cells of the buffer"),
    constant("DESCRIPTORS", 0x014, Value.built("by build")(c => c.descriptors), "packets the buffer can hold"),
    constant("CLOCK_HZ", 0x018, Value.built("by build")(c => c.clockHz), "frequency of clk"),
    constant("CELL_BYTES", 0x01C, Value.built("by build")(c => c.cellBytes), "bytes of a cell")
  )

  private val control = Seq(
    trigger("CTRL", 0x020, "control",
      flag("RESET", 0, "datapath, queues and counters start anew, configuration stays; a frame being sent is finished")),
    live("STATUS", 0x024, 32, "state",
      flag("LINK_UP", 0, "link_up"), flag("RESETTING", 1, "a reset is being carried out"),
      flag("QUIET", 2, "nothing but register accesses has moved for 32 cycles, and no deadline is near"),
      flag("SNAPSHOT_BUSY", 3, "counters are being copied"),
      flag("APPLY_BUSY", 4, "an APPLY has not been taken over yet")),
    live("GENERATION", 0x028, 32, "applies so far"),
    trigger("SNAPSHOT", 0x02C, "bit 0: copy all counters"),
    storage("SCRATCH", 0x030, "free for the host"),
    trigger("CORE_APPLY", 0x034, "bit 0: take over 0x040 to 0x0BF"),
    live("NOW_LO", 0x038, 32, "now_ns 31:0; reading it latches NOW_HI"),
    live("NOW_HI", 0x03C, 16, "now_ns 47:32 at the last read of NOW_LO")
  )

  private val coreConfig = Seq(
    shadow("MAX_FRAME", 0x040, 32, Value(9216), "longest frame in bytes, 64 to 9216; more is taken as 9216"),
    shadow("SHARED_CELLS", 0x044, 15, Value.built("CELLS - 1")(c => c.cells - 1),
      "cells that queues may share beyond their reserves"),
    shadow("DEFAULT_QUEUE", 0x048, 4, Value(0), "queue of frames that are not IP; one that is not built is 0"),
    shadow("SHAPER_COST_LO", 0x04C, 32, Value(0), "ns per byte UQ17.19, low 32 bits; cost 0 = off"),
    shadow("SHAPER_COST_HI", 0x050, 4, Value(0), "ns per byte UQ17.19, high 4 bits"),
    shadow("SHAPER_BURST", 0x054, 32, Value(0), "burst tolerance in ns"),
    shadow("SHAPER_OVERHEAD", 0x058, 30, Value((60 << 16) + 24), "a frame is charged max(length, MPU) + BYTES",
      bits("BYTES", 15, 0, "signed"), bits("MPU", 29, 16, "least length, 0 for none")),
    shadow("LFSR_FIXED", 0x05C, 32, Value(0), "a constant instead of random draws",
      bits("VALUE", 23, 0, "the draw"), flag("ENABLE", 31, "use VALUE")),
    shadow("TRACE_CTRL", 0x060, 32, Value(0), "what is traced",
      flag("ENABLE", 0, "trace"), flag("ARRIVALS", 1, "record arrivals"), flag("DEPARTURES", 2, "record departures"),
      flag("TICKS", 3, "record ticks of policies"),
      bits("QUEUES", 15, 8, "mask of queues")).copy(trace = true),
    shadow("JUMBO", 0x064, 32, Value(6 << 8), "jumbo frames; a change of MODE counts for frames whose 32nd byte is yet to come",
      bits("MODE", 1, 0, "those that arrive: 0 opaque: frames like others, 1 split, 2 transit: kept together; 3 is taken as 0"),
      flag("FORM", 4, "of those that are built: 0 L2, 1 L3, of IPv4 packets only; a change closes all groups"),
      bits("TICK", 12, 8, "log2 of the spacing's unit in ns, 0 to 16; more is taken as 16; a change closes all groups")).copy(jumbo = true),
    shadow("JUMBO_TYPE", 0x068, 24, Value(253 * 65536 + 0x88b5), "what tells jumbo frames",
      bits("ETHERTYPE", 15, 0, "of the L2 form"), bits("PROTOCOL", 23, 16, "IPv4 protocol of the L3 form")).copy(jumbo = true),
    shadow("MATCH", 0x06C, 32, Value(0), "IP packets whose destination no rule matches; a change of the match table closes all groups",
      bits("CLASS", 3, 0, "their class, where packets are merged by class"), flag("BYPASS", 4, "they are never merged")).copy(jumbo = true)
  ) ++ (0 until 4).map(n =>
    shadow(s"MATCH_ACTION$n", 0x070 + 4 * n, 32, Value(0),
      s"rules ${4 * n} to ${4 * n + 3} of the match table, 8 bits each, lowest first: CLASS 3:0, BYPASS 4, IPV6 5, ENABLE 7; the first that matches counts",
      (0 until 4).flatMap(k => Seq(bits(s"CLASS$k", 8 * k + 3, 8 * k, ""), flag(s"BYPASS$k", 8 * k + 4, ""),
        flag(s"IPV6_$k", 8 * k + 5, ""), flag(s"ENABLE$k", 8 * k + 7, ""))): _*).copy(jumbo = true)
  ) ++ (0 until 8).map(n =>
    shadow(s"DSCP_MAP$n", 0x080 + 4 * n, 32, Value(0),
      s"queues of DSCP ${8 * n} to ${8 * n + 7}, 4 bits each, lowest first; one that is not built is 0")
  ) ++ Seq(
    shadow("SPACING", 0x0A0, 32, Value(1000000), "packets of jumbo frames that are split wait for the spacing that their table says",
      bits("LIMIT", 29, 0, "none waits longer, ns"), flag("ENABLE", 31, "they wait")).copy(jumbo = true))

  private val services = Seq(
    storage("LFSR_SEED_LO", 0x0C0, "seed of the random source, low word"),
    storage("LFSR_SEED_HI", 0x0C4, "high word; writing it loads the seed")
  ) ++ (Seq(
    live("TRACE_LEVEL", 0x0C8, 32, "trace records waiting"),
    trigger("TRACE_POP", 0x0CC, "bit 0: the next record to TRACE_DATA; SLVERR if there is none")
  ) ++ (0 until TraceRecord.words).map(n =>
    live(s"TRACE_DATA$n", 0x0D0 + 4 * n, 32, s"word $n of the trace record"))).map(_.copy(trace = true))

  /** The rules of the match table, used as they stand: to be written while the rule is off. */
  private val matchTable = for (n <- 0 until 16; (name, i) <- Seq("VALUE0", "VALUE1", "MASK0", "MASK1").zipWithIndex)
    yield storage(s"MATCH${n}_$name", 0x300 + 16 * n + 4 * i,
      s"rule $n: ${if (i < 2) "destination" else "bits of it that count"}, ${if (i % 2 == 0) "IPv4, or bits 127:96 of IPv6" else "bits 95:64 of IPv6"}").copy(jumbo = true)

  private val coreState = Seq(
    live("FREE_CELLS", 0x100, 32, "free cells"),
    live("FREE_CELLS_MIN", 0x104, 32, "least free cells between the last two snapshots"),
    live("HELD_PACKETS", 0x108, 32, "packets in all queues, and those that wait for their spacing")
  ) ++ wide("THROTTLED", 0x10C, "ns with a backlog held by the shaper") ++
    wide("UPTIME", 0x118, "cycles since reset") ++ Seq(
      Register("QUEUED_PACKETS", 0x120, ReadOnly, Counter, description = "packets in all queues, at the snapshot"),
      Register("SPACED_PACKETS", 0x124, ReadOnly, Counter, description = "packets that wait for their spacing, at the snapshot")) ++
    counter("RX", 0x200, "arrived from the wire") ++ counter("TX", 0x210, "sent") ++
    counter("BAD", 0x220, "marked bad by the MAC") ++ counter("RUNT", 0x230, "shorter than 14 bytes") ++
    counter("OVERSIZE", 0x240, "longer than MAX_FRAME") ++
    counter("INGRESS_OVERFLOW", 0x250, "no free cell at the ingress") ++
    counter("TRACE_LOST", 0x260, "trace records lost, 0 without a trace") ++
    (counter("MALFORMED", 0x270, "jumbo frames that do not say the truth") ++
      counter("JUMBO_IN", 0x280, "jumbo frames that were split or kept together, as they came") ++
      counter("SPLIT_DISCARDED", 0x290, "packets of jumbo frames: Not-ECT, and the jumbo frame was marked CE") ++
      counter("RX_WIRE", 0x2A0, "frames that arrived, as they came") ++
      counter("JUMBO_OUT", 0x2B0, "jumbo frames that were built or kept together, as they left") ++
      counter("MERGED", 0x2C0, "of TX, what left in jumbo frames that were built or kept together") ++
      counter("EVICTED", 0x2D0, "groups that were closed because another flow needed their place (bytes 0)") ++
      counter("HURRIED", 0x2E0, "packets that went before they were due: places or cells were short, or spacing was switched off (bytes 0)")).map(_.copy(jumbo = true))

  private val queueConfig = Seq(
    shadow("POLICY", 0x000, 32, Value(0), "a policy that is not built: SLVERR, nothing written",
      bits("POLICY", 3, 0, Policy.all.map(p => s"${p.id} ${p.name}").mkString(", ")), bits("UNIT", 9, 8, "0 bytes, 1 packets, 2 frames; 3 is taken as 0"),
      flag("DROP_FRONT", 12, "over its limits the queue drops from its head"),
      flag("STRICT", 16, "served before all that are not strict; of strict ones the lower number first")),
    shadow("LIMIT_BYTES", 0x004, 21, Value((1 << 21) - 1), "hard limit in bytes"),
    shadow("LIMIT_PACKETS", 0x008, 16, Value(65535), "hard limit in packets"),
    shadow("RESERVE_CELLS", 0x00C, 15, Value(0), "cells kept for this queue"),
    shadow("QUANTUM", 0x010, 20, Value(9216), "DWRR quantum in bytes; less than 9216 is taken as 9216")
  ) ++ Seq(
    shadow("MERGE", 0x0EC, 32, Value(0), "packets that wait are merged into jumbo frames",
      bits("MODE", 1, 0, "0 off, 1 flow: packets of one flow, 2 class: packets of one class; 3 is taken as 0")),
    shadow("MERGE_JFET", 0x0D4, 30, Value(100000), "by class: time from a group's first packet to its close, ns"),
    shadow("MERGE_MAX_BYTES", 0x0F0, 14, Value(9216), "longest jumbo frame in bytes; more than 9216 is taken as 9216"),
    shadow("MERGE_MAX_SUM", 0x0F4, 14, Value(8960), "bytes of IP packets in a jumbo frame; more than 8960 is taken as 8960"),
    shadow("MERGE_MAX_COUNT", 0x0F8, 9, Value(448), "packets in a jumbo frame; more than 448 is taken as 448")
  ).map(_.copy(jumbo = true))

  private val mred = Seq(
    shadow("MRED", 0x09C, 32, Value(0), "a jumbo frame in transit that RED selects is spared: packets of the one nearest the head pay for it",
      flag("ENABLE", 0, "with red, isred, ared")),
    shadow("MRED_LO", 0x0A0, 32, Value(0), "least share of its packets, UQ0.32; all ones are 1"),
    shadow("MRED_HI", 0x0A4, 32, Value(0), "share at max and above, UQ0.32"),
    shadow("MRED_SLOPE", 0x0A8, 32, Value(0), "(high - low) / (max - min) * 2^17",
      Registers.scaled: _*)
  ).map(_.copy(jumbo = true))

  private val queuePolicies = Policy.all.flatMap(p => p.registers.map(_.copy(policy = Some(p))))
  for (r <- queuePolicies)
    require(r.word < (1 << ConfigWrite.wordWidth), f"Register ${r.name} at 0x${r.offset}%X lies outside a queue's configuration")

  private val queueState = Seq(
    trigger("APPLY", 0x0FC,
      "bit 0: take over 0x000 to 0x0FB and 0x120 to 0x1EF; a change of policy or unit restarts the policy"),
    live("LIVE_BYTES", 0x100, 32, "bytes in the queue"),
    live("LIVE_PACKETS", 0x104, 32, "packets in the queue"),
    live("LIVE_FRAMES", 0x108, 32, "frames in the queue"),
    live("LIVE_CELLS", 0x10C, 32, "cells of the queue"),
    live("LIVE_AVERAGE", 0x110, 32, "average in the queue's unit, UQ21.11"),
    live("PEAK_BYTES", 0x114, 32, "most bytes between the last two snapshots"),
    live("PEAK_PACKETS", 0x118, 32, "most packets between the last two snapshots")
  ) ++ Seq("NODROP" -> "Not-ECT, selected and accepted all the same: nodrop, dt-ecn",
    "IN_NOT_ECT" -> "arrivals, Not-ECT", "IN_ECT1" -> "arrivals, ECT(1)", "IN_ECT0" -> "arrivals, ECT(0)",
    "IN_CE" -> "arrivals, CE", "EARLY" -> "dropped by chance", "FORCED" -> "dropped by the policy for certain",
    "OVERFLOW" -> "dropped at a hard limit", "MARKED" -> "CE marked", "ALREADY_CE" -> "selected, but CE already",
    "OUT" -> "sent, but for those that HEAD_MARKED and HEAD_ALREADY_CE count",
    "LINK_DOWN" -> "discarded with the link down",
    "FRONT" -> "dropped from the head of a queue over its limits",
    "HEAD_DROPPED" -> "dropped by the policy at departure", "HEAD_MARKED" -> "sent and CE marked by the policy at departure",
    "PARTIAL" -> "dropped out of jumbo frames that wait",
    "HEAD_ALREADY_CE" -> "sent, selected by the policy at departure, but CE already"
  ).zipWithIndex.flatMap { case ((name, description), i) => counter(name, 0x1F0 + 16 * i, description) } ++
    (0 until 32).flatMap(b => wide(s"SOJOURN$b", 0x300 + 8 * b, sojourn(b)))

  private def sojourn(bin: Int): String = bin match {
    case 0  => "packets that left after less than 2 ns"
    case 31 => "packets that left after 2^31 ns or more"
    case b  => s"packets that left after 2^$b ns or more, less than 2^${b + 1}"
  }

  /** Registers of the whole core, at address 0. */
  val core: Block = Block("core", "", 0x1000, identity ++ control ++ coreConfig ++ services ++ matchTable ++ coreState)
  /** Registers of a queue; one such block per queue. */
  val queue: Block = Block("queue", "Q_", queueStride, queueConfig ++ mred ++ queuePolicies ++ queueState)
}
