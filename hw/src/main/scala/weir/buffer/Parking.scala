package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** A group of a class, in a queue. */
case class ClassPlace(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  val klass = c.classId

  /** among all places of classes */
  def index: UInt = queue @@ klass
}

/** A group that is parked. */
case class Parked(c: WeirConfig) extends Bundle {
  val place = ClassPlace(c)
  val id = c.descriptorId
  /** it is closed at this time, if not before */
  val deadline = c.time
}

/** Groups of classes wait here until they close, and are then put at the tail of their queue (JumboGen, paper 000;
  * docs/modules/merge.md). Everything else that is put into a queue passes, in order.
  *
  * A place has one group at most; `close` and `park` may come in one cycle, the old group's close first, then `append`. A queue's `close`,
  * `park` and `append` come four cycles apart or more, all queues' two. Without a close an append passes in its own cycle. A group
  * is closed in the second cycle after `nowNs` has reached its deadline, later by the cycles in which others are put into queues; `closeAll` closes all
  * groups that the queue has before it, one in five cycles, and holds what comes after it until then. At reset empty.
  */
class Parking(c: WeirConfig) extends Component {
  val io = new Bundle {
    val nowNs = in(c.time)
    val close = slave(Flow(ClassPlace(c)))
    val park = slave(Flow(Parked(c)))
    val put = slave(Flow(Append(c)))
    /** of that queue every group */
    val closeAll = in(Bits(c.queues bits))
    /** the queue has to drop groups from its head, and none is there: the oldest that is parked goes there */
    val demand = in(Bits(c.queues bits))
    val append = master(Flow(Append(c)))
    /** places with a group */
    val parked = out(Bits(c.parkingPlaces bits))
    /** the group of this place is closed in this cycle, by its timer or `closeAll` or `demand` */
    val leaving = master(Flow(ClassPlace(c)))
    /** the same of a cycle without a `close` and a `put`, from registers */
    val leaves = master(Flow(ClassPlace(c)))
    /** all groups of some queue are being closed, and what came since then waits: nothing may join, and nothing be parked */
    val closing = out Bool ()
    /** of each queue */
    val deadlines = out(Vec(Flow(c.time), c.queues))
    val busy = out Bool ()
  }
  noIoPrefix()

  private val heads = Mem(c.descriptorId, c.parkingPlaces)
  val parked = Reg(Bits(c.parkingPlaces bits)) init 0
  io.parked := parked
  /** groups that `closeAll` has found: they go before what is put after it */
  val stale = Reg(Bits(c.parkingPlaces bits)) init 0
  /** A group that is on its way out anyway is not closed again: it goes before what has been put meanwhile. */
  val closes = Flow(ClassPlace(c))
  closes.valid := io.close.valid && !stale(io.close.index)
  closes.payload := io.close.payload
  /** A place, as a bit for each: which class it is of is known before whether there is one. */
  private class At(valid: Bool, place: ClassPlace) extends Area {
    private val queues = B((0 until c.queues).map(q => valid && place.queue === q))
    private val classes = B((0 until c.classes).map(place.klass === _))
    def of(q: Int): Bits = classes.andMask(queues(q))
  }
  private val closing = new At(io.close.valid, io.close.payload)
  private val going = new At(io.leaving.valid, io.leaving.payload)
  private val parking = new At(io.park.valid, io.park.place)

  /** Closed, or leaving by itself: never both, for nothing leaves in a cycle of a close, also of one that is on its way out. The order of a queue's
    * groups is changed one cycle after.
    */
  val gone = new Area {
    val now = closes.valid || io.leaving.valid
    val of = Mux(io.close.valid, io.close.queue, io.leaving.queue)
    val valid = RegNext(now) init False
    val queue = RegNextWhen(of, now)
  }
  val came = io.park.m2sPipe
  private val before = came.m2sPipe
  heads.write(came.place.index, came.id, came.valid)
  /** `gone` was closed; else it was its queue's oldest */
  val closed = RegNext(closes.valid) init False

