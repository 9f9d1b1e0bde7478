package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.axis.{Axis, AxisBeat}
import weir.policy.Ecn
import weir.receive.IpVersion

/** What is to be done to a frame on its way out. */
case class RewriteInfo() extends Bundle {
  /** set CE if the frame is ECT */
  val mark = Bool()
  /** codepoint on arrival, as [[FrameMeta.ecn]] */
  val ecn = UInt(2 bits)
  /** [[IpVersion]] */
  val ipVersion = UInt(2 bits)
  /** as [[FrameMeta.ipOffset]] */
  val ipOffset = UInt(2 bits)

  /** The mark changes the frame: it is an IP packet that is ECT. */
  def changes: Bool = mark && ipVersion =/= IpVersion.none && (ecn === Ecn.ect0 || ecn === Ecn.ect1)
}

/** What a mark takes from an IPv4 header checksum (RFC 1624): HC' = HC - d, or HC + 0xFFFF - d if HC < d, with d = 1 from
  * ECT(0) and 2 from ECT(1).
  */
class CeChecksum(checksum: UInt, ecn: UInt) extends Area {
  val fromEct1 = ecn === Ecn.ect1
  val wraps = checksum(15 downto 1) === 0 && (fromEct1 || !checksum(0))
  /** d, and one more if the subtraction wraps */
  val subtract = (fromEct1 ? U(2, 2 bits) | U(1, 2 bits)) + wraps.asUInt

  /** HC', at once: without the wrap, of which no more than the last two bits know */
  def corrected: UInt = {
    val plain = checksum - (fromEct1 ? U(2, 2 bits) | U(1, 2 bits))
    plain(15 downto 2) @@ (wraps ? (plain(0) ## !plain(0)).asUInt | plain(1 downto 0))
  }
}

/** A beat on its way out. */
case class RewriteBeat(c: WeirConfig) extends Bundle {
  val data = Bits(c.dataWidth bits)
  val keep = Bits(c.dataWidth / 8 bits)
  val first = Bool()
  val last = Bool()
  /** read on the first beat of a frame only */
  val info = RewriteInfo()
}

/** Writes Congestion Experienced into marked frames and corrects the IPv4 header checksum (RFC 1624):
  * HC' = HC - d, or HC + 0xFFFF - d if HC < d, with d = 1 from ECT(0) and 2 from ECT(1).
  *
  * Latency 2 cycles, one beat per cycle, full back-pressure; tvalid holds inside a frame if the input holds.
  * Frames that are Not-ECT, CE already or not IP pass unchanged, marked or not. Both stages are cleared by reset.
  */
class Rewrite(c: WeirConfig) extends Component {
  val io = new Bundle {
    val input = slave(Stream(RewriteBeat(c)))
    val m_axis = master(Stream(AxisBeat(c.dataWidth)))
    /** a beat is inside */
    val busy = out Bool()
  }
  noIoPrefix()
  Axis.name(io.m_axis, "m_axis")

  /** A beat with what is to be changed in it. */
  case class Plan() extends Bundle {
    val data = Bits(c.dataWidth bits)
    val keep = Bits(c.dataWidth / 8 bits)
    val last = Bool()
    /** the second byte of the IP header is byte 7, or byte 3, of this beat */
    val trafficHigh, trafficLow = Bool()
    val v6 = Bool()
    /** the checksum is in bytes 0 and 1, or 4 and 5, of this beat */
    val checksumLow, checksumHigh = Bool()
    val checksum = UInt(16 bits)
    /** d, and one more if the subtraction wraps */
    val subtract = UInt(2 bits)
  }

  /** Finds the beats: the traffic class at byte 15, 19 or 23, the checksum at 24, 28 or 32. */
  val find = new Area {
    private val fires = io.input.fire
    val number = Reg(UInt(3 bits))
    val change = RegNextWhen(io.input.info.changes, fires && io.input.first)
    val info = RegNextWhen(io.input.info, fires && io.input.first)
    when(fires) { number := io.input.first ? U(1, 3 bits) | (number + (number =/= 7).asUInt) }

    // Nothing changes in the first beat, so the registered information is early enough.
    private val active = change && !io.input.first
    private val oneTag = info.ipOffset === 1
    private val noTag = info.ipOffset === 0
    private val trafficBeat = noTag ? U(1, 3 bits) | U(2, 3 bits)
    private val checksumBeat = noTag ? U(3, 3 bits) | U(4, 3 bits)
    private val isV4 = info.ipVersion === IpVersion.v4
    private val bytes = io.input.data.subdivideIn(8 bits)
    private val checksum = (oneTag ? (bytes(4) ## bytes(5)) | (bytes(0) ## bytes(1))).asUInt
    val correction = new CeChecksum(checksum, info.ecn)

    val plan = Plan()
    plan.data := io.input.data
    plan.keep := io.input.keep
    plan.last := io.input.last
    plan.trafficHigh := active && number === trafficBeat && !oneTag
    plan.trafficLow := active && number === 2 && oneTag
    plan.v6 := !isV4
    plan.checksumLow := active && isV4 && !oneTag && number === checksumBeat
    plan.checksumHigh := active && isV4 && oneTag && number === 3
    plan.checksum := checksum
    plan.subtract := correction.subtract
  }

  val planned = io.input.translateWith(find.plan).m2sPipe()

  val change = new Area {
    private val corrected = (planned.checksum - planned.subtract).asBits
    private val ce = planned.v6 ? B"8'h30" | B"8'h03"
    val beat = AxisBeat(c.dataWidth)
    beat.tdata := planned.data
    when(planned.trafficHigh) { beat.tdata(63 downto 56) := planned.data(63 downto 56) | ce }
    when(planned.trafficLow) { beat.tdata(31 downto 24) := planned.data(31 downto 24) | ce }
    when(planned.checksumLow) { beat.tdata(15 downto 0) := corrected(7 downto 0) ## corrected(15 downto 8) }
    when(planned.checksumHigh) { beat.tdata(47 downto 32) := corrected(7 downto 0) ## corrected(15 downto 8) }
    beat.tkeep := planned.keep
    beat.tlast := planned.last
    beat.tuser := 0
  }

  io.m_axis << planned.translateWith(change.beat).m2sPipe()
  io.busy := planned.valid || io.m_axis.valid
}
