package weir
import spinal.core._
import spinal.lib._
import weir.admission.{FlowLane, Spacing}
import weir.buffer.{Arrival, BacklogChange, CellRead, CellWrite, Chain, Departure, Fill, FlowLook, Grant, Leaving, Link}
import weir.buffer.{PartialSelection, Reading, Rollback, Whole}
import weir.control.registers.{ConfigWrite, CoreConfig, MatchConfig, QueueConfig, RegisterPorts}
import weir.policy.{DepartureVerdict, PolicyDeparture, QueueLeft}

/** What the host has set, the same for every stage. */
case class Settings(c: WeirConfig) extends Bundle {
  val core = CoreConfig(c)
  val queues = Vec(QueueConfig(c), c.queues)
  /** as [[weir.control.registers.RegisterPorts]] has them */
  val config = Flow(ConfigWrite(c))
  val copying = Bool()
  val apply, applied, clear = Bits(c.queues bits)
  val matching = c.jumbo generate MatchConfig(c)
  val matchChanged = c.jumbo generate Bool()
  val seed = Flow(Bits(64 bits))
  /** counters are copied, peaks begin anew */
  val snapshot = Bool()
  val linkUp = Bool()
  /** a reset by register waits for the line: no more grants */
  val hold = Bool()
  /** the host is at work: settings may change, or a reset comes */
  val changing = Bool()

  /** Queues whose arrivals (0), departures (1) or ticks (2) leave records. */
  def traces(kind: Int): Bits =
    if (c.trace) core.traceQueues & B(c.queues bits, default -> (core.traceEnable && core.traceKinds(kind)))
    else B(0, c.queues bits)

  /** Takes from the registers what they tell. */
  def follow(registers: RegisterPorts): Unit = {
    core := registers.coreConfig
    queues := registers.queueConfig
    config := registers.config
    copying := registers.copying
    apply := registers.apply
    applied := registers.applied
    clear := registers.clear
    if (c.jumbo) {
      matching := registers.matching
      matchChanged := registers.matchChanged
    }
    seed := registers.seed
    snapshot := registers.snapshot
  }
}

/** What a stage tells of its work.
  *
  * @param deadlines timers of the stage
  */
case class Activity(c: WeirConfig, deadlines: Int) extends Bundle {
  /** something moves */
  val busy = Bool()
  /** what works once a packet is stirred: the clock `packet` ([[ClockGate]]) */
  val stirs = Bool()
  /** when something happens without anything coming */
  val wake = Vec(Flow(c.time), deadlines)
}

object Activity {
  def receive(c: WeirConfig): Activity = Activity(c, 0)
  /** the policies' units, and spacing */
  def admission(c: WeirConfig): Activity = Activity(c, c.engines.size + (if (c.jumbo) 1 else 0))
  /** groups that are parked, of each queue */
  def buffer(c: WeirConfig): Activity = Activity(c, if (c.jumbo) c.queues else 0)
  /** the shaper, while it holds packets back */
  def transmit(c: WeirConfig): Activity = Activity(c, 1)
}

/** Cells for packets that arrive: [[weir.receive.CellWriter]] takes them from [[weir.buffer.FreeList]], and fills
  * them.
  */
case class CellAllocation(c: WeirConfig) extends Bundle with IMasterSlave {
  val cell = c.cellId
  val available, known, take = Bool()
  val rollback = Flow(Rollback(c))
  val write = Flow(CellWrite(c))

  override def asMaster(): Unit = {
    in(cell, available, known)
    out(take)
    master(rollback, write)
  }
}

/** Packets that are in the buffer, on their way to a decision. */
case class Arrivals(c: WeirConfig) extends Bundle with IMasterSlave {
  val arrival = Flow(Arrival(c))
  /** one more fits */
  val room = Bool()
  val jumbo = c.jumbo generate JumboArrivals(c)

  override def asMaster(): Unit = {
    master(arrival)
    in(room)
    if (jumbo != null) out(jumbo)
  }
}

