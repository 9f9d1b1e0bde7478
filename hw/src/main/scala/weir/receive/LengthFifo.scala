package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.admission.Spacing

/** The lengths of packets to come: rows of four in, one token a packet out.
  *
  * Latency: about six cycles. Throughput: a row a cycle in, a token every second cycle out; with `flush`, lengths up to
  * the next verdict are dropped a row a cycle. 512 rows: a frame needs 115 at most, and `refuse` tells that fewer than 128
  * are free. Reset: empty.
  */
class LengthFifo(c: WeirConfig) extends Component {
  val io = new Bundle {
    val row = slave(Flow(LengthRow(c)))
    val refuse = out Bool ()
    /** rows inside, one cycle late */
    val rows = out UInt (10 bits)
    /** lengths of the frame at the output are not wanted any more */
    val flush = in Bool ()
    val token = master(Stream(LengthToken(c)))
  }
  noIoPrefix()

  private val depth = 512
  private val fifo = StreamFifo(LengthRow(c), depth, latency = 2)
  fifo.io.push.valid := io.row.valid
  fifo.io.push.payload := io.row.payload
  io.refuse := RegNext(fifo.io.occupancy > depth - 128) init False
  io.rows := RegNext(fifo.io.occupancy) init 0

  private val popped = fifo.io.pop.s2mPipe()
  val row = popped.m2sPipe()

  /** A length with what its token needs. */
  case class Chosen() extends Bundle {
    val kind = UInt(2 bits)
    val start = UInt(3 bits)
    val tags = UInt(2 bits)
    val length = c.length
    val spacing = UInt(LengthRow.spacingWidth bits)
    val tick = UInt(5 bits)
    val quads = UInt(9 bits)
    val transit = Bool()
  }

  /** Takes the lengths out of a row one by one. */
  val choice = new Area {
    val isLengths = row.kind === RowKind.lengths
    val fresh = RegInit(True)
    val left = Reg(Bits(4 bits))
    /** no more than one is there: of the row, of what is left of it */
    private def single(lengths: Bits): Bool = !lengths.asBools.combinations(2).map(_.reduce(_ && _)).reduce(_ || _)
    val rowSingle = RegNextWhen(single(popped.present), popped.ready)
    val leftSingle = Reg(Bool())
    val present = fresh ? row.present | left
    val pick = OHMasking.first(present)
    val rest = present & ~pick
    val done = !isLengths || (fresh ? rowSingle | leftSingle)
    /** verdicts between here and the output: what is behind the first is not to be dropped */
    val verdicts = Reg(UInt(3 bits)) init 0
    val drop = io.flush && isLengths && verdicts === 0

    val output = Stream(Chosen())
    output.valid := row.valid && !drop
    output.kind := row.kind
    output.start := row.start
    output.tags := row.tags
    output.quads := row.quads
    output.transit := row.transit
    output.length := MuxOH(pick, row.lengths)
    output.spacing := MuxOH(pick, row.spacings)
    output.tick := row.tick
    row.ready := drop || (output.ready && done)
    when(output.fire) {
      left := rest
      leftSingle := single(rest)
      fresh := done
    }
    when(row.valid && drop)(fresh := True)
    private val verdictIn = output.fire && !isLengths
    private val verdictOut = RegNext(io.token.fire && io.token.kind =/= RowKind.lengths) init False
    when(verdictIn && !verdictOut)(verdicts := verdicts + 1)
    when(!verdictIn && verdictOut)(verdicts := verdicts - 1)
  }

  val sized = {
    val chosen = choice.output.m2sPipe()
    val token = LengthToken(c)
    token.kind := chosen.kind
    token.start := chosen.start
    token.length := chosen.length
    token.quads := chosen.quads
    token.transit := chosen.transit
    val waitNs = chosen.spacing << chosen.tick
    /** bits of a spacing that are too much in ticks of that length: known sooner than they are shifted */
    val excess = Vec((0 until 32).map { tick =>
      val fitting = (Spacing.waitWidth - tick) max 0 min LengthRow.spacingWidth
      B((BigInt(1) << LengthRow.spacingWidth) - (BigInt(1) << fitting), LengthRow.spacingWidth bits)
    })(chosen.tick)
    val saturates = (chosen.spacing.asBits & excess).orR
    token.waitNs := saturates ? U(Spacing.waitWidth bits, default -> true) | waitNs.resize(Spacing.waitWidth)
    // the Ethernet header has 14 + 4 * tags bytes, and bytes count from 0
    token.lastByte := chosen.length + ((chosen.tags +^ U(3, 3 bits)) << 2) + 1
    chosen.translateWith(token).halfPipe()
  }
  io.token << sized
}
