package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.admission.Spacing

/** A packet whose flow is to be looked up. */
case class FlowJob(c: WeirConfig) extends Bundle {
  val index = UInt(c.flowIndexWidth bits)
  /** [[FlowKind]] */
  val kind = UInt(2 bits)
  val slot = UInt(c.flowSlotWidth bits)
  val v6 = Bool()
  /** the ports are part of the flow */
  val ports = Bool()
  /** where its words are */
  val packet = UInt(2 bits)
  /** it is merged by class: of its words, Ethernet header, version and DSCP alone count */
  val classed = Bool()
  val queue = c.queueId
}

/** Makes keys of flows out of packets that pass by: their first 64 bytes without VLAN tags, in words of 16; the tags
  * go beside them.
  *
  * A word a cycle. The words of the last four packets are kept. `job` comes three cycles after a good packet's end; its words can
  * be read in that cycle and the seven after it. Bytes that are no part of a key are cleared in `key`, which follows `ask` in the same cycle.
  */
class FlowKeys(c: WeirConfig) extends Component {
  private val tagBits = 12

  val io = new Bundle {
    val word = slave(Flow(IngressWord(c)))
    /** a packet has ended, with its last word or later */
    val end = in Bool ()
    /** it is an arrival, one cycle later */
    val arrival = slave(Flow(FlowArrival(c)))
    /** IPv4 protocol of jumbo frames */
    val protocol = in Bits (8 bits)
    val job = master(Flow(FlowJob(c)))
    /** a word of a job's packet */
    val ask = in(FlowJob(c))
    val askIndex = in(UInt(2 bits))
    val key = out(Bits(c.wordWidth + tagBits bits))
    /** with `job`: which of the [[Spacing]] lanes, from both addresses; never 0 */
    val lane = out(UInt(Spacing.laneWidth bits))
    /** where a packet goes, known before its end or up to two cycles after it */
    val destination = master(Flow(Destination()))
  }
  noIoPrefix()

  private def byte(word: Bits, n: Int): Bits = word(8 * n, 8 bits)
  /** Two bytes, the first one higher. */
  private def pair(word: Bits, n: Int): Bits = byte(word, n) ## byte(word, n + 1)

