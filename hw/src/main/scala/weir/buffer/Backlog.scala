package weir.buffer

import spinal.core._
import spinal.lib._
import weir.aqm.CarrySave
import weir.{Follows, WeirConfig, Whenever}

/** What a packet adds to its queue or takes from it. */
case class BacklogChange(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val length = c.length
  /** one, or those of a jumbo frame in transit; none of its header, which leaves by itself */
  val packets = c.jumbo generate UInt(c.memberWidth bits)
  val cells = UInt((if (c.jumbo) c.groupCellWidth else 8) bits)

  def count: UInt = if (packets == null) U(1, 1 bits) else packets
}

/** A queue's fill in every unit. */
case class Fill(c: WeirConfig) extends Bundle {
  val bytes = c.quantity
  val packets, frames = c.count
  val cells = UInt(15 bits)
}

/** The fill of every queue: what `q` is. An arrival enters when its decision is requested and is refunded when
  * it is dropped; a packet leaves at its departure. A packet that joins a group is no frame of its own.
  *
  * Each of them may come in every cycle, also together. A change is seen in `fill` two cycles later, in
  * `sharedUsed` four cycles later.
  */
class Backlog(c: WeirConfig) extends Component {
  val io = new Bundle {
    val enter, refund, leave = slave(Flow(BacklogChange(c)))
    /** `enter`, `refund`, `leave`, one bit a queue */
    val enters, refunds, leaves = in(Bits(c.queues bits))
    /** with `leave`: the first packet of a group */
    val leaveFirst = c.jumbo generate (in Bool ())
    /** a packet has joined a group: one frame less. It comes a cycle later than the others, and is seen in `fill` a cycle after that */
    val joined = c.jumbo generate slave(Flow(c.queueId))
    val reserve = in(Vec(UInt(15 bits), c.queues))
    val fill = out(Vec(Fill(c), c.queues))
    /** queues without packets, as `fill` shows it */
    val empty = out(Bits(c.queues bits))
    /** cells that queues hold beyond their reserves */
    val sharedUsed = out(UInt(15 bits))
    /** pulse, as `fill` shows it: these queues have become empty, by a departure or by a refund */
    val emptied = out(Bits(c.queues bits))
    /** restarts the peaks */
    val snapshot = in Bool ()
    val peakBytes = out(Vec(c.quantity, c.queues))
    val peakPackets = out(Vec(c.count, c.queues))
    val held = out(UInt(c.countWidth bits))
    /** packets that share a frame with one before them, in all queues */
    val grouped = c.jumbo generate out(c.count)
  }
  noIoPrefix()

  /** A change comes; one is registered; one has been made. Without one there is nothing to compute. */
  val comes = io.enter.valid || io.refund.valid || io.leave.valid
  val changes = RegNext(comes) init False
  val changed = RegNext(changes) init False
  /** of frames */
  val framesChange = if (c.jumbo) changes || io.joined.valid else changes
  private val framesChanged = RegNext(framesChange) init False

  /** What is loaded counts with `changes`: only the cycle model needs to be told when. */
  private def load(enable: Bool)(assignments: => Unit): Unit = if (c.gated) when(enable)(assignments) else assignments

