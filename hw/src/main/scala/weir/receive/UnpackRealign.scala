package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.policy.Ecn

/** Makes the words of packets' frames: cuts them out of two words of the jumbo frame, puts the Ethernet header before them,
  * checks the IP header, and changes its ECN field by RFC 6040, section 4.2, with its checksum by RFC 1624.
  *
  * Latency: four cycles. Throughput: a word a cycle. A frame's words may change after they have been given: `wrong` comes
  * with the word that shows it. Reset: nothing inside.
  */
class UnpackRealign(c: WeirConfig) extends Component {
  val io = new Bundle {
    val item = slave(Stream(SplitItem(c)))
    /** the jumbo frame's first 20 bytes, as long as first and second words of its packets come and one cycle more */
    val ethernet = in(Bits(160 bits))
    /** the protocol of the L3 form: nested ones are malformed; queues by DSCP */
    val config = in(UnpackConfig(c))
    val word = master(Stream(SplitWord(c)))
    /** an end is inside */
    val ends = out Bool ()
    val busy = out Bool ()
  }
  noIoPrefix()

  private val go = Bool()
  io.item.ready := go

  private def mux[T <: Data](tags: UInt, none: T, one: T, both: T): T = tags(1) ? both | (tags(0) ? one | none)

  /** Sixteen bytes in a row of the two words start at byte n of one of them: byte j of the second word takes the place of that of the first for
    * j < n, unless they start before both, and what there is then is turned by n, first by fours.
    */
  val coarse = new Area {
    private val taken = go && io.item.valid
    private val words = io.item.window.subdivideIn(8 bits).grouped(16).toSeq
    private val start = io.item.at(3 downto 0).asUInt
    private val chosen = (0 until 16).map { j =>
      if (j == 15) words(0)(j) else Mux(start > j && !io.item.at.msb, words(1)(j), words(0)(j))
    }
    private def turned(bytes: Seq[Bits], by: UInt, step: Int): Seq[Bits] =
      (0 until 16).map(i => Vec((0 until 4).map(n => bytes((i + n * step) % 16)))(by))
    val valid = RegNextWhen(io.item.valid, go) init False
    val place = RegNextWhen(io.item.place, taken)
    val data = RegNextWhen(Vec(turned(chosen, start(3 downto 2), 4)), taken)
    private val left = RegNextWhen(start(1 downto 0), taken)
    val word = turned(data.toSeq, left, 1)
  }

