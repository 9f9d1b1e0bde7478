package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{CarrySave, Fixed, SerialMultiplier, ValidPipeline}
import weir.control.registers.{ConfigWrite, LiveWords, RegisterMap}
import weir.policy.Ecn
import weir.policy.red.RedFamily

/** An arrival that RED selected and that was spared: packets that wait pay for it. */
case class PartialSelection(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** UQ21.11 in the queue's unit */
  val average = Fixed.threshold()
  /** the policy's certain decision */
  val forced = Bool()
}

/** A look at a group, or a packet to be dropped from one. */
case class PartialStep(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val id = c.descriptorId
  /** nothing departs */
  val looks = Bool()
  /** no packet of its group is left */
  val dies = Bool()
}

/** What a step has found: three cycles later. */
case class PartialFound(c: WeirConfig) extends Bundle {
  val descriptor = Descriptor(c)
  /** the packet behind it */
  val next = c.descriptorId
  val group = GroupSize(c)
}

/** A group as it has become. */
case class PartialUpdate(c: WeirConfig) extends Bundle {
  val id = c.descriptorId
  /** its first packet */
  val next = c.descriptorId
  val group = GroupSize(c)
}

/** MRED and DDF (paper 000; docs/modules/transit.md): the share of a jumbo frame that is dropped, or marked, in place of a jumbo frame that
  * RED selected.
  *
  * Takes selections one after the other: looks at the first jumbo frame of the queue's list, computes k = clamp(ceil(f · N), 1, N),
  * f = f_lo + (f_hi − f_lo) · (avg − min) / (max − min) within [f_lo, f_hi], and drops the first k packets, each in a slot of the
  * scheduler. About 25 cycles a selection and four a packet, eight if frames are sent meanwhile. While its group is at the queue's head the
  * queue gets no grant. A selection that finds no group is void. One multiplier. At reset idle.
  */
class PartialDrop(c: WeirConfig) extends Component {
  val io = new Bundle {
    val config = slave(Flow(ConfigWrite(c)))
    val selection = slave(Flow(PartialSelection(c)))
    /** one more selection fits */
    val room = out Bool ()
    /** queues with a group that packets can be dropped from */
    val able = out(Bits(c.queues bits))
    /** a group's last packet was linked; the first of a group departs */
    val append, departs = slave(Flow(QueueGroup(c)))
    /** a slot of the scheduler is wanted; it is given, and `step` valid with it */
    val wants = out Bool ()
    val slot = in Bool ()
    val step = master(Flow(PartialStep(c)))
    val found = slave(Flow(PartialFound(c)))
    /** may wait for a link */
    val update = master(Stream(PartialUpdate(c)))
    /** heads of the queues; one that is loaded in this cycle */
    val heads = in(Vec(c.descriptorId, c.queues))
    val loaded = slave(Flow(QueueGroup(c)))
    /** these queues get no grant */
    val held = out(Bits(c.queues bits))
    /** the same of the next cycle, but for a slot that is given in this one */
    val holds = out(Bits(c.queues bits))
    /** no selection of that queue is being carried out; one may wait */
    val settled = out(Bits(c.queues bits))
    val busy = out Bool ()
  }
  noIoPrefix()

  private val words = new LiveWords(c,
    Seq("MRED_LO", "MRED_HI", "MRED_SLOPE").map(RegisterMap.queue(_)) ++ RedFamily.named("RED_MIN", "RED_FLAGS"),
    ConfigWrite.later(io.config))
  val list = new JumboList(c)
  list.io.append << io.append
  list.io.departs << io.departs
  io.able := RegNext(list.io.any) init 0

  val waiting = new StreamFifo(PartialSelection(c), 16, withAsyncRead = true, withBypass = true)
  waiting.io.push.valid := io.selection.valid
  waiting.io.push.payload := io.selection.payload
  io.room := RegNext(waiting.io.availability > 4) init True
  /** the selection that is being carried out */
  val selection = waiting.io.pop.m2sPipe()
  private val q: UInt = selection.payload.queue
  private val own = B(for (n <- 0 until c.queues) yield q === n)

  object State extends SpinalEnum {
    val idle, looking, sharing, dropping, waits, ending = newElement()
  }
  import State._
  val state = RegInit(idle)

  /** The group. */
  val victim = new Area {
    val id, next = Reg(c.descriptorId)
    val group = Reg(GroupSize(c))
    val tags = Reg(UInt(2 bits))
    val marks = Reg(Bool())
    /** the queue whose head it is */
    val atHead = Reg(Bits(c.queues bits))
    /** in the next cycle */
    val headNext = cloneOf(atHead)
    headNext := atHead
    atHead := headNext
    /** packets that had not been marked as it was looked at */
    private val rest = group.packets - (marks ? group.front | U(0, c.memberWidth bits))
    val untouched = RegNext(rest)
    /** one less */
    val others = RegNext(rest - 1)
    /** `removed` before a packet's length is added: of that, Ethernet header and tags do not count */
    val removed = RegNext(group.removed - 14 - (tags @@ U(0, 2 bits)))
    /** its record is to be written back, and nothing is left of it to be dropped or marked: it leaves the list then. From a register, for when
      * the record is written is known late.
      */
    val spends = RegInit(False)
    when(io.loaded.valid && io.loaded.queue === q)(headNext := own.andMask(io.loaded.id === id))
  }

