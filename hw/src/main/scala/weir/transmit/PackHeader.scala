package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** One of the first three words of a group's first packet. */
case class PackHeaderWord(c: WeirConfig) extends Bundle {
  val index = UInt(2 bits)
  val data = Bits(c.wordWidth bits)
}

/** The beats before a jumbo frame's packets: its outer headers and its table.
  *
  * Quads (4 bytes) of the first packet's frame are passed on with what differs put over them: the EtherType's quad is
  * number 3 + t, and IPv4's fields stay at their places behind it. The first beat is offered two cycles after `enough`,
  * one a cycle follows. Between `group` and the last quad of the outer header it is `busy`: no other group may come.
  * Reset: silent from the next cycle, the identification starts from 0.
  */
class PackHeader(c: WeirConfig) extends Component {
  val io = new Bundle {
    val group = slave(Flow(PackGroup(c)))
    val config = in(PackConfig())
    val word = slave(Flow(PackHeaderWord(c)))
    /** One of these words is awaited: what `word` shows is loaded, valid or not. Not before the outer header of the group before has been passed on. */
    val loads = in Bool ()
    /** the frame can be begun; not before the third word */
    val enough = in Bool ()
    val step = master(Flow(PackTableStep()))
    val pair = in Vec (Bits(32 bits), 2)
    val prefix = master(Stream(PackPrefix(c)))
    /** a group's outer header has not been passed on */
    val busy = out Bool ()
    /** something is inside */
    val active = out Bool ()
  }
  noIoPrefix()

  val beat = Stream(PackPrefix(c))

  /** What is known of the group whose outer header is next. */
  val outer = new Area {
    val busy, ready = RegInit(False)
    val group = RegNextWhen(io.group.payload, io.group.valid)
    val config = RegNextWhen(io.config, io.group.valid)
    val odd = RegNextWhen(io.group.odd, io.group.valid)
    val length = RegNextWhen(group.outerBytes - 14 - (group.tags << 2).resize(14 bits), busy)
    /** counts jumbo frames of the L3 form, a cycle after their outer header has been passed on: a beat is known to be taken late, and the next
      * group is not here yet
      */
    val identification = Reg(UInt(16 bits)) init 0
    val counts = RegInit(False)
    when(counts)(identification := identification + 1)
    /** the first packet's quads, the next one lowest */
    val quads = Reg(Vec(Bits(32 bits), 12))
    val complete = RegNext(io.word.valid && io.word.index === 2) init False
    when(io.group.valid)(busy := True)
    when(io.enough)(ready := True)
    io.busy := busy
  }
  import outer.group

  /** The `n`-th byte of the first packet's IPv4 header, before any quad was passed on. */
  private def ip(n: Int): Bits = {
    val places = for (tags <- 0 to 2) yield { val at = 14 + 4 * tags + n; outer.quads(at / 4)(8 * (at % 4), 8 bits) }
    group.tags.mux(1 -> places(1), 2 -> places(2), default -> places(0))
  }
  private val tos = ip(1)(7 downto 2) ## group.ecn
  val sum = new PackChecksum(outer.complete, outer.busy, outer.length, outer.identification, tos, ip(8),
    outer.config.protocol, ip(12) ## ip(13) ## ip(14) ## ip(15), ip(16) ## ip(17) ## ip(18) ## ip(19))

  /** The table: two entries a beat. */
  val table = new Area {
    val active = RegInit(False)
    /** entries to be sent */
    val left = Reg(UInt(9 bits))
    val last = left === 1 || left === 2
    val one = left === 1
  }

  /** The outer header: two quads a beat. */
  val header = new Area {
    val active = outer.ready && !table.active
    /** number of the lower quad, in the count in which the EtherType's is 5 */
    val at = Reg(UInt(4 bits))
    when(io.group.valid)(at := U(2, 4 bits) - io.group.tags)
    /** `at` of the beat in which the outer header ends */
    val end = outer.group.l3 ? (outer.odd ? U(11, 4 bits) | U(10, 4 bits)) | (outer.odd ? U(6, 4 bits) | U(5, 4 bits))
    val last = at === end

    private val average = BigEndian(group.tick.resize(8), 1) ## B"8'h10" ## BigEndian(group.averageLength, 2)
    private val count = BigEndian(group.count, 2)
    /** A quad of the first packet's frame, as it is in the jumbo frame. */
    private def changed(number: UInt, quad: Bits): Bits = {
      val result = CombInit(quad)
      when(group.l3) {
        switch(number) {
          is(5)(result := quad(31 downto 26) ## group.ecn ## B"24'h450008")
          is(6)(result := BigEndian(outer.identification, 2) ## BigEndian(outer.length, 2))
          is(7)(result := outer.config.protocol ## quad(23 downto 16) ## B"16'h0040")
          is(8)(result(15 downto 0) := BigEndian(sum.value.checksum, 2))
          is(10)(result(31 downto 16) := count)
          is(11)(result := average)
        }
      } otherwise {
        switch(number) {
          is(5)(result := count ## BigEndian(outer.config.etherType, 2))
          is(6)(result := average)
        }
      }
      result
    }
    val low = changed(at, outer.quads(0))
    val high = changed(at + 1, outer.quads(1))
  }

  beat.valid := header.active || table.active
  private val low = table.active ? io.pair(0) | header.low
  private val high = (header.last && outer.odd) ? io.pair(0) | header.high
  beat.data := (table.active ? io.pair(1) | high) ## low
  beat.joint := table.active && table.one
  beat.last := table.active ? table.last | (header.last && outer.odd && group.count === 1)
  io.prefix << beat.m2sPipe()

  io.step.valid := beat.fire
  io.step.header := header.active
  io.step.count := group.count
  io.step.last := beat.last
  /** The table's first entries are read two beats before they are sent. */
  val reading = new Area {
    val ahead = header.at + 4
    val first = ahead === header.end
    val behind = ahead > header.end
    io.step.take := (table.active || behind) ? U(2, 2 bits) | (first && outer.odd).asUInt.resize(2)
  }

  // until a word is there its place is loaded over and over
  when(io.loads) {
    for (n <- 0 until 12) when(io.word.index === n / 4)(outer.quads(n) := io.word.data(32 * (n % 4), 32 bits))
  }
  when(beat.fire && header.active) {
    for (n <- 0 until 10) outer.quads(n) := outer.quads(n + 2)
    header.at := header.at + 2
    when(header.last) {
      outer.busy := False
      outer.ready := False
      table.active := !beat.last
      table.left := group.count - outer.odd.asUInt
    }
  }
  outer.counts := beat.fire && header.active && header.last && group.l3
  when(beat.fire && table.active) {
    table.left := table.left - 2
    when(table.last)(table.active := False)
  }
  io.active := outer.busy || beat.valid || io.prefix.valid
}
