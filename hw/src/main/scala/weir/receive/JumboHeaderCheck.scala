package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.ValidPipeline

/** Checks what stands before the packets of a jumbo frame: the outer IPv4 header, the jumbo header, the table, and that
  * the lengths add up.
  *
  * Gives rows of lengths, at most one a word, and for each frame one row that says how it is: at its end, or as soon as
  * something is wrong; no lengths follow that. A word passes six steps: 1 header; 2 entries; 3 their sum, limits of a
  * length; 4 sum over the frame, row of lengths; 5 sum against the frame's length; 6 verdict. The next frame's second
  * word comes three cycles after a frame's last or later, so that what is kept per frame at step 2 holds to step 4.
  * Throughput: a word every second cycle, and a last word one cycle after the one before.
  * Reset: nothing is given for frames that are open.
  */
class JumboHeaderCheck(c: WeirConfig) extends Component {
  val io = new Bundle {
    val piece = slave(Flow(JumboPiece(c)))
    /** `piece` comes, or the like of a frame that is no jumbo frame: what is left of its table may be anything */
    val comes = in Bool ()
    /** the word after the ones that came is all table */
    val table = out Bool ()
    val row = master(Flow(LengthRow(c)))
  }
  noIoPrefix()

  private val bytes = io.piece.data.subdivideIn(8 bits)
  private def two(at: Int): Bits = bytes(at) ## bytes(at + 1)
  private val maxCount = 448
  private val maxPadded = 68
  private val step = new ValidPipeline(io.piece.valid, 6)
  /** The value for a word that is at step n, at step n + 1. */
  private def next[T <: Data](value: T, n: Int): T = RegNextWhen(value, step(n))

  /** Step 1. */
  val header = new Area {
    private val p = io.piece.payload
    private val tags = p.tags
    val isSecond = p.number === 1
    val odd = p.l3 && p.ihl =/= 5
    /** the word with the jumbo header */
    val here = !odd && p.number === (p.l3 ? U(2, 3 bits) | U(1, 3 bits))
    /** where the count may be; the first entry is n + 1 32-bit words into this one, if it is number n */
    private val countsAt = Seq(p.before, two(2), two(6), two(10)).map(_.asUInt)
    val count = MuxOH.or(p.at, countsAt)
    val versionTick = MuxOH.or(p.at, (0 until 4).map(n => two(4 * n + 2)))
    val firstEntry = OHToUInt(p.at) +^ U(1, 2 bits)
    /** the entries' end, in 32-bit words of this one */
    val end = count(8 downto 0) +^ firstEntry
    /** it is in a later word, or in one behind that: told from each place, for the sum comes too late */
    val (endsLater, endsBehind) = (endsFrom(4), endsFrom(8))
    private def endsFrom(word: Int): Bool =
      (0 until 4).map(n => p.at(n) && countsAt(n)(8 downto 0) >= word - 1 - n).orR
    /** bytes before the packets */
    val before = (count(8 downto 0) +^ (U(5, 4 bits) + tags + (p.l3 ? U(5, 4 bits) | U(0, 4 bits)))) << 2

    private def outer[T <: Data](none: T, one: T, both: T): T = tags(1) ? both | (tags(0) ? one | none)
    val fragment = RegNextWhen(outer(two(4), two(8), two(12))(13 downto 0) =/= 0, io.piece.valid && isSecond)
    val total = RegNextWhen(outer(two(0), two(4), two(8)).asUInt, io.piece.valid && isSecond)
    private val short = p.bytes < ((p.ihl.resize(5 bits) +^ (tags +^ U(3, 3 bits))) << 2) + 2
    val ordinary = p.l3 && p.ends && short
    val wrong = odd && (p.ends || p.number === 5)
  }