  /** Words without tags: word i of a packet is made when its word i + 1 comes, or at its end. */
  val aligned = new Area {
    val counter = Reg(UInt(3 bits)) init 0
    /** with a word: those of the packet that have come, up to 6; a packet out of a jumbo frame may be broken off, and has no end then */
    val number = io.word.first ? U(0, 3 bits) | counter
    /** words 0 to 4: no other is part of a key */
    val before = RegNextWhen(io.word.data, io.word.valid && (io.word.first || counter < 5))
    val tags = Reg(UInt(2 bits)) init 0
    val packet = Reg(UInt(2 bits)) init 0
    val flush = RegNext(io.end) init False
    val flushIndex = RegNextWhen(io.word.valid ? number | counter - 1, io.end)

    private def tagged(two: Bits): Bool = two === B"16'h8100" || two === B"16'h88A8"
    private val second = number === 1
    private val one = tagged(pair(before, 12))
    /** the second tag, if there is a first: of a word that comes late */
    private val both = tagged(pair(io.word.data, 0))
    private val found = one ? (both ? U(2, 2 bits) | U(1, 2 bits)) | U(0, 2 bits)
    when(io.word.valid) {
      counter := number + (number =/= 6).asUInt
      when(second)(tags := found)
      when(number === 0)(tags := 0)
    }
    when(io.end) {
      counter := 0
      packet := packet + 1
    }

    private val index = flush ? flushIndex | number - 1
    val makes = ((io.word.valid && number =/= 0) || flush) && index < 4
    private def shift(both: Bool): UInt = flush ? tags | (second ? ((one && both) ## (one && !both)).asUInt | tags)
    private val wide = io.word.data ## before
    /** Bytes of a word that is moved by so many tags. */
    private def moved(by: UInt, first: Int, count: Int): Bits = {
      def from(tags: Int): Bits = wide(8 * (first + 4 * tags), 8 * count bits)
      by.mux(1 -> from(1), 2 -> from(2), default -> from(0))
    }
    /** the first word keeps its first 12 bytes; of other words the number of tags is known */
    private val shifted = (both ? moved(shift(True), 12, 4) | moved(shift(False), 12, 4)) ## moved((index === 0) ? U(0, 2 bits) | tags, 0, 12)
    val valid = RegNext(makes) init False
    val at = RegNextWhen(index.resize(2), makes)
    val owner = RegNextWhen(flush ? (packet - 1) | packet, makes)
    val word = RegNextWhen(shifted, makes)
    private def tag(word: Bits, n: Int): Bits = byte(word, n)(3) ## pair(word, n + 2)
    /** number of tags, and of each which EtherType and what it says */
    val key = RegNextWhen(
      found ## ((found =/= 0) ? tag(before, 12) | B(0, 17 bits)) ## ((found === 2) ? tag(io.word.data, 0) | B(0, 17 bits)),
      io.word.valid && second)
  }

  private val ring = Mem(Bits(c.wordWidth + tagBits bits), 16)
  ring.write(aligned.owner @@ aligned.at,
    aligned.at.mux(0 -> aligned.key(11 downto 0), 1 -> aligned.key(23 downto 12), 2 -> aligned.key(35 downto 24),
      default -> B(0, 12 bits)) ## aligned.word, aligned.valid)

  /** Fields of the headers, as their words come by. */
  val fields = new Area {
    private def in(index: Int) = aligned.valid && aligned.at === index
    private val word = aligned.word
    /** no options: IHL is 5 */
    val plain = RegNextWhen(byte(word, 14)(3 downto 0) === 5, in(0))
    val v6 = RegNextWhen(pair(word, 12) === B"16'h86DD", in(0))
    val length4 = RegNextWhen(pair(word, 0).asUInt, in(1))
    val fragment = RegNextWhen(pair(word, 4)(12 downto 0) =/= 0, in(1))
    val protocol4 = RegNextWhen(byte(word, 7), in(1))
    val length6 = RegNextWhen(pair(word, 2).asUInt, in(1))
    val protocol6 = RegNextWhen(byte(word, 4), in(1))
    /** the first half of an IPv4 destination */
    val destination4 = RegNextWhen(pair(word, 14), in(1))

    io.destination.valid := in(2)
    io.destination.packet := aligned.owner
    io.destination.v6 := v6
    io.destination.address := Mux(v6, Cat((6 to 13).reverse.map(byte(word, _))), destination4 ## pair(word, 0) ## B(0, 32 bits))
  }

  /** The hash, word by word. */
  val hash = new Area {
    val width = log2Up(c.flowSlots)
    private def part(bytes: (Int, Int)*): Bits = FlowHash.part(aligned.word, bytes.toMap, width)
    private def run(at: Int, input: Int, count: Int): Seq[(Int, Int)] = (0 until count).map(n => (at + n, input + n))
    private val six = aligned.at === 0 || fields.v6
    private val none = B(0, width bits)
    private val addresses4 = aligned.at.mux(1 -> part(run(10, 0, 6): _*), 2 -> part(run(0, 6, 2): _*), default -> none)
    private val addresses6 = aligned.at.mux(1 -> part(run(6, 0, 10): _*), 2 -> part(run(0, 10, 16): _*),
      3 -> part(run(0, 26, 6): _*), default -> none)
    private val ports4 = (aligned.at === 2) ? part(run(2, 8, 4): _*) | none
    private val ports6 = (aligned.at === 3) ? part(run(6, 32, 4): _*) | none

    val comes = RegNext(aligned.valid) init False
    val opens = RegNextWhen(aligned.at === 0, aligned.valid)
    val addressPart = RegNextWhen(six ? addresses6 | addresses4, aligned.valid)
    val portPart = RegNextWhen(six ? ports6 | ports4, aligned.valid)
    val addressSum, portSum = Reg(Bits(width bits)) init 0
    private val newAddress = (opens ? none | addressSum) ^ addressPart
    private val newPort = (opens ? none | portSum) ^ portPart
    when(comes) {
      addressSum := newAddress
      portSum := newPort
    }
    /** with what comes now */
    val addresses = comes ? newAddress | addressSum
    val ports = comes ? newPort | portSum
  }

  /** An arrival's kind, in the first, second and third cycle after its end. */
  val judged = new Area {
    private val header = io.arrival.tags @@ U(0, 2 bits)
    private val valid1 = io.arrival.valid
    private val rest = io.arrival.length - 14 - header
    val valid2 = RegNext(valid1) init False
    val arrival2 = RegNextWhen(io.arrival.payload, valid1)
    /** bytes behind the Ethernet header, and behind an IPv6 header; negative if there are none */
    val rest4 = RegNextWhen(rest, valid1)
    val rest6 = RegNextWhen(rest.intoSInt - 40, valid1)
    val packet2 = RegNextWhen(aligned.packet - 1, valid1)

    private val v6 = arrival2.ipVersion === IpVersion.v6
    private val protocol = v6 ? fields.protocol6 | fields.protocol4
    private def oneOf(values: Int*) = values.map(protocol === _).orR
    private val exact = v6 ? (!rest6.msb && fields.length6 === rest6.asUInt.resize(16)) | (fields.length4 === rest4.resize(16))
    private val ported = oneOf(6, 17)
    /** there are 4, 24 bytes: without a carry */
    private def four(bytes: UInt) = (bytes >> 2).orR
    private def twentyFour(bytes: UInt) = (bytes >> 5).orR || bytes(4) && bytes(3)
    private val there = v6 ? (!rest6.msb && four(rest6.asUInt)) | twentyFour(rest4)
    private val told = v6 ? four(fields.length6) | twentyFour(fields.length4)

    val valid3 = RegNext(valid2) init False
    val index3 = RegNextWhen(arrival2.index, valid2)
    val packet3 = RegNextWhen(packet2, valid2)
    val v63 = RegNextWhen(v6, valid2)
    val protocol3 = RegNextWhen(protocol, valid2)
    val ports3 = RegNextWhen(ported && there && told, valid2)
    val classed3 = RegNextWhen(arrival2.classed, valid2)
    val queue3 = RegNextWhen(arrival2.queue, valid2)
    val kind3 = Reg(UInt(2 bits))
    when(valid2) {
      kind3 := FlowKind.joinable
      when(!exact || arrival2.exempt || (!v6 && protocol === io.protocol))(kind3 := FlowKind.barred)
      when(v6 ? oneOf(0, 43, 44, 50, 51, 60, 135, 139, 140) | (!fields.plain || fields.fragment) || ported && there && !told) {
        // the class is told by the destination, which is there
        kind3 := Mux(arrival2.classed, U(FlowKind.barred, 2 bits), U(FlowKind.unknown, 2 bits))
      }
      when(arrival2.ipVersion === IpVersion.none)(kind3 := FlowKind.none)
    }

    private val spread = hash.addresses.resize(Spacing.laneWidth).asUInt
    io.lane := (spread === 0) ? U(Spacing.laneCount / 2) | spread
    io.job.valid := valid3
    io.job.index := index3
    io.job.kind := kind3
    io.job.v6 := v63
    io.job.ports := ports3
    io.job.packet := packet3
    io.job.classed := classed3
    io.job.queue := queue3
    io.job.slot := (hash.addresses ^ (ports3 ? hash.ports | B(0, hash.width bits)) ^ protocol3.resize(hash.width)).asUInt.resized
  }

  /** What counts of a word: the Ethernet header, version, DSCP, protocol, addresses, ports. */
  val reading = new Area {
    private val word = ring.readAsync(io.ask.packet @@ io.askIndex)
    private def bytes(all: Int*): BigInt = all.map(n => BigInt(255) << (8 * n)).foldLeft(BigInt(0))(_ | _)
    private def mask(value: BigInt): Bits = B(value, c.wordWidth bits)
    private val ports4 = mask(bytes(2 to 5: _*))
    private val ports6 = mask(bytes(6 to 9: _*))
    private val dscp4 = mask(bytes(0 to 14: _*) | (BigInt(0xfc) << 120))
    private val dscp6 = mask(bytes(0 to 14: _*) | (BigInt(0xc0) << 120))
    private def withPorts(fixed: BigInt, ports: Bits): Bits = mask(fixed) | ports & B(c.wordWidth bits, default -> io.ask.ports)
    private val counts4 = io.askIndex.mux(0 -> dscp4, 1 -> mask(bytes((7 +: (10 to 15)): _*)), default -> withPorts(bytes(0, 1), ports4))
    private val counts6 = io.askIndex.mux(0 -> dscp6, 1 -> mask(bytes((4 +: (6 to 15)): _*)), 2 -> mask(bytes(0 to 15: _*)),
      3 -> withPorts(bytes(0 to 5: _*), ports6))
    /** not the length of an IPv4 header: packets with options are of their class */
    private val class4 = mask(bytes(0 to 13: _*) | (BigInt(0xfcf0) << 112))
    private val classes = (io.askIndex === 0) ? (io.ask.v6 ? dscp6 | class4) | mask(0)
    private val counts = io.ask.classed ? classes | (io.ask.v6 ? counts6 | counts4)
    io.key := word(c.wordWidth, tagBits bits) ## (word(c.wordWidth - 1 downto 0) & counts)
  }
}