  /** f, then k: one multiplication each. */
  val share = new Area {
    val multiplier = new SerialMultiplier
    val minimum = words("RED_MIN", q).asUInt
    val above = RegNext(selection.payload.average - minimum)
    val below = RegNext(selection.payload.average < minimum)
    val second = RegInit(False)
    val slope = words.scaled("MRED_SLOPE", q)
    val high = words("MRED_HI", q).asUInt
    val low = words("MRED_LO", q).asUInt
    val fraction = Reg(UInt(32 bits))
    val steps = new ValidPipeline(multiplier.io.done && !second, 4)
    /** avg − min times the slope, in units of 2^-32, before the exponent */
    private val product = multiplier.io.product(49 downto 0) << 4
    private val coarse = RegNext(product |>> (slope.exponent(5 downto 3) @@ U(0, 3 bits)))
    private val fine = RegNext(coarse |>> slope.exponent(2 downto 0))
    private val sum = RegNext(fine +^ low.resize(fine.getWidth))
    private val limited = RegNext(sum > high.resize(sum.getWidth))
    when(steps(4))(fraction := limited ? high | sum(31 downto 0))
    multiplier.io.a := second ? fraction.resize(36) | (below ? U(0, 36 bits) | above.resize(36))
    multiplier.io.b := second ? victim.untouched.resize(36) | slope.mantissa.resize(36)
    multiplier.io.start := False
    val known = multiplier.io.done && second
    val whole = multiplier.io.product(40 downto 32)
    val partly = multiplier.io.product(31 downto 0) =/= 0
    /** k is one more than the whole part: rounded up, and one at least */
    val more = partly || whole === 0
    /** k is all of N: as f < 1, the whole part is less */
    val all = victim.others === 0 || (partly && whole === victim.others)
    /** `to` + k with one carry chain */
    def added(to: UInt): UInt = CarrySave.sum(Seq(to -> 0, whole -> 0), c.memberWidth, more)
  }

  /** packets of k that are still to be dropped, but for one `more` */
  val left = Reg(UInt(c.memberWidth bits))
  val more = Reg(Bool())
  private val dropsLast = left === (!more).asUInt.resize(c.memberWidth)
  selection.ready := False
  io.wants := False
  io.step.valid := io.slot
  io.step.queue := q
  io.step.id := victim.next
  io.step.looks := False
  io.step.dies := victim.group.packets === 1
  io.update.valid := False
  io.update.id := victim.id
  io.update.next := victim.next
  io.update.group := victim.group
  list.io.remove.valid := victim.spends && !io.departs.valid && io.update.ready
  list.io.remove.payload := q

  private val first = list.io.first(q.resized)
  switch(state) {
    is(idle) {
      share.second := False
      io.step.id := first
      io.step.looks := True
      when(selection.valid && !list.io.any(q.resized))(selection.ready := True)
      io.wants := selection.valid && list.io.known(q.resized)
      // a slot is known late: what goes with it is taken, and the multiplication begun, in every cycle up to it
      victim.id := first
      victim.headNext := own.andMask(first === io.heads(q.resized))
      share.multiplier.io.start := True
      when(io.slot)(state := looking)
    }
    is(looking) {
      when(io.found.valid) {
        victim.next := io.found.next
        victim.group := io.found.group
        victim.tags := io.found.descriptor.ipOffset
        val begun = io.found.group.front =/= 0
        val ect = words.flag("RED_FLAGS", "ECN", q) && io.found.descriptor.ecn =/= Ecn.notEct &&
          !(selection.payload.forced && words.flag("RED_FLAGS", "HARDDROP", q))
        victim.marks := begun ? (io.found.group.removed === 0) | ect
      }
      when(share.steps(4)) {
        share.second := True
        state := sharing
        share.multiplier.io.start := True
      }
    }
    is(sharing) {
      when(share.known) {
        left := share.whole
        more := share.more
        victim.spends := victim.marks && share.all
        state := victim.marks ? ending | dropping
        when(victim.marks)(victim.group.front := share.added(victim.group.front))
      }
    }
    is(dropping) {
      io.wants := True
      when(io.slot)(state := waits)
    }
    is(waits) {
      when(io.found.valid) {
        victim.next := io.found.next
        victim.group.packets := victim.group.packets - 1
        victim.group.bytes := victim.group.bytes - io.found.descriptor.length
        victim.group.front := victim.group.front + 1
        victim.group.removed := victim.removed + io.found.descriptor.length
        more := False
        when(!more)(left := left - 1)
        victim.spends := dropsLast && victim.group.packets === 1
        state := dropsLast ? ending | dropping
      }
    }
    is(ending) {
      io.update.valid := !io.departs.valid
      when(io.update.fire) {
        selection.ready := True
        state := idle
        victim.spends := False
      }
    }
  }
  private val active = state =/= idle
  /** from a register: the scheduler's choice begins with it */
  private val held = RegNext(victim.headNext.andMask(Mux(state === idle, io.slot, !(state === ending && io.update.fire)))) init 0
  io.held := held
  io.holds := victim.headNext.andMask(active && !(state === ending && io.update.fire))
  io.settled := ~own.andMask(active)
  io.busy := waiting.io.occupancy =/= 0 || selection.valid || active
}