/** What is told of arrivals out of jumbo frames: [[weir.receive.CellWriter]] says what each means. */
case class JumboArrivals(c: WeirConfig) extends Bundle {
  val inner, commit, discard = Bool()
  val waitNs = UInt(Spacing.waitWidth bits)
  val whole = Whole(c)
  /** of each IP arrival, for its spacing */
  val lane = Flow(FlowLane(c))
}

/** Decisions on their way to the queues, and what the queues show for the next ones. */
case class EnqueuePorts(c: WeirConfig) extends Bundle with IMasterSlave {
  val enter, refund = Flow(BacklogChange(c))
  /** `enter`, `refund`, one bit a queue */
  val enters, refunds = Bits(c.queues bits)
  val link = Flow(Link(c))
  /** of what is dropped */
  val free = Flow(Chain(c))
  val giveDescriptor = Flow(c.descriptorId)
  val descriptor = Stream(c.descriptorId)
  val fill = Vec(Fill(c), c.queues)
  val empty, emptied = Bits(c.queues bits)
  val sharedUsed = UInt(15 bits)
  val freeCells = UInt(c.cellWidth bits)
  /** a packet has left its queue */
  val left = Flow(QueueLeft(c))
  val jumbo = c.jumbo generate JumboEnqueuePorts(c)

  override def asMaster(): Unit = {
    master(enter, refund, link, free, giveDescriptor)
    out(enters, refunds)
    slave(descriptor, left)
    in(fill, empty, emptied, sharedUsed, freeCells)
    if (jumbo != null) master(jumbo)
  }
}

/** Of merging and of jumbo frames that stay together: to [[weir.buffer.FlowGroups]] and [[weir.buffer.PartialDrop]]. */
case class JumboEnqueuePorts(c: WeirConfig) extends Bundle with IMasterSlave {
  val look = Flow(FlowLook(c))
  val selection = Flow(PartialSelection(c))
  /** [[weir.buffer.PartialDrop]] takes a selection; queues with jumbo frames that can pay for one */
  val room = Bool()
  val able = Bits(c.queues bits)
  /** not in use */
  val descriptors = UInt(c.descriptorWidth + 1 bits)

  override def asMaster(): Unit = {
    master(look, selection)
    in(room, able, descriptors)
  }
}

/** Policies that decide at departure. */
case class DeparturePolicyPorts(c: WeirConfig) extends Bundle with IMasterSlave {
  val asked = Vec(Flow(PolicyDeparture(c)), c.engines.size)
  val verdicts = Vec(Flow(DepartureVerdict(c)), c.engines.size)
  /** the engine that serves each queue, one bit each */
  val engine = Vec(Bits(c.engines.size bits), c.queues)
  /** queues whose policy decides */
  val decides = Bits(c.queues bits)

  override def asMaster(): Unit = {
    for (flow <- asked) master(flow)
    for (flow <- verdicts) slave(flow)
    in(engine, decides)
  }
}

/** What waits, on its way to the line: heads of queues, and the cells of what was granted. */
case class DequeuePorts(c: WeirConfig) extends Bundle with IMasterSlave {
  /** as [[weir.buffer.Queues]] has them */
  val grant = Flow(Grant(c))
  val hold = Bool()
  val departure = Flow(Departure(c))
  val leaving = Flow(Leaving(c))
  val reading = Reading(c)
  val ready, empty, candidates = Bits(c.queues bits)
  val walking = Bool()
  /** queues that have to drop from their heads */
  val over = Bits(c.queues bits)
  val fill = Vec(Fill(c), c.queues)
  /** a packet of a group that waits is to be dropped: wants a slot of the scheduler, and gets it */
  val partial, slot = Bool()
  val held = Bits(c.queues bits)
  val read = Flow(CellRead(c))
  val word = Flow(Bits(c.wordWidth bits))
  val lookup = Stream(c.cellId)
  val next = Flow(c.cellId)
  val free = Stream(Chain(c))
  /** packets that share a frame with one before them */
  val grouped = c.jumbo generate c.count

  override def asMaster(): Unit = {
    master(departure, leaving, word, next)
    slave(grant, read, lookup, free)
    out(reading, ready, empty, candidates, walking, over, fill, partial, held)
    in(hold, slot)
    if (grouped != null) out(grouped)
  }
}
