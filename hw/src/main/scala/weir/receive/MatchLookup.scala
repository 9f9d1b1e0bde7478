package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.control.registers.MatchConfig

/** Where a packet goes. */
case class Destination() extends Bundle {
  /** one of the last four packets */
  val packet = UInt(2 bits)
  val v6 = Bool()
  /** an IPv4 address in the upper half, or the first half of an IPv6 address; the first byte is the uppermost */
  val address = Bits(64 bits)
}

/** What the match table says of a packet. */
case class MatchResult(c: WeirConfig) extends Bundle {
  /** it is left alone: never merged, and in no order with packets that are */
  val bypass = Bool()
  val klass = c.classId
  /** of the table as it was */
  val epoch = UInt(MatchResult.epochWidth bits)
}

object MatchResult {
  /** Sixteen changes would have to be made while packets wait for their decisions, some µs, for an epoch to be taken for another. */
  val epochWidth = 4
}

/** The match table: the first rule whose masked value is the packet's masked destination says its class, or that it is left
  * alone; without such a rule the default does. Each four bits of the destination ask a RAM which rules match them.
  *
  * `result` comes one cycle after `destination`, out of one level of registers; one a cycle. Each change of the table begins an epoch, whose number goes with the results.
  */
class MatchLookup(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = in(MatchConfig(c))
    /** `config` changes with the next cycle */
    val changed = in Bool ()
    val destination = slave(Flow(Destination()))
    val result = master(Flow(MatchResult(c)))
    val resultPacket = out UInt (2 bits)
  }
  noIoPrefix()

  /** a packet that is compared before, and chosen after a change is left alone */
  val changes = RegNext(io.changed) init False
  /** the epoch, but for a change of the cycle before: one is known late */
  val settled = Reg(UInt(MatchResult.epochWidth bits)) init 0
  val epoch = Mux(changes, settled + 1, settled)
  settled := epoch

  /** One cycle after it: every rule's answer. */
  val comparing = new Area {
    private val comes = io.destination.valid
    val valid = RegNext(comes) init False
    val packet = RegNextWhen(io.destination.packet, comes)
    private val column = io.config.column
    /** rules that match half of the address: in IPv4 there is the upper one alone */
    private def half(lower: Boolean): Bits = B(for (group <- 0 until c.matchRules / 4) yield {
      val written = column.valid && (column.all || column.group === group && column.lower === Bool(lower))
      val digits = io.destination.address(if (lower) 0 else 32, 32 bits).subdivideIn(4 bits)
      digits.zip(column.hits).map { case (digit, hits) =>
        val rules = Mem(Bits(4 bits), 16)
        rules.write(column.digit, hits, written)
        rules.readAsync(digit.asUInt)
      }.reduceBalancedTree(_ & _)
    })
    private val (upper, lower) = (half(lower = false), half(lower = true))
    val hits = RegNextWhen(B(for ((rule, n) <- io.config.actions.rules.zipWithIndex) yield
      rule.enable && rule.v6 === io.destination.v6 && upper(n) && (lower(n) || !rule.v6)), comes)
  }

  /** In the same cycle. */
  val choosing = new Area {
    import comparing._
    private val actions = io.config.actions
    /** some of these rules matches, and what the first of them says */
    private def first(rules: Seq[(Bool, Bits)]): (Bool, Bits) = if (rules.size == 1) rules.head else {
      val Seq((some, says), (others, other)) = Seq(rules.take(rules.size / 2), rules.drop(rules.size / 2)).map(first)
      (some || others, Mux(some, says, other))
    }
    private val (ruled, says) = first(hits.asBools.toSeq.zip(actions.rules.map(r => r.bypass ## r.klass)))
    private val answer = Mux(ruled, says, actions.unmatchedBypass ## actions.unmatchedClass)
    io.result.valid := valid
    io.result.bypass := answer.msb || changes
    io.result.klass := answer.resize(c.classWidth).asUInt
    io.result.epoch := epoch
    io.resultPacket := packet
  }
}
