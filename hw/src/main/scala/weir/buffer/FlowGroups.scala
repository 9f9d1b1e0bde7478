package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{ShiftRight, ValidPipeline}
import weir.control.registers.MergeConfig
import weir.receive.{FlowKind, FlowTag, FlowTagWrite, IpVersion, MatchResult}

/** A decision that is about to be known: four cycles before its link, if there is to be one. */
case class FlowLook(c: WeirConfig) extends Bundle {
  val index = UInt(c.flowIndexWidth bits)
  val queue = c.queueId
  val length = c.length
  /** VLAN tags */
  val tags = UInt(2 bits)
  /** it was held for its spacing: its tag is no longer there, it counts as unknown */
  val held = Bool()
  /** of its request */
  val nowNs = c.time
}

/** A flow's open group. */
case class OpenGroup(c: WeirConfig) extends Bundle {
  /** packets may still join */
  val open = Bool()
  val flow = UInt(c.flowNumberWidth bits)
  val queue = c.queueId
  /** among the queue's groups */
  val number = UInt(c.groupNumberWidth bits)
  val head, tail = c.descriptorId
  val count = UInt(c.memberWidth bits)
  /** of its packets' frames */
  val bytes = c.length
  /** as [[weir.buffer.GroupSize]] */
  val ect, ce, notEct = Bool()
  val l3 = Bool()
  /** bytes that the jumbo frame, and the sum of its packets, may still grow by; negative if nothing fits */
  val roomBytes, roomSum = SInt(c.lengthWidth + 2 bits)
  /** arrival of the last packet, in ticks */
  val ticks = c.time
  /** of a class: packets whose link comes then or later do not join */
  val deadlineNs = UInt(32 bits)
}

/** Decides which linked packets join a group that waits: one of their flow (JFEPM, paper 002), or of their class, which is parked
  * (JumboGen, paper 000; docs/modules/merge.md).
  *
  * A link comes, and a cycle later the packet is put or parked, or joins; what the queue's RAMs get of it (`link`) leaves one more cycle later,
  * and so does the entry into the table: whether it joins is known late. It joins if its flow's open group is in the same queue, has not been
  * granted in an earlier cycle, and has room. Otherwise it opens a group of its own, which replaces the one before it in its slot. A packet
  * whose flow cannot be known closes all groups of its queue, as does a change of the match table. O(1): one entry of a table is read and one written.
  *
  * Links are two cycles apart or more, those of one queue four; one that follows another within three cycles in the same slot
  * does not join (the other is of another queue). After reset the table is emptied, a slot a cycle; nothing joins meanwhile.
  */
class FlowGroups(c: WeirConfig) extends Component {
  val io = new Bundle {
    val tag = slave(Flow(FlowTagWrite(c)))
    val look = slave(Flow(FlowLook(c)))
    val config = in(Vec(MergeConfig(c), c.queues))
    /** jumbo frames have the L3 form */
    val l3 = in Bool ()
    /** log2 of the spacing's unit in ns */
    val tick = in(UInt(5 bits))
    /** configuration of that queue has changed: its groups close */
    val applied = in(Bits(c.queues bits))
    val linked = slave(Flow(Link(c)))
    /** two cycles later, told whether it joins */
    val link = master(Flow(Link(c)))
    /** a cycle before `link`, that is with `put`: the packet, whether it joins or not */
    val passing = master(Flow(Link(c)))
    /** with `passing`: a jumbo frame in transit that pays for another is whole */
    val whole = master(Flow(QueueGroup(c)))
    val grant = slave(Flow(Grant(c)))
    val nowNs = in(c.time)
    /** of and to [[Parking]], where groups of classes wait: `close` and `park` come with `passing` */
    val parked = in(Bits(c.parkingPlaces bits))
    val closing = in Bool ()
    /** right in the cycle of a link only */
    val leaving = slave(Flow(ClassPlace(c)))
    val close = master(Flow(ClassPlace(c)))
    val park = master(Flow(Parked(c)))
    /** the packet opens a group that goes to the tail of its queue now */
    val put = master(Flow(Append(c)))
    val closeAll = out(Bits(c.queues bits))
    /** a group was closed because another flow came to its slot */
    val evicted = out Bool ()
    val busy = out Bool ()
  }
  noIoPrefix()