  val queues = for (q <- 0 until c.queues) yield new Area {
    private def only[T <: UInt](condition: Bool, value: UInt) = Mux(condition, value, U(0, widthOf(value) bits))

    val entered = io.enters(q)
    val refunded = io.refunds(q)
    val leaving = io.leaves(q)
    /** what enters, less what goes: one carry chain */
    private def change(of: BacklogChange => UInt, width: Int): SInt = CarrySave.difference(only(entered, of(io.enter.payload)),
      Seq(only(refunded, of(io.refund.payload)) -> 0, only(leaving, of(io.leave.payload)) -> 0), width, comes).asSInt

    val changeBytes = Reg(SInt(17 bits)) init 0
    private val packetBits = if (c.jumbo) c.memberWidth + 2 else 3
    val changePackets = Reg(SInt(packetBits bits)) init 0
    private val cellBits = widthOf(io.enter.cells) + 3
    val changeCells = Reg(SInt(cellBits bits)) init 0
    val gone = RegInit(False)
    load(comes) {
      changeBytes := change(_.length, 17)
      changePackets := change(_.count, packetBits)
      changeCells := change(_.cells, cellBits)
      gone := refunded || leaving
    }

    val bytes = Reg(c.quantity) init 0
    val packets = Reg(c.count) init 0
    val cells = Reg(UInt(15 bits)) init 0
    val packetsAfter = (packets.asSInt + changePackets.resize(c.countWidth bits)).asUInt
    when(changes) {
      bytes := (bytes.asSInt + changeBytes.resize(c.quantityWidth bits)).asUInt
      packets := packetsAfter
      cells := (cells.asSInt + changeCells.resize(15 bits)).asUInt
    }
    /** `packetsAfter` is 0, without its carry */
    val empties = Follows(~changePackets.resize(c.countWidth bits).asUInt, packets)
    val empty = RegInit(True)
    when(changes)(empty := empties)
    val emptied = RegNext(changes && gone && empties) init False

    val excess = Reg(UInt(15 bits)) init 0
    val beyond = cells.resize(16 bits).asSInt - io.reserve(q).resize(16 bits).asSInt
    excess := Mux(beyond.msb, U(0, 15 bits), beyond.asUInt.resize(15 bits))

    val peakBytes = Reg(c.quantity) init 0
    val peakPackets = Reg(c.count) init 0
    when(io.snapshot || changed) {
      when(io.snapshot || bytes > peakBytes)(peakBytes := bytes)
      when(io.snapshot || packets > peakPackets)(peakPackets := packets)
    }

    io.fill(q).bytes := bytes
    io.fill(q).packets := packets
    val groups = c.jumbo generate new Area {
      val joined = io.joined.valid && io.joined.payload === q
      /** without `joined`, and one less; −1 if nothing changes */
      val changeLess = Reg(SInt(3 bits)) init -1
      load(comes || changes) {
        changeLess := entered.asUInt.resize(3 bits).asSInt -
          (refunded.asUInt +^ (leaving && io.leaveFirst).asUInt).resize(3 bits).asSInt - 1
      }
      val count = Reg(c.count) init 0
      // `joined` is known late: it is the carry into the sum
      Whenever(c, framesChange) {
        count := ((count ## True).asUInt + (changeLess.resize(c.countWidth bits) ## !joined).asUInt)(c.countWidth downto 1)
      }
    }
    io.fill(q).frames := (if (c.jumbo) groups.count else packets)
    io.fill(q).cells := cells
    io.peakBytes(q) := peakBytes
    io.peakPackets(q) := peakPackets
  }

  val sharedUsed = Reg(UInt(15 bits)) init 0
  sharedUsed := queues.map(_.excess).reduceBalancedTree(_ + _)
  io.sharedUsed := sharedUsed

  val held = Reg(UInt(c.countWidth bits)) init 0
  when(changed)(held := queues.map(_.packets).reduceBalancedTree(_ + _))
  io.held := held

  val grouped = c.jumbo generate new Area {
    /** in all queues, by what they have changed by: their counts are near to Admit.
      * That they agree is the bench's to show: with these sums the proof takes a quarter of an hour.
      */
    val frames = Reg(UInt(c.countWidth bits)) init 0
    private val change = Reg(SInt(4 + log2Up(c.queues) bits))
    load(framesChange) {
      change := queues.map(_.groups.changeLess.resize(widthOf(change))).reduceBalancedTree(_ + _) +
        S(c.queues, widthOf(change) bits) - io.joined.valid.asUInt.resize(widthOf(change)).asSInt
    }
    when(framesChanged)(frames := (frames.asSInt + change.resize(c.countWidth)).asUInt)
    /** jumbo frames in transit that have lost all packets are frames without one */
    private val excess = held.resize(c.countWidth + 1) - frames.resize(c.countWidth + 1)
    val count = RegNext(excess.msb ? U(0, c.countWidth bits) | excess.resize(c.countWidth)) init 0
    io.grouped := count
  }

  io.empty := B(queues.map(_.empty))
  io.emptied := B(queues.map(_.emptied))
}
