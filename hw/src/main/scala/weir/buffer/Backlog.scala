package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.CarrySave

/** What a packet adds to its queue or takes from it. */
case class BacklogChange(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val length = c.length
  /** one, or those of a jumbo frame in transit; none of its header, which leaves by itself */
  val packets = c.jumbo generate UInt(c.memberWidth bits)
  val cells = UInt(c.groupCellWidth bits)

  def count: UInt = if (packets == null) U(1, 1 bits) else packets
}

/** A queue's fill in every unit. */
case class Fill(c: WeirConfig) extends Bundle {
  val bytes = c.quantity
  val packets, frames = c.count
  val cells = UInt(15 bits)
}

/** The fill of every queue: what `q` is. An arrival enters when the limits let it pass and is refunded when its policy
  * drops it; a packet leaves at its departure. A packet that joins a group is no frame of its own.
  *
  * Each of them may come in every cycle, also together. `enter` is seen in `fill` a cycle later, the others two; in
  * `sharedUsed` two cycles after that.
  */
class Backlog(c: WeirConfig) extends Component {
  val io = new Bundle {
    val enter, refund, leave = slave(Flow(BacklogChange(c)))
    /** `enter`, `refund`, `leave`, one bit a queue */
    val enters, refunds, leaves = in(Bits(c.queues bits))
    /** with `leave`: the first packet of a group */
    val leaveFirst = in Bool ()
    /** a packet has joined a group: one frame less. Seen in `fill` a cycle later */
    val joined = slave(Flow(c.queueId))
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

  /** Something goes; what went is registered, or something enters; a change has been made. Without one there is nothing to compute. */
  val goes = io.refund.valid || io.leave.valid
  val gone = RegNext(goes) init False
  val changes = gone || io.enter.valid
  val changed = RegNext(changes) init False
  /** of frames */
  val framesChange = changes || io.joined.valid
  private val framesChanged = RegNext(framesChange) init False

  private def only(condition: Bool, value: UInt): UInt = Mux(condition, value, U(0, widthOf(value) bits))

  /** A quantity that queue q holds: what goes is registered, then taken off together with what enters, in one carry chain. */
  class Held(held: UInt, q: Int, lessWidth: Int, of: BacklogChange => UInt) extends Area {
    val less = Reg(UInt(lessWidth bits)) init 0
    when(goes || gone) {
      less := only(io.refunds(q), of(io.refund.payload)).resize(lessWidth) + only(io.leaves(q), of(io.leave.payload))
    }
    val after = CarrySave.difference(Seq(held, only(io.enters(q), of(io.enter.payload))), Seq(less -> 0), widthOf(held))
    when(changes)(held := after)
  }

  val queues = for (q <- 0 until c.queues) yield new Area {
    val entered = io.enters(q)
    val refunded = io.refunds(q)
    val leaving = io.leaves(q)
    val bytes = Reg(c.quantity) init 0
    val packets = Reg(c.count) init 0
    val cells = Reg(UInt(15 bits)) init 0
    val bytesHeld = new Held(bytes, q, c.lengthWidth + 1, _.length)
    val packetsHeld = new Held(packets, q, widthOf(io.enter.count) + 1, _.count)
    val cellsHeld = new Held(cells, q, widthOf(io.enter.cells) + 1, _.cells)
    /** none of them stays, told without the carry */
    val empties = !entered && packetsHeld.less.resize(c.countWidth) === packets
    val empty = RegInit(True)
    when(changes)(empty := empties)
    val left = RegNext(refunded || leaving) init False
    val emptied = RegNext(left && empties) init False

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
      /** frames that have gone */
      val less = Reg(UInt(2 bits)) init 0
      when(goes || gone)(less := refunded.asUInt +^ (leaving && io.leaveFirst).asUInt)
      /** without `joined`, and one less; −1 if nothing changes */
      val changeLess = entered.asUInt.resize(3 bits).asSInt - less.resize(3 bits).asSInt - 1
      val count = Reg(c.count) init 0
      // `joined` is known late: it is the carry into the sum
      when(framesChange) {
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
    /** in all queues, by what they have changed by: their counts are near to ArrivalDecision.
      * That they agree is the bench's to show: with these sums the proof takes a quarter of an hour.
      */
    val frames = Reg(UInt(c.countWidth bits)) init 0
    private val change = Reg(SInt(4 + log2Up(c.queues) bits))
    when(framesChange) {
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
