package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.Departure
import weir.common.DeepFifo

/** What [[Egress]] makes of packets: the FIFO of those to be read, what becomes of their words, how many frames may be
  * granted.
  */
abstract class FrameForm extends Area {
  /** a frame beyond the two that may always be granted */
  def more: Bool
  /** what is granted keeps the line busy for as long as a group's packets may need to be discarded, or as long as it can */
  def covered: Bool
}

/** A packet is a frame. A word becomes two beats, or one if it is the last and half full. */
class PacketFrames(c: WeirConfig, egress: Egress) extends FrameForm {
  val jobs = new StreamFifo(ReadJob(c), depth = 2, withAsyncRead = true, withBypass = true)
  jobs.io.push << egress.jobs.push
  egress.jobs.pop << jobs.io.pop

  egress.fifo.io.push.valid := egress.io.word.valid
  egress.fifo.io.push.data := egress.io.word.payload
  egress.fifo.io.push.label := egress.words.label

  val upper = RegInit(False)
  val word = egress.fifo.io.pop.m2sPipe()
  private val label = word.label
  private val ends = upper || label.half
  private val keepLow = Mux(label.half, label.lastBytes, U(8, 4 bits))
  private val keepHigh = Mux(label.last && label.lastBytes =/= 0, label.lastBytes - 8, U(8, 4 bits))
  private val count = Mux(upper, keepHigh, keepLow)
  private val beat = egress.io.beat
  beat.valid := word.valid
  beat.data := Mux(upper, word.data(c.wordWidth - 1 downto c.dataWidth), word.data(c.dataWidth - 1 downto 0))
  beat.keep := B(for (lane <- 0 until c.dataWidth / 8) yield count > lane)
  beat.first := label.first && !upper
  beat.last := label.last && ends
  beat.info := label.info
  word.ready := beat.ready && ends
  when(beat.fire)(upper := !ends)
  egress.pending.gone := word.fire && label.last

  def more: Bool = False
  def covered: Bool = !egress.pending.few
}

/** What [[weir.transmit.JumboPack]] takes, and tells. */
case class GroupFramesPorts(c: WeirConfig) extends Bundle with IMasterSlave {
  val group = Stream(PackGroup(c))
  val entry = Flow(PackEntry(c))
  /** CE marks are in the words */
  val word = Stream(PackWord(c))
  /** a group is sent as one frame of so many bytes: a cycle after its last departure */
  val sent = Flow(c.length)
  /** with a departure that is not discarded and is a whole frame: first and last of its group */
  val alone = Bool()
  /** a frame is as good as sent; and a beat of it */
  val left, leaves = Bool()
  /** packets in the queues that share a frame with one before them */
  val grouped = c.count
  /** JumboPack has places for the entries of another group */
  val entriesFit = Bool()
  /** log2 of the spacing's unit in ns */
  val tick = UInt(5 bits)

  override def asMaster(): Unit = {
    slave(group, entry, word, sent)
    out(alone, left, leaves, grouped, entriesFit, tick)
  }
}

/** A group of packets may be a frame: words, groups and entries for [[weir.transmit.JumboPack]].
  *
  * @param frames  granted and not left, at most
  * @param packets those that wait to be read: those of two frames (no packet of a jumbo frame takes fewer than 24 bytes:
  *                383 each), or of 1248 beats (416) and of the frame that was granted last (383)
  */
class GroupFrames(c: WeirConfig, egress: Egress, frames: Int, packets: Int) extends FrameForm {
  private val ports = egress.io.groups
  private val pending = egress.pending

  val jobs = new DeepFifo(ReadJob(c), packets)
  jobs.io.push << egress.jobs.push
  egress.jobs.pop << jobs.io.pop

  private val marking = new MarkWords(c)
  marking.io.word.valid := egress.io.word.valid
  marking.io.word.data := egress.io.word.payload
  marking.io.word.first := egress.words.label.first
  marking.io.word.info := egress.words.label.info
  egress.fifo.io.push.valid := marking.io.marked.valid
  egress.fifo.io.push.data := marking.io.marked.payload
  egress.fifo.io.push.label := RegNextWhen(egress.words.label, egress.io.word.valid)
  ports.word.translateFrom(egress.fifo.io.pop) { (to, from) =>
    to.data := from.data
    to.assignSomeByName(from.label)
  }