  private val tags = Mem(FlowTag(c), 1 << c.flowIndexWidth)
  tags.write(io.tag.index, io.tag.tag, io.tag.valid)
  private val groups = Mem(OpenGroup(c), c.allSlots)

  val sweep = new Area {
    val done = RegInit(False)
    val slot = Reg(UInt(c.flowSlotWidth bits)) init 0
    when(!done)(slot := slot + 1)
    when(slot === c.allSlots - 1)(done := True)
  }

  /** Cycles −4 to −1 before the link: the tag, the entry, and what the packet would make of it. */
  val looking = new Area {
    val steps = new ValidPipeline(io.look.valid, 4)
    val tag3 = tags.readSync(io.look.index, io.look.valid)
    val look3 = RegNextWhen(io.look.payload, io.look.valid)

    private val known3 = FlowTag(c).allowOverride()
    known3 := tag3
    when(look3.held)(known3.kind := FlowKind.unknown)
    val tag2 = RegNextWhen(known3, steps(1))
    val look2 = RegNextWhen(look3, steps(1))
    private val header = look3.tags @@ U(0, 2 bits)
    val inner2 = RegNextWhen(look3.length - 14 - header, steps(1))
    /** of the headers, the table's entry included */
    val outer2 = RegNextWhen(io.l3 ? (header +^ U(44)).resize(7) | (header +^ U(24)).resize(7), steps(1))
    // groups are closed for a few cycles when the unit changes
    private val ticks2 = new ShiftRight(look3.nowNs, RegNext(io.tick), steps(1))

    val found1 = groups.readSync(tag2.slot, steps(2))
    /** it was being written as it was read: what is written comes from a register */
    val overtaken1 = Bool()
    val overtaking1 = OpenGroup(c)
    val tag1 = RegNextWhen(tag2, steps(2))
    val queue1 = RegNextWhen(look2.queue, steps(2))
    val inner1 = RegNextWhen(inner2, steps(2))
    val withEntry1 = RegNextWhen(inner2 + 4, steps(2))
    val ticks1 = RegNextWhen(ticks2.result, steps(2))
    private val limits = io.config(look2.queue.resized)
    val flow1 = RegNextWhen(limits.flow, steps(2))
    val classes1 = RegNextWhen(limits.classes, steps(2))
    val jfet1 = RegNextWhen(limits.jfetNs, steps(2))
    val maxCount1 = RegNextWhen(limits.maxCount, steps(2))
    val maxSum1 = RegNextWhen(limits.maxSum, steps(2))
    val maxBytes1 = RegNextWhen(limits.maxBytes.resize(16).asSInt - outer2.resize(16).asSInt, steps(2))

    val entry = RegNextWhen(overtaken1 ? overtaking1 | found1, steps(3))
    val tag = RegNextWhen(tag1, steps(3))
    val queue = RegNextWhen(queue1, steps(3))
    val inner = RegNextWhen(inner1.resize(16).asSInt, steps(3))
    val withEntry = RegNextWhen(withEntry1.resize(16).asSInt, steps(3))
    val ticks = RegNextWhen(ticks1, steps(3))
    /** of the ticks' upper bits: the one before */
    val upperBefore = RegNextWhen(ticks1(47 downto 16) - 1, steps(3))
    val merges = RegNextWhen(Mux(tag1.classed, classes1, flow1), steps(3))
    /** the queue merges the other way than it did when the flow was looked up */
    val mismatched = RegNextWhen(Mux(tag1.classed, flow1, classes1), steps(3))
    val jfet = RegNextWhen(jfet1, steps(3))
    val maxCount = RegNextWhen(maxCount1, steps(3))
    val roomBytes = RegNextWhen(maxBytes1 - inner1.resize(16).asSInt, steps(3))
    val roomSum = RegNextWhen(maxSum1.resize(16).asSInt - inner1.resize(16).asSInt, steps(3))
  }

  /** Of numbers from the granted one to the next one, of which there are no more than descriptors, the lower bits tell whether they are the same. */
  private def same(a: UInt, b: UInt): Bool = a(0, c.descriptorWidth + 1 bits) === b(0, c.descriptorWidth + 1 bits)

