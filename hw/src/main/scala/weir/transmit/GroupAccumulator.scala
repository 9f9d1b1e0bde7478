package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Departure
import weir.common.{CarrySave, Multiply, ShiftRight, ValidPipeline}
import weir.policy.Ecn
import weir.receive.IpVersion

/** What [[weir.transmit.JumboPack]] and the shaper have to know of a group, summed up while its packets depart.
  *
  * `entry` comes four cycles after a departure, `sent` one and `group` five after the last. Of groups that are sent with
  * more than one packet only. Departures of a group are four cycles apart or more, the next group's first six after the last.
  */
class GroupAccumulator(c: WeirConfig) extends Component {
  val io = new Bundle {
    val departure = slave(Flow(Departure(c)))
    /** log2 of the spacing's unit in ns */
    val tick = in(UInt(5 bits))
    val entry = master(Flow(PackEntry(c)))
    val group = master(Flow(PackGroup(c)))
    /** bytes of the jumbo frame */
    val sent = master(Flow(c.length))
  }
  noIoPrefix()

  private val packet = io.departure.descriptor
  private val present = !io.departure.discard
  /** VLAN tags of the group's first packet; a packet in transit that is not IP does not tell its own */
  private val tags = Reg(UInt(2 bits))
  private val header = (packet.member ? tags | packet.ipOffset) @@ U(0, 2 bits)
  private val first = io.departure.first
  private val member = io.departure.valid && io.departure.sent && !(first && io.departure.last)
  /** What is summed up is a group's from its first departure to the cycle before the next group's: sums of a departure that is none of a group that
    * is sent mean nothing, and whether it is one is known later than that it comes.
    */
  private val comes = io.departure.valid

  /** a jumbo frame in transit: its first departure is no packet, but all that is before them, table included */
  private val opens = packet.header

  val sums = new Area {
    val transit = RegNextWhen(opens, comes && first)
    val removed = RegNextWhen(io.departure.group.removed, comes && first)
    val gone = RegNextWhen((io.departure.group.removed =/= 0) ? io.departure.group.front | U(0, c.memberWidth bits), comes && first)
    val l3 = Reg(Bool())
    /** of the whole group: it may change meanwhile */
    val tick = RegNextWhen(io.tick, comes && first)
    val bytes, lengths = Reg(c.length)
    val entries, packets = Reg(UInt(c.memberWidth bits))
    val notEct, ect0, ect1 = Reg(Bool())
    private val form = io.departure.group.l3
    /** What a departure adds to `bytes` beside its packet's length: the first one Ethernet, jumbo and outer IPv4 header, which its own takes with
      * it; a packet of a group an entry of the table in place of its Ethernet header.
      */
    private val beside = SInt(c.lengthWidth bits)
    private def constant(bytes: Int): SInt = S(bytes, c.lengthWidth bits)
    /** and so many bytes a tag: no adder */
    private def tagged(bytes: Int, tag: Int): SInt = Vec((0 until 4).map(n => constant(bytes + n * tag)))(header >> 2)
    beside := Mux(present, tagged(-10, -4), constant(4))
    when(first)(beside := Mux(present, Mux(form, constant(30), constant(10)), Mux(form, tagged(44, 4), tagged(24, 4))))
    when(opens)(beside := 0)
    when(packet.member)(beside := Mux(present, tagged(-14, -4), constant(0)))
    /** `before` and a packet's length and something more, in one carry chain */
    private def summed(begins: Bool, before: UInt, counts: Bool, more: SInt): UInt =
      CarrySave.sum(Seq(before.andMask(!begins), packet.length.andMask(counts), more.asUInt).map(_ -> 0), c.lengthWidth)
    private val marked = packet.mark && packet.ecn =/= Ecn.notEct
    private def among(codepoint: Int): Bool = present && !marked && packet.ecn === codepoint
    private def added(sum: UInt, start: UInt, value: UInt): UInt = (first ? start.resize(widthOf(sum)) | sum) + value.resize(widthOf(sum))
    when(comes) {
      bytes := summed((first || opens) && !packet.member, bytes, present || (opens && !packet.member), beside)
      lengths := summed(first, lengths, True, tagged(-14, -4))
      entries := added(entries, U(0), U(1))
      packets := added(packets, U(0), (present && !opens).asUInt)
      notEct := (!first && notEct) || among(Ecn.notEct)
      ect0 := (!first && ect0) || among(Ecn.ect0)
      ect1 := (!first && ect1) || among(Ecn.ect1)
      when(first) {
        l3 := (form || opens) && packet.ipVersion === IpVersion.v4
        tags := packet.ipOffset
      }
    }
  }

  val last = new ValidPipeline(member && io.departure.last, 5)
  io.sent.valid := last(1)
  io.sent.payload := sums.bytes

  /** floor(lengths / entries): times ceil(2^23 / entries), which is exact up to 2^23 = lengths · entries and more. */
  val average = new Area {
    val reciprocals = Mem(UInt(23 bits), (0 until 512).map(n =>
      U(if (n < 2) BigInt(0) else ((BigInt(1) << 23) + n - 1) / n, 23 bits)))
    val found = reciprocals.readSync(sums.entries, last(1))
    val reciprocal = RegNextWhen(found, last(2))
    val low = Multiply(sums.lengths, reciprocal(11 downto 0))
    val high = Multiply(sums.lengths, reciprocal(22 downto 12))
    val product = RegNextWhen((high << 12) +^ low, last(4))
    val quotient = (product >> 23).resize(c.lengthWidth)
  }

  io.group.valid := last(5)
  io.group.grouped := True
  io.group.transit := sums.transit
  io.group.gone := sums.gone
  io.group.removed := sums.removed
  io.group.count := sums.entries
  io.group.packets := sums.packets
  io.group.outerBytes := sums.bytes
  io.group.averageLength := average.quotient
  io.group.ecn := Ecn.ect0
  when(sums.ect1 && !sums.ect0)(io.group.ecn := Ecn.ect1)
  when(sums.notEct)(io.group.ecn := Ecn.notEct)
  io.group.tags := tags
  io.group.l3 := sums.l3
  io.group.tick := sums.tick

  /** Ticks between the arrivals of two packets. */
  val spacing = new Area {
    val steps = new ValidPipeline(member, 4)
    val stamp1 = RegNextWhen(packet.stampNs, comes)
    val first1 = RegNextWhen(first, comes)
    val length1 = RegNextWhen(present ? (packet.length - 14 - header) | U(0, c.lengthWidth bits), comes)
    private val ticks = new ShiftRight(stamp1, sums.tick, steps(1)).result
    val before = RegNextWhen(ticks, steps(2))
    val difference = RegNextWhen(ticks - before, steps(2))
    val entry = Reg(PackEntry(c))
    when(steps(3)) {
      entry.length := length1
      entry.spacing := difference(15 downto 0)
      // a tick that was made shorter meanwhile
      when(difference(47 downto 16) =/= 0)(entry.spacing.setAll())
      when(first1)(entry.spacing := 0)
    }
    io.entry.valid := steps(4) && !sums.transit
    io.entry.payload := entry
  }
}