  /** The word with the addresses and tags before it. */
  val aligned = new Area {
    private val taken = go && coarse.valid
    private val outer = io.ethernet.subdivideIn(8 bits)
    private val isFirst = coarse.place.number === 0
    private val isSecond = coarse.place.number === 1
    private val tagged = coarse.place.tags =/= 0
    private val both = coarse.place.tags(1)
    private val headed = (0 until 16).map { n =>
      val inFirst = if (n < 14) isFirst else isFirst && tagged
      if (n < 4) inFirst ? outer(n) | ((isSecond && both) ? outer(16 + n) | coarse.word(n))
      else inFirst ? outer(n) | coarse.word(n)
    }
    val valid = RegNextWhen(coarse.valid, go) init False
    val place = RegNextWhen(coarse.place, taken)
    val data = RegNextWhen(Vec(headed), taken)
    /** the packet's first two bytes */
    val start = RegNextWhen(coarse.word(15) ## coarse.word(14), taken && isFirst)
  }

  /** What a packet's first two bytes say. */
  case class Packet() extends Bundle {
    val isV4, isIp, discard, exempt = Bool()
    val inner, ecn = UInt(2 bits)
    val dscp = UInt(6 bits)
  }

  val look = new Area {
    private val p = aligned.place
    private val version = aligned.start(7 downto 4)
    private val ihl = aligned.start(3 downto 0).asUInt
    val now = Packet()
    now.isV4 := version === 4
    now.inner := (now.isV4 ? aligned.start(9 downto 8) | aligned.start(13 downto 12)).asUInt
    private val address = aligned.data
    now.exempt := address(0) === 0x01 && address(1) === 0x80 && address(2) === 0xc2 && address(3) === 0 &&
      address(4) === 0 && address(5)(7 downto 4) === 0
    now.dscp := (now.isV4 ? aligned.start(15 downto 10) | aligned.start(3 downto 0) ## aligned.start(15 downto 14)).asUInt
    now.isIp := (!p.header || p.l3) && (!now.isV4 || (ihl >= 5 && (ihl << 2) <= p.length))
    private val congested = p.l3 && p.outerEcn === Ecn.ce
    private val notEct = now.inner === Ecn.notEct
    now.discard := congested && notEct
    now.ecn := now.inner
    when(congested && !notEct)(now.ecn := Ecn.ce)
    when(p.l3 && p.outerEcn === Ecn.ect1 && now.inner === Ecn.ect0)(now.ecn := Ecn.ect1)

    val isFirst = p.number === 0
    private val valid = go && aligned.valid && isFirst && !p.isEnd
    /** as the first word showed, for those behind it */
    val kept = RegNextWhen(now, valid)
    val packet = isFirst ? now | kept
    private val isV4 = RegNextWhen(now.isV4, valid)
    val wrong = isFirst && !p.header && ((!now.isV4 && version =/= 6) || (!p.opens && isV4 =/= now.isV4))
  }

  /** EtherType and ECN are in place; the packet's length and checksum have been found. */
  val marked = new Area {
    private val taken = go && aligned.valid
    private val p = aligned.place
    private val isFirst = look.isFirst
    private val isSecond = p.number === 1
    private val packet = look.packet
    private val etherType = packet.isV4 ? B"16'h0008" | B"16'hdd86"
    private def two(at: Int): UInt = (aligned.data(at) ## aligned.data(at + 1)).asUInt

    private val fixed = Vec(aligned.data.map(b => CombInit(b)))
    private def putType(at: Int, enable: Bool): Unit = when(enable) {
      fixed(at) := etherType(7 downto 0)
      fixed(at + 1) := etherType(15 downto 8)
    }
    private val inner = !p.header
    putType(12, inner && isFirst && p.tags === 0)
    putType(0, inner && isSecond && p.tags === 1)
    putType(4, inner && isSecond && p.tags === 2)
    private def putEcn(at: Int, enable: Bool): Unit = when(enable) {
      when(packet.isV4) { fixed(at)(1 downto 0) := packet.ecn.asBits } otherwise { fixed(at)(5 downto 4) := packet.ecn.asBits }
    }
    putEcn(15, inner && isFirst && p.tags === 0)
    putEcn(3, inner && isSecond && p.tags === 1)
    putEcn(7, inner && isSecond && p.tags === 2)

    val valid = RegNextWhen(aligned.valid, go) init False
    val place = RegNextWhen(p, taken)
    val data = RegNextWhen(fixed, taken)
    val about = RegNextWhen(packet, taken)
    /** the queue by DSCP, in two steps: eight columns, of which one counts */
    val columns = io.config.dscpQueue.grouped(8).map(g => RegNextWhen(Vec(g)(packet.dscp(2 downto 0)), taken)).toSeq
    val queue = about.isIp ? Vec(columns)(about.dscp(5 downto 3)) | io.config.defaultQueue
    val wrong = RegNextWhen(look.wrong, taken)
    /** what the packet says of its length, and should */
    val own = RegNextWhen(packet.isV4 ? mux(p.tags, two(0), two(4), two(8)) | mux(p.tags, two(2), two(6), two(10)), taken)
    val expected = RegNextWhen(p.length.resize(17 bits) - (packet.isV4 ? U(0, 17 bits) | U(40, 17 bits)), taken)
    val nested = RegNextWhen(packet.isV4 && mux(p.tags, aligned.data(7), aligned.data(11), aligned.data(15)) === io.config.protocol, taken)
    val frameLength = RegNextWhen(p.lastByte + 1, taken)

    /** HC' = HC - d with end-around carry, d of the first 16 bits of the header; RFC 1624, equation 3 */
    private val checksum = mux(p.tags, two(8), two(12), two(0))
    private val atLow = checksum(15 downto 2) === 0 && !checksum(1)
    private val atHigh = checksum(15 downto 1).andR
    val sum = RegNextWhen(checksum, taken)
    val change = Reg(SInt(3 bits))
    when(taken) {
      switch(look.kept.inner @@ look.kept.ecn) {
        is(U(Ecn.ect0 * 4 + Ecn.ce))(change := (atLow && !checksum(0)) ? S(-2, 3 bits) | S(-1, 3 bits))
        is(U(Ecn.ect1 * 4 + Ecn.ce))(change := atLow ? S(-3, 3 bits) | S(-2, 3 bits))
        is(U(Ecn.ect0 * 4 + Ecn.ect1))(change := atHigh ? S(2, 3 bits) | S(1, 3 bits))
        default(change := 0)
      }
    }
    private val sums = packet.isV4 && inner && !p.isEnd
    val sumAt8 = RegNextWhen(sums && isSecond && p.tags === 0, taken)
    val sumAt12 = RegNextWhen(sums && isSecond && p.tags === 1, taken)
    val sumAt0 = RegNextWhen(sums && p.number === 2 && p.tags(1), taken)
  }

  val result = Stream(SplitWord(c))
  result.valid := marked.valid
  go := result.ready
  result.isEnd := marked.place.isEnd
  result.header := marked.place.header
  private val corrected = (marked.sum.asSInt + marked.change.resize(16 bits)).asBits
  private val finished = Vec(marked.data.map(b => CombInit(b)))
  for ((at, enable) <- Seq(0 -> marked.sumAt0, 8 -> marked.sumAt8, 12 -> marked.sumAt12)) when(enable) {
    finished(at) := corrected(15 downto 8)
    finished(at + 1) := corrected(7 downto 0)
  }
  result.data := finished.asBits
  result.first := marked.place.number === 0
  result.last := marked.place.last
  result.index := marked.place.index
  result.wrong := marked.wrong ||
    (marked.place.number === 1 && !marked.place.header && (marked.own.resize(17 bits) =/= marked.expected || marked.nested))
  result.discard := marked.about.discard
  result.gives := !result.isEnd && !result.wrong && !result.discard
  result.length := marked.frameLength
  result.waitNs := marked.place.waitNs
  result.payload.queue := marked.queue
  result.exempt := marked.about.exempt
  result.ecn := marked.about.isIp ? marked.about.ecn | U(Ecn.notEct, 2 bits)
  result.ipVersion := !marked.about.isIp ? U(IpVersion.none, 2 bits) |
    (marked.about.isV4 ? U(IpVersion.v4, 2 bits) | U(IpVersion.v6, 2 bits))
  result.ipOffset := (marked.about.isIp || marked.place.header) ? marked.place.tags | U(0, 2 bits)

  private val held = result.s2mPipe()
  io.word << held.m2sPipe()
  io.ends := (coarse.valid && coarse.place.isEnd) || (aligned.valid && aligned.place.isEnd) ||
    (marked.valid && marked.place.isEnd) || (held.valid && held.isEnd) || (io.word.valid && io.word.isEnd)
  io.busy := coarse.valid || aligned.valid || marked.valid || held.valid || io.word.valid
}