  /** Numbers of the groups of each queue: of the next one, the one that is granted next, and the first that is open or yet to come. A grant counts
    * a cycle later, from a register, and so does a group that is opened: `opens` comes with the link that goes on, `closed` after `closesAll`.
    */
  val order = for (q <- 0 until c.queues) yield new Area {
    val next, granted, first = Reg(UInt(c.groupNumberWidth bits)) init 0
    /** the ones behind `next` and `granted` */
    val beyond, grantedAfter = Reg(UInt(c.groupNumberWidth bits)) init 1
    val grants = RegNext(io.grant.valid && io.grant.queue === q) init False
    val opens, closesAll = Bool()
    val closed = RegNext(closesAll) init False
    private val nextAfter = Mux(opens, beyond, next)
    when(opens)(beyond := beyond + 1)
    when(grants)(grantedAfter := grantedAfter + 1)
    next := nextAfter
    /** in the next cycle */
    val grantedNext = Mux(grants, grantedAfter, granted)
    val firstNext = Mux(closed, nextAfter, Mux(grants && same(first, granted), grantedAfter, first))
    granted := grantedNext
    first := firstNext
  }

  /** The cycle of the link as it comes. */
  val judging = new Area {
    import looking._
    val comes = io.linked.valid
    /** it is in groups' order; it came without a look else */
    val grouped = !io.linked.transit && !io.linked.alone
    /** of the entry's queue: that of the packet, if it may join */
    private def of[T <: Data](values: Seq[T]): T = Vec(values)(entry.queue.resized)
    private def judged[T <: Data](value: T): T = RegNextWhen(value, comes)
    val link = RegNextWhen(io.linked.payload, comes)
    val valid = RegNext(comes) init False

    private val upper = ticks(47 downto 16)
    private val entryUpper = entry.ticks(47 downto 16)
    private val inTime = upper === entryUpper || (upperBefore === entryUpper && ticks(15 downto 0) < entry.ticks(15 downto 0))
    private val sameFlowNow = entry.open && entry.flow === tag.number && entry.queue === queue
    val sameFlow = judged(sameFlowNow)
    private val place = ClassPlace(c)
    place.queue := queue
    place.klass := tag.slot.resized
    val classed = judged(tag.classed)
    private val staysNow = io.parked(place.index) && !(io.leaving.valid && io.leaving.index === place.index)
    /** of a class: it is parked */
    val stays = judged(staysNow)
    /** that of its own queue, compared with all queues'; it means something if the group waits */
    private val headNow = B(order.zipWithIndex.map { case (list, q) => !tag.classed && entry.queue === q && same(entry.number, list.granted) })
    /** Of a flow: it waits to be granted, as far as is known, for it may be granted in this cycle, if it is the head. A packet joins a group of its
      * own queue only: the numbers are that queue's, chosen in the cycle before.
      */
    private val waitsNow = {
      def own[T <: Data](values: Seq[T]): T = Vec(values)(queue.resized)
      def ahead(values: Seq[UInt]): UInt = RegNextWhen(Vec(values)(queue1.resized), steps(3))
      val alive = !(entry.number - ahead(order.map(_.firstNext))).msb && !own(order.map(_.closed))
      alive && !(same(entry.number, ahead(order.map(_.grantedNext))) && own(order.map(_.grants)))
    }
    /** likewise of a group of any queue, a cycle later */
    val waits = {
      val first = judged(of(order.map(_.first)))
      val gone = judged(of(order.map(_.closed)) || (headNow & B(order.map(_.grants))).orR)
      (before: UInt) => !(before - first).msb && !gone
    }
    /** the queue of which it is the head */
    val headOf = judged(headNow)
    /** its class's timer has ended */
    private val late = tag.classed && !(io.nowNs.resize(32) - entry.deadlineNs).msb
    private val deadline = io.nowNs + looking.jfet
    val deadlineNs = RegNextWhen(deadline, comes)
    /** the table by which its class or bypass was found is not that of the packet before */
    val epochs = Vec.fill(c.queues)(Reg(UInt(MatchResult.epochWidth bits)) init 0)
    private val ip = io.linked.descriptor.ipVersion =/= IpVersion.none
    private val renewsNow =
      ip && grouped && (tag.epoch =/= epochs(queue.resized) || mismatched && tag.kind =/= FlowKind.none)
    when(comes && ip && grouped)(epochs(queue.resized) := tag.epoch)
    private val fits = withEntry <= entry.roomBytes && inner <= entry.roomSum && entry.count < maxCount
    /** the entry's group takes one more packet, and still waits for it */
    private val takes = judged(fits && !late)
    /** a jumbo frame in transit: its groups are made already, and it is in no order with others */
    val transit = judged(io.linked.transit)
    private val mayJoinNow = merges && grouped && tag.kind === FlowKind.joinable && sweep.done &&
      (!io.l3 || io.linked.descriptor.ipVersion === IpVersion.v4) && !mismatched
    val mayJoin = judged(mayJoinNow)
    val known = judged(tag.kind.msb && sweep.done && grouped)
    private val unknownNow = tag.kind === FlowKind.unknown && grouped
    /** all groups of this queue close */
    val closesAll = B((0 until c.queues).map(q => RegNext(comes && io.linked.queue === q && (unknownNow || renewsNow)) init False))
    val slot = RegNextWhen(tag.slot, comes)
    /** What becomes of the packet, but for what is known late: whether it matches, and whether what is put waits in Parking (`closing`). */
    val fate = new Area {
      private val ordinary = comes && grouped
      /** It is put whatever waits: what nothing joins, or a jumbo frame in transit with its last packet (before that
        * it could not be granted).
        */
      val puts = RegNext(comes && (io.linked.transit && io.linked.last || io.linked.alone)) init False
      /** a jumbo frame in transit that may pay for another is whole */
      val pays = RegNext(comes && io.linked.transit && io.linked.last && io.linked.joins && io.linked.pays) init False
      /** of each queue: a group comes, unless it joins one */
      val counts = B((0 until c.queues).map(q =>
        RegNext(comes && io.linked.queue === q && !(io.linked.transit && io.linked.joins)) init False))
      /** it is put, unless it matches */
      val opens = RegNext(ordinary && !(tag.classed && mayJoinNow)) init False
      /** it is put, if `closing` */
      val follows = RegNext(ordinary && tag.classed) init False
      /** it is parked, unless it matches, or `closing` */
      val parks = RegNext(comes && tag.classed && mayJoinNow) init False
      /** its class's group closes, if there is one, unless it joins that */
      val closes = RegNext(ordinary && tag.classed && tag.kind.msb && sweep.done) init False
    }

    /** the entry as this packet would leave it */
    val joined = Reg(OpenGroup(c)).allowOverride()
    val opened = Reg(OpenGroup(c))
    when(comes) {
      joined := entry
      joined.tail := io.linked.id
      joined.count := entry.count + 1
      joined.bytes := entry.bytes + io.linked.descriptor.length
      joined.ect := entry.ect || io.linked.group.ect
      joined.ce := entry.ce || io.linked.group.ce
      joined.notEct := entry.notEct || io.linked.group.notEct
      joined.roomBytes := entry.roomBytes - withEntry
      joined.roomSum := entry.roomSum - inner
      joined.ticks := ticks
      opened.open := True
      opened.number := 0
      opened.flow := tag.number
      opened.queue := queue
      opened.head := io.linked.id
      opened.tail := io.linked.id
      opened.count := 1
      opened.bytes := io.linked.descriptor.length
      opened.ect := io.linked.group.ect
      opened.ce := io.linked.group.ce
      opened.notEct := io.linked.group.notEct
      opened.l3 := io.l3
      opened.roomBytes := looking.roomBytes
      opened.roomSum := looking.roomSum
      opened.ticks := ticks
      opened.deadlineNs := deadline.resized
    }
    val before = RegNextWhen(entry.tail, comes)

    /** a link less than four cycles ago wrote the same slot: what it wrote was not read */
    val recent = new Area {
      val ages = new ValidPipeline(comes, 3)
      val collidesNow = ages.passed.orR && known && slot === tag.slot
      val collides = judged(collidesNow)
    }
    private val matchesIfTaken = RegNext(comes && mayJoinNow && sameFlowNow && inTime && !renewsNow && !recent.collidesNow && Mux(tag.classed, staysNow, waitsNow)) init False
    /** it joins, if nothing happens to the entry's group in the meantime */
    val matches = matchesIfTaken && takes
  }