  val accumulator = new GroupAccumulator(c)
  accumulator.io.departure << egress.io.departure
  accumulator.io.tick := ports.tick
  ports.entry << accumulator.io.entry
  ports.sent << accumulator.io.sent

  /** of all frames that are granted */
  val groups = new DeepFifo(PackGroup(c), 1 << log2Up(frames))
  /** A cycle later than the departure, and three before its first word. A group of several comes later after its last
    * departure, and before the next departure: never both.
    */
  private val single = RegNext(ports.alone) init False
  groups.io.push.valid := single || accumulator.io.group.valid
  groups.io.push.payload := accumulator.io.group.payload
  when(single)(groups.io.push.grouped := False)
  ports.group << groups.io.pop.m2sPipe()
  pending.gone := ports.left

  val reach = new Reach(c, ports, egress.io.departure)
  private val fits = RegNext(pending.less(frames)) init True
  def more: Bool = fits && reach.few
  def covered: Bool = !pending.few && reach.enough || !fits || !ports.entriesFit
}

/** How long what is granted keeps the line busy.
  *
  * Another frame is prefetched while less is left to be sent than its departures may take. Its packets, no more than
  * share frames in all queues, depart one in four cycles; 32 cycles, or 96 of a long group, are for what comes before
  * and after. 1248 beats are enough for a jumbo frame in transit of 287 packets of 28 bytes, the shortest that come at
  * line rate.
  */
class Reach(c: WeirConfig, ports: GroupFramesPorts, departure: Flow[Departure]) extends Area {
  private val (short, around, long) = (32, 96, 64)
  private val most = 1248
  private val sent = ports.alone || ports.sent.valid
  private val length = ports.sent.valid ? ports.sent.payload | departure.descriptor.length
  /** of a frame that was granted */
  private val comes = RegNext(sent) init False
  private val beats = RegNextWhen(((length +^ 7) >> 3).resize(11), sent)
  /** one less */
  private val others = RegNextWhen(((length - 1) >> 3).resize(11), sent)
  /** beats of granted frames that have not left */
  val left = Reg(UInt(14 bits)) init 0
  /** in the next cycle, if no beat leaves and if one does */
  private val stays = left + (comes ? beats.resize(14) | U(0, 14 bits))
  private val shrinks = left + (comes ? others.resize(14) | U((1 << 14) - 1, 14 bits))
  left := ports.leaves ? shrinks | stays
  /** `beats` less so many */
  private val lessened = Seq(short, around, most).map(base =>
    base -> RegNextWhen((length.resize(c.lengthWidth + 1).asSInt + (7 - 8 * base)) >> 3, sent)).toMap

  /** `left` of the next cycle is no less than `base` + 4 · `sharing`: by the sign of their difference, with one carry
    * chain from registers.
    */
  private def reaches(leaves: Boolean, base: Int, sharing: UInt): Bool = {
    val width = c.countWidth + 4
    val rows = Seq(left.resize(width).asBits, (comes ? lessened(base) | S(-base, 12 bits)).resize(width).asBits,
      ~(sharing << 2).resize(width).asBits)
    val sums = rows.reduce(_ ^ _)
    val carries = rows.combinations(2).map(_.reduce(_ & _)).reduce(_ | _) |<< 1
    // -x is ~x + 1, and the beat that leaves takes that one
    !((sums ## True).asUInt + (carries ## Bool(!leaves)).asUInt).msb
  }
  private def covers(leaves: Boolean): Bool =
    Mux(ports.grouped > (most - around) / 4, reaches(leaves, most, U(0, c.countWidth bits)),
      Mux(ports.grouped >= long, reaches(leaves, around, ports.grouped), reaches(leaves, short, ports.grouped)))
  /** a register: behind it are the scheduler and the queues */
  val enough = RegNext(Mux(ports.leaves, covers(leaves = true), covers(leaves = false))) init True
  /** `left` is not on its way; any departure counts as a frame's last */
  val few = !enough && !departure.valid && !ports.sent.valid && !comes && ports.entriesFit
}
