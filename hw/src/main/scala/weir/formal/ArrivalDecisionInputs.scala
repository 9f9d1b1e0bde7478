package weir.formal
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.admission.ArrivalDecision
import weir.buffer.{Arrival, Fill}
import weir.control.registers.QueueConfig
import weir.policy.{Cause, PolicyVerdict}

/** ArrivalDecision, or with one of the faults that proofs of it must find. */
private class LeakyArrivalDecision(c: WeirConfig, leak: Option[String]) extends ArrivalDecision(c) {
  if (leak.contains("room")) io.room.removeAssignments() := RegNext(waiting.io.availability > 1) init True
  if (leak.contains("descriptor")) io.giveDescriptor.valid.removeAssignments() := False
  if (leak.contains("spare")) descriptor.spare.removeAssignments() := False
  if (leak.contains("exempt")) known.exempt.removeAssignments() := False
  if (leak.contains("complete")) together.described.removeAssignments() := True
}

/** ArrivalDecision, and what proofs of it let come: arrivals whenever `room` was high in the cycle before (with jumbo
  * frames in theirs); configuration, fills, what holds, and the policies' verdicts are free in every cycle, verdicts
  * with a cause of a policy. Descriptors are the proof's.
  */
abstract class ArrivalDecisionInputs(c: WeirConfig, make: => ArrivalDecision) extends Properties {
  val dut: ArrivalDecision = make
  val arrival = any(Flow(Arrival(c)))
  assume(!arrival.valid || (if (c.jumbo) dut.io.room else before(dut.io.room)))
  dut.io.arrival << arrival
  val config = any(Vec(QueueConfig(c), c.queues))
  val fill = any(Vec(Fill(c), c.queues))
  dut.io.config := config
  dut.io.fill := fill
  dut.io.empty := B(fill.map(_.packets === 0))
  dut.io.sharedCells := any(UInt(15 bits))
  dut.io.sharedUsed := any(UInt(15 bits))
  dut.io.nowNs := any(c.time)
  val hold = any(Bits(c.queues bits))
  dut.io.hold := hold
  dut.io.draw := any(UInt(c.drawWidth bits))
  dut.io.traces := any(Bits(c.queues bits))
  for (port <- dut.io.verdicts) {
    val verdict = any(Flow(PolicyVerdict(c)))
    assume(verdict.cause <= Cause.forced)
    port << verdict
  }
  dut.io.descriptor.payload := any(c.descriptorId)

  /** What is known of a decision at s0; in the proof's history the n-th is at tn. */
  trait InFlight {
    def valid: Bool
    def deferred: Bool
    /** accepted by the limits' answer alone */
    def quick: Bool
    def queue: UInt
    def arrival: Arrival
    /** the limits are asked about it */
    def asks: Bool = True
    /** it is a jumbo frame in transit, whose packets follow */
    def header: Bool = False
    /** its descriptor */
    def id: UInt
  }
  /** from s0 to the commit of what is decided at once, and of what is decided about afterwards */
  protected val quickAt: Int = dut.quick + 1
  protected val outcomeAt: Int = c.fastLatency + 1
  protected val toldAt: Int = outcomeAt + c.afterwards
  /** decisions of queue q that its policy has not been told the end of */
  protected def deciding(history: Seq[InFlight], q: Int): UInt =
    CountOne(history.zipWithIndex.map { case (h, n) => h.valid && h.queue === q &&
      (if (n <= outcomeAt) True else h.deferred) })

  /** What is carried out, and the limits' answer to it; answers(n) is that to what is at tn. */
  protected def carriedOut[T <: Bundle with InFlight](history: Seq[T], answers: Int => Bool): (T, Bool) = {
    val early = history(quickAt).valid && history(quickAt).quick
    val decided = Mux(early, history(quickAt), history(outcomeAt)).setName("decided").allowOverride()
    decided.valid := early || history(outcomeAt).valid && !history(outcomeAt).quick
    (decided, Mux(early, answers(quickAt), answers(outcomeAt)))
  }