  /** The cycle after it: what is known late decides; the link goes on in the next one. */
  val deciding = new Area {
    import judging._
    /** the entry's group was granted in the cycle of the link as it came */
    val granted = (headOf & B(order.map(_.grants))).orR
    /** of a flow: the entry's group waits */
    private val waiting = waits(joined.number) && !granted
    val joins = matches && !granted && !(classed && io.closing)
    /** a group of a class is opened, and the one before closed */
    val opensClass = fate.parks && !matches && !io.closing
    private val place = ClassPlace(c)
    place.queue := link.queue
    place.klass := slot.resized
    // of a class: it joins what it matches, unless `closing`
    io.close.valid := fate.closes && stays && (!matches || io.closing)
    io.close.payload := place
    io.put.valid := fate.puts || (fate.opens && !matches) || (fate.follows && io.closing) || (matches && granted)
    io.put.queue := link.queue
    io.put.id := Mux(transit && link.joins, link.head, link.id)
    io.park.valid := opensClass
    io.park.place := place
    io.park.id := link.id
    io.park.deadline := deadlineNs
    io.passing.valid := valid
    io.passing.payload := link
    io.whole.valid := fate.pays
    io.whole.queue := link.queue
    io.whole.id := link.head

    private val settings = RegNext(io.l3 ## io.tick)
    /** for as long as a packet that was looked at before the change may come */
    private val changes = new ValidPipeline(settings =/= (io.l3 ## io.tick), 8)
    /** one of its steps from the first on, from a register */
    private val changed = RegNext((0 until 8).map(changes(_)).orR) init False
    for ((list, q) <- order.zipWithIndex) {
      list.closesAll := judging.closesAll(q) || io.applied(q) || changed
      io.closeAll(q) := list.closesAll
    }
    io.evicted := RegNext(valid && known && !classed && waiting && !sameFlow && joined.open && !recent.collides) init False
  }

  /** One more cycle later, from a register that tells whether it joins: the next link has come at the earliest, and has changed nothing of
    * this one's yet.
    */
  val writing = new Area {
    import judging._
    val joins = RegNext(deciding.joins)
    val valid = RegNext(judging.valid) init False
    /** numbers are given when a group is opened */
    val written = OpenGroup(c).allowOverride()
    written := joins ? joined | opened
    when(!joins)(written.number := Vec(order.map(_.next))(link.queue.resized))
    // of one that joins they are its group's
    written.flow := opened.flow
    written.queue := opened.queue
    written.open := mayJoin
    val writes = valid && known
    groups.write(sweep.done ? slot | sweep.slot, written, writes || !sweep.done)
    when(!sweep.done)(written.open := False)
    // a link four cycles behind this one reads the entry in this cycle
    looking.overtaken1 := RegNext(writes && slot === looking.tag2.slot) init False
    looking.overtaking1 := RegNextWhen(written, writes)

    io.link.valid := valid
    io.link.payload.allowOverride()
    io.link.payload := link
    io.link.joins := joins
    io.link.head := joined.head
    io.link.before := before
    io.link.group.packets := joins ? joined.count | U(1, c.memberWidth bits)
    io.link.group.bytes := joins ? joined.bytes | link.descriptor.length
    private val becomes = joins ? joined | opened
    io.link.group.ect := becomes.ect
    io.link.group.ce := becomes.ce
    io.link.group.notEct := becomes.notEct
    io.link.group.l3 := joins ? joined.l3 | opened.l3
    io.link.group.transit := False
    when(transit) {
      io.link.joins := link.joins
      io.link.head := link.head
      io.link.before := link.before
      io.link.group := link.group
    }
    for ((list, q) <- order.zipWithIndex) list.opens := RegNext(fate.counts(q) && !deciding.joins) init False
  }
  io.busy := looking.steps.passed.orR || judging.valid || writing.valid || !sweep.done
}