  val queues = for (q <- 0 until c.queues) yield new Area {
    /** classes of the groups, the oldest first; a group that has just been closed or parked still or not yet */
    val order = Vec.fill(c.classes)(Reg(c.classId))
    /** places of `order` that are taken: the first ones */
    val filled = Reg(Bits(c.classes bits)) init 0
    private def mine(places: Bits): Bits = places(q * c.classes, c.classes bits)
    val here = mine(parked)
    /** `here` is not 0 */
    val some = RegInit(False)
    val closesAll = io.closeAll(q) && some
    val emptying = RegInit(False)
    /** it is, in the next cycle */
    val empties = closesAll || emptying && mine(stale).orR
    emptying := empties
    // also of a group that is closed in the very cycle of closeAll
    private val stays = ~((closing.of(q) & ~mine(stale)) | going.of(q))
    mine(stale) := Mux(closesAll, here, mine(stale)) & stays
    mine(parked) := (here & stays) | parking.of(q)
    private val deadlines = Mem(c.time, c.classes)

    private val moves = gone.valid && gone.queue === q
    val removes = closed && gone.queue === q
    val goes = moves && !closed
    val adds = came.valid && came.place.queue === q
    deadlines.write(came.place.klass, came.deadline, adds)
    /** Where the closed one is, from registers. Behind the places that are taken it may be anywhere: it is before them. Of what comes and goes only an
      * oldest that leaves by itself may be gone in the cycle of a close.
      */
    private def found(among: Seq[Bool] => Bool): Bool = {
      val is = order.toSeq.map(_ === io.close.klass)
      RegNextWhen(Mux(goes, among(is.tail :+ is.last), among(is)), io.close.valid)
    }
    /** it is this one or before it, among its four; in the fours before */
    private val near = (0 until c.classes).map(n => found(_.slice(n / 4 * 4, n + 1).orR))
    private val far = (0 until c.classes by 4).map(n => if (n == 0) False else found(_.take(n).orR))
    /** those from the removed one on move up */
    private val shifts = (0 until c.classes).map(n => goes || (removes && (near(n) || far(n / 4))))
    private val more = filled(c.classes - 2 downto 0) ## True
    private val fewer = False ## filled(c.classes - 1 downto 1)
    /** the place of one that comes */
    private val end = Mux(moves, filled & ~fewer, more & ~filled)
    for (n <- 0 until c.classes) {
      when(shifts(n))(order(n) := (if (n + 1 < c.classes) order(n + 1) else order(n)))
      when(adds && end(n))(order(n) := came.place.klass)
    }
    private val fills = Mux(adds && !moves, more, Mux(moves && !adds, fewer, filled))
    filled := fills
    // `filled` is a cycle late
    some := (io.park.valid && io.park.place.queue === q) || Mux(gone.now && gone.of === q, fills(1), fills(0))

    /** The oldest, its deadline, one and two cycles later; not what was parked after it was looked at. */
    val oldest = new Area {
      val valid1 = RegNext(filled(0) && !goes) init False
      val class1 = RegNext(order(0))
      val deadline1 = RegNext(deadlines.readAsync(order(0)))
      /** parked a cycle ago, or two: what was read is the deadline of the group before it */
      private def young(klass: UInt): Bool =
        Seq(came, before).map(p => p.valid && p.place.queue === q && p.place.klass === klass).orR
      val valid2 = RegNext(valid1 && !goes && !young(class1)) init False
      val class2 = RegNext(class1)
      /** its deadline is yet to come: a sign, without anything behind the carries */
      val early2 = RegNext((io.nowNs - deadline1).msb)
      io.deadlines(q).valid := valid1
      io.deadlines(q).payload := deadline1
    }
    /** not closed since: one that has been parked again behind the others is `young` */
    private val known = oldest.valid2 && here(oldest.class2) && !removes
    val due = known && (!oldest.early2 || io.demand(q))
    val dueStale = known && mine(stale)(oldest.class2)
  }