  /** Step 2. */
  val table = new Area {
    private val p = io.piece.payload
    val here = next(header.here, 0)
    val isSecond = next(header.isSecond, 0)
    val ends = next(p.ends, 0)
    val l3 = next(p.l3, 0)
    private val odd = next(header.wrong, 0)
    private val count = next(header.count, 0)
    private val versionTick = next(header.versionTick, 0)
    private val wrongHeader =
      versionTick(15 downto 8) =/= 0x10 || versionTick(7 downto 5) =/= 0 || count === 0 || count > maxCount
    val wrong = odd || (here && (wrongHeader || (l3 && header.fragment)))
    val ordinary = next(header.ordinary, 0)
    val bytes = next(p.bytes, 0)
    private val raw = (0 until 4).map(n => two(4 * n).asUInt)
    val lengths = raw.map(next(_, 0))
    val present = raw.map(l => next(l =/= 0, 0))
    /** 1 to 19, or more than any frame has */
    val broken = raw.map(l => next((l =/= 0 && l < 20) || l(15 downto 14) =/= 0, 0))

    private val opens = step(0) && header.here
    val firstEntry = RegNextWhen(header.firstEntry, opens)
    val before = RegNextWhen(header.before, opens)
    val start = RegNextWhen(header.endsLater ## header.end(1 downto 0), opens)
    val tags = RegNextWhen(p.tags, opens)
    val transit = RegNextWhen(p.transit, opens)
    val tick = RegNextWhen(header.versionTick(4 downto 0).asUInt, opens)
    val spacings = (0 until 4).map(n => next(two(4 * n + 2).asUInt, 0))
    val totalEnd = next(header.total +^ ((p.tags +^ U(3, 3 bits)) << 2) + 2, 1)

    /** entries from the start of this word on */
    val left = Reg(UInt(10 bits)) init 0
    val after = (left >= 4) ? (left - 4) | U(0, 10 bits)
    when(io.comes && header.here) {
      left := header.end
    } elsewhen (io.comes && header.isSecond) {
      left := 0
    } elsewhen (step(1)) {
      left := after
    }
    /** so does the word behind the last one that came */
    val more = RegInit(False)
    when(io.comes && header.here) {
      more := header.endsBehind
    } elsewhen (io.comes) {
      more := !header.isSecond && left >= 8
    }
    io.table := more
    val counts = (0 until 4).map(n => left > n && (!here || firstEntry <= n))
  }

  /** Step 3. */
  val entries = new Area {
    private val taken = (0 until 4).map(n => table.lengths(n) & U(16 bits, default -> table.counts(n)))
    val lengths = taken.map(l => next(l(13 downto 0), 1))
    val spacings = (0 until 4).map(n => next(table.spacings(n) & U(16 bits, default -> table.counts(n)), 1))
    val present = next((0 until 4).map(n => table.counts(n) && table.present(n)).asBits(), 1)
    val wrong = next(table.wrong || (0 until 4).map(n => table.counts(n) && table.broken(n)).orR, 1)
    val here = next(table.here, 1)
    val isSecond = next(table.isSecond, 1)
    val ends = next(table.ends, 1)
    val ordinary = next(table.ordinary, 1)
    val l3 = next(table.l3, 1)
    val bytes = next(table.bytes, 1)
  }

  /** The outer header's checksum: a step each for pairs, word, header, carry. */
  val checksum = new Area {
    private val p = io.piece.payload
    private val start = p.tags(1) ? U(3, 4 bits) | p.tags(0 downto 0).resize(4 bits)
    private val end = p.tags(1) ? U(5, 4 bits) | (p.tags(0) ? U(3, 4 bits) | U(1, 4 bits))
    private val second = header.isSecond
    private val summed = p.number <= 2
    private val halves = (0 until 8).map { n =>
      val counts = summed && (second ? (start <= n) | (end > n))
      (two(2 * n) & B(16 bits, default -> counts)).asUInt
    }
    private val outside = (p.before & B(16 bits, default -> (second && p.tags === 0))).asUInt
    private val enable = step(0) && p.l3
    val pairs = halves.grouped(2).map(h => RegNextWhen(h(0) +^ h(1), enable)).toSeq
    val first = RegNextWhen(outside, enable)
    val word = next((pairs(0) +^ pairs(1)) +^ (pairs(2) +^ pairs(3)) +^ first, 1)
    val sum = Reg(UInt(20 bits))
    when(step(2)) { sum := (entries.isSecond ? U(0, 20 bits) | sum) + word.resized }
    val folded = next(sum(15 downto 0) +^ sum(19 downto 16), 3)
  }

  /** Step 4. */
  val row = new Area {
    val lengths = entries.lengths.map(next(_, 2))
    /** of this word up to each entry, and of the words before it */
    private val spaced = entries.spacings
    val spacings = Seq(spaced(0).resize(18 bits), (spaced(0) +^ spaced(1)).resize(18 bits), spaced(0) +^ spaced(1) +^ spaced(2).resize(17 bits),
      (spaced(0) +^ spaced(1)) +^ (spaced(2) +^ spaced(3))).map(next(_, 2))
    val spacedBefore = Reg(UInt(LengthRow.spacingWidth bits))
    val present = next(entries.present, 2)
    val sum = next((entries.lengths(0) +^ entries.lengths(1)) +^ (entries.lengths(2) +^ entries.lengths(3)), 2)
    /** here or in a word before */
    val wrong = Reg(Bool())
    when(step(2)) { wrong := entries.wrong || (!entries.isSecond && wrong) }
    val here = next(entries.here, 2)
    val ends = next(entries.ends, 2)
    val ordinary = next(entries.ordinary, 2)
    val l3 = next(entries.l3, 2)
    val bytes = next(entries.bytes, 2)
    private val opening = here ? U(0, LengthRow.spacingWidth bits) | spacedBefore
    val spacingSums = spacings.map(s => opening + s)
    when(step(3))(spacedBefore := spacingSums(3))
  }

  /** Step 5. */
  val total = new Area {
    /** end of the packets, from the frame's start; its highest bit stays set */
    val end = Reg(UInt(17 bits))
    private val sum = ((row.here ? table.before.resize(16 bits) | end(15 downto 0)) +^ row.sum)
    when(step(3)) { end := (sum.msb || (!row.here && end.msb)).asUInt @@ sum(15 downto 0) }
    val wrong = next(row.wrong, 3)
    val ends = next(row.ends, 3)
    val ordinary = next(row.ordinary, 3)
    val here = next(row.here, 3)
    val l3 = next(row.l3, 3)
    val bytes = next(row.bytes, 3)
    private val fits = end === bytes.resize(17 bits) || (end < bytes.resize(17 bits) && bytes <= maxPadded)
    val adds = fits && (!l3 || end === table.totalEnd)
  }

  /** Step 6. */
  val verdict = new Area {
    val wrong = next(total.wrong || (total.l3 && total.here && checksum.folded =/= 0xffff), 4)
    val adds = next(total.adds, 4)
    val ends = next(total.ends, 4)
    val ordinary = next(total.ordinary, 4)
    /** the frame has its verdict */
    val given = RegInit(False)
    val valid = step(5) && (ends || wrong) && !given
    when(valid) { given := True }
    when(step(2) && entries.isSecond) { given := False }
  }

  io.row.valid := verdict.valid || (step(3) && row.present =/= 0 && !row.wrong && !verdict.given)
  io.row.kind := !verdict.valid ? U(RowKind.lengths, 2 bits) | (verdict.ordinary ? U(RowKind.ordinary, 2 bits) |
    ((verdict.adds && !verdict.wrong) ? U(RowKind.good, 2 bits) | U(RowKind.malformed, 2 bits)))
  io.row.start := table.start.asUInt
  io.row.tags := table.tags
  io.row.quads := (table.before >> 2).resized
  io.row.transit := table.transit
  io.row.present := row.present
  io.row.lengths := Vec(row.lengths)
  io.row.spacings := Vec(row.spacingSums)
  io.row.tick := table.tick
}