  /** What makes an induction: what is stored of decisions, and the shift registers that follow them.
    *
    * @param finds   the arrival at s0 asks, and finds something in its queue
    * @param history those at t0 and later
    * @param answers the limits' answer to what is at tn
    */
  protected def inFlight[T <: InFlight](s0: InFlight, finds: Bool, history: Seq[T], answers: Int => Bool)(
      more: (dut.Context, T) => Unit): Unit = {
    val width = log2Up(dut.known.places)
    val stored = dut.known.rework {
      Vec(Seq.tabulate(dut.known.places)(i => CombInit(dut.known.memory.readAsync(U(i, width bits)))))
        .setName("known_stored")
    }.map(_.pull())
    val clock = dut.known.clock.pull()
    for ((h, n) <- history.zipWithIndex.take(toldAt - 2).tail) {
      val context = dut.Context()
      val place = (clock - n)(widthOf(clock) - 1 downto 2)
      context.assignFromBits(Vec(stored)(place))
      val read = if (n < outcomeAt - 2) h.valid else h.valid && h.deferred
      when(read) {
        assert(context.request.queue === h.queue && context.deferred === h.deferred && context.quick === h.quick)
        // until its outcome all of it counts
        if (n < outcomeAt - 2) assert(context.arrival === h.arrival && context.descriptor === h.id)
        more(context, h)
      }
      if (n > dut.quick) {
        when(read && h.asks)(assert(dut.limits.answers.passed.pull()(n - dut.quick - 1) === answers(n)))
      }
    }
    /** the shift register tells of those decisions */
    def follows(passed: Bits, last: Int)(of: InFlight => Bool): Unit =
      for (n <- 1 to last) assert(passed(n - 1) === (history(n).valid && of(history(n))))
    follows(dut.fast.stage.passed.pull(), c.fastLatency)(!_.quick)
    follows(dut.accepted.stage.passed.pull(), dut.quick)(_.quick)
    for (verdicts <- dut.verdicts) follows(verdicts.stage.passed.pull(), toldAt - 1)(_.deferred)
    val due = dut.commits.due.pull()
    for (n <- 0 until toldAt - 1) {
      def at(latency: Int)(of: InFlight => Bool): Bool =
        if (n < latency) history(latency - 1 - n).valid && of(history(latency - 1 - n)) else False
      assert(due(n) === (at(c.fastLatency)(!_.quick) || at(c.fastLatency + c.afterwards)(_.deferred)))
    }
    if (c.afterwards > 0) deferring(s0, finds, history)
  }

  private def deferring(s0: InFlight, finds: Bool, history: Seq[InFlight]): Unit = {
    val blocked = c.afterwards + dut.interval - 1
    val passed = dut.afterwards.history.passed.pull()
    for (n <- 1 to blocked) assert(passed(n - 1) === (history(n - 1).valid && history(n - 1).deferred))
    for (q <- 0 until c.queues) {
      def of(n: Int): Bool = history(n).valid && history(n).deferred && history(n).queue === q
      val youngest =
        PriorityMux((0 until blocked).map(n => of(n) -> U(blocked - n, 4 bits)) :+ (True -> U(0, 4 bits)))
      assert(dut.afterwards.left(q).pull() === youngest)
    }
    // s0 and what is in flight, the n-th from the last that went
    val all = s0 +: history
    def deferredAt(n: Int): Bool = all(n).valid && all(n).deferred
    for ((h, m) <- all.zipWithIndex) when(h.valid) {
      def behind(cycles: Range)(no: Int => Bool): Unit = for (n <- cycles.map(m + _) if n < all.size) assert(!no(n))
      assert((h.deferred && !h.header || !h.quick) && (h.asks || !h.deferred))
      behind(1 until dut.interval)(all(_).valid)
      // each has the policy to itself for four cycles, in its place or in its place afterwards
      when(!h.deferred)(behind(c.afterwards - dut.interval + 1 until c.afterwards + dut.interval)(deferredAt))
      // what it leads to is not carried out with what is told of another
      when(!h.quick)(behind(c.afterwards - 1 to c.afterwards + 1)(deferredAt))
      // what is quick finds nothing under way
      when(h.quick) {
        behind(1 to c.fastLatency)(n => all(n).valid && !all(n).quick)
        behind(1 to c.fastLatency + c.afterwards)(deferredAt)
      }
    }
    // nothing of its queue is decided before what came before it has been
    when(s0.valid && finds) {
      for (h <- history.take(blocked)) assert(!(h.valid && h.deferred && h.queue === s0.queue))
    }
    cover(s0.valid && history(c.afterwards - dut.interval - 1).valid &&
      history(c.afterwards - dut.interval - 1).deferred)
    cover(s0.valid && !s0.deferred && history(blocked).valid && history(blocked).deferred)
  }

  protected def beyondReserve(cells: UInt, reserve: UInt): UInt =
    Mux(cells.resize(17 bits) > reserve.resize(17 bits), cells.resize(17 bits) - reserve.resize(17 bits), U(0, 17 bits))
}