  /** Nothing overtakes the groups of a queue that is emptied: what is put meanwhile waits here. All that is parked is older. */
  private val places = 64
  val waiting = new StreamFifo(Append(c), places, withAsyncRead = true)
  /** something waits: `waiting`'s `pop.valid` from a register */
  val some = new Area {
    val there = RegInit(False)
    /** in the next cycle */
    val next = Bool()
    private val count = Reg(UInt(log2Up(places + 1) bits)) init 0
    private val comes = waiting.io.push.fire
    private val goes = there && waiting.io.pop.ready
    when(comes && !goes)(count := count + 1)
    when(goes && !comes)(count := count - 1)
    next := there
    when(comes) {
      next := True
    } elsewhen (goes) {
      next := count =/= 1
    }
    there := next
  }
  /** what comes in this cycle */
  val coming = new Area {
    val after = io.put.m2sPipe
    private val head = heads.readAsync(io.close.index)
    /** behind the group that it closed */
    val late = after.valid && closed
    val flow = Flow(Append(c))
    flow.valid := closes.valid || io.put.valid || late
    flow.payload := io.put.payload
    when(closes.valid) {
      flow.queue := closes.queue
      flow.id := head
    }
    when(late)(flow.payload := after.payload)
    /** the same while nothing is stale: whether a close is one does not wait for that */
    val now = Flow(Append(c))
    now.valid := io.close.valid || io.put.valid || late
    now.payload := io.put.payload
    when(io.close.valid) {
      now.queue := io.close.queue
      now.id := head
    }
    when(late)(now.payload := after.payload)
  }
  private val empties = queues.map(_.empties).orR
  val draining = RegNext(empties) init False
  /** all that comes is put at once: no queue is emptied, and nothing waits. Nothing is stale then */
  val free = RegInit(True)
  io.closing := !free
  val passes = free && !queues.map(_.closesAll).orR
  /** what comes waits: into the FIFO a cycle later */
  val pushing = new Area {
    private val now = coming.flow.valid && !passes
    val valid = RegNext(now) init False
    val payload = RegNextWhen(coming.flow.payload, now)
    free := !empties && !some.next && !now
  }
  waiting.io.push.valid := pushing.valid
  waiting.io.push.payload := pushing.payload
  waiting.io.pop.ready := !draining

  val leaving = new Area {
    private val due = B(queues.map(queue => Mux(draining, queue.dueStale, queue.due)))
    private val chosen = OHMasking.first(due)
    private val first = OHToUInt(chosen).resize(c.queueWidth)
    private val oldest = ClassPlace(c)
    oldest.queue := first
    oldest.klass := Vec(queues.map(_.oldest.class2))(first.resized)
    /** it is closed in the cycle in which it is found; its place may have another group in the next */
    private val same = RegNext((0 until c.queues).map(q =>
      chosen(q) && io.close.queue === q && io.close.klass === queues(q).oldest.class2).orR)
    /** while one leaves, it would be the same again */
    private val lost = gone.valid && (!closed || same)
    private val foundLate = RegNext(due.orR && draining) init False
    private val foundTimely = RegNext(due.orR && !draining) init False
    /** Found in the cycle before: as queues are emptied in both cycles, for what is stale is emptied until it is gone; in neither, and where nothing
      * comes in this one but what is known late.
      */
    val late = foundLate && !lost
    val timely = foundTimely && free && !coming.late && !lost
    val place = RegNext(oldest)
    val id = heads.readAsync(place.index)
    /** a close in the same cycle may be of the same group */
    val now = !io.close.valid && (late || (timely && !io.put.valid))
    io.leaving.valid := now
    io.leaving.payload := place
    io.leaves.valid := late || timely
    io.leaves.payload := place
  }

  private val follows = some.there && !draining
  // one that leaves late leaves while something comes too
  io.append.valid := follows || (leaving.late && !io.close.valid) || Mux(coming.now.valid, passes, leaving.timely)
  io.append.queue := leaving.place.queue
  io.append.id := leaving.id
  when(follows)(io.append.payload := waiting.io.pop.payload)
  when(free && coming.now.valid)(io.append.payload := coming.now.payload)
  io.busy := some.there || pushing.valid || draining || came.valid || gone.valid || coming.late
}
