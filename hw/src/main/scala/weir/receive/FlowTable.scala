package weir.receive
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.admission.FlowLane
import weir.common.ValidPipeline
import weir.control.registers.MatchConfig

/** Tells flows apart, exactly: a table of the last flow of each slot, with its whole key. A packet whose key is not
  * the one in its slot puts its own there, and its flow has a new number.
  *
  * Keys are compared word by word, three words of IPv4 and four of IPv6, which is no more than the packet itself has: the
  * lookup never falls behind by more than a cycle, whatever comes. An arrival's tag comes at most 10 cycles after its packet's end, in order.
  * After reset the table is emptied, a slot a cycle; until then flows are not known, and nothing can be merged.
  */
class FlowTable(c: WeirConfig) extends Component {
  val io = new Bundle {
    val word = slave(Flow(IngressWord(c)))
    /** a packet has ended, with its last word or later */
    val end = in Bool ()
    /** it is an arrival, one cycle later */
    val arrival = slave(Flow(FlowArrival(c)))
    /** IPv4 protocol of jumbo frames */
    val protocol = in Bits (8 bits)
    val matching = in(MatchConfig(c))
    /** it has changed: an epoch begins */
    val matchChanged = in Bool ()
    val tag = master(Flow(FlowTagWrite(c)))
    /** two cycles after the arrival */
    val lane = master(Flow(FlowLane(c)))
    val busy = out Bool ()
  }
  noIoPrefix()

  val keys = new FlowKeys(c)
  keys.io.word << io.word
  keys.io.end := io.end
  keys.io.arrival << io.arrival
  keys.io.protocol := io.protocol
  io.lane.valid := keys.io.job.valid
  io.lane.index := keys.io.job.index
  io.lane.lane := keys.io.lane

  /** of flows and of classes, each in RAMs that are as deep */
  private val words = Seq(c.classSlots, c.classes * c.queues).map(slots => Mem(Bits(widthOf(keys.io.key) bits), 4 * slots))
  private val numbers = Mem(UInt(c.flowNumberWidth bits), c.allSlots)

  val sweep = new Area {
    val done = RegInit(False)
    val slot = Reg(UInt(c.flowSlotWidth bits)) init 0
    when(!done)(slot := slot + 1)
    when(slot === c.allSlots - 1)(done := True)
  }

  val jobs = new StreamFifo(FlowJob(c), 4, withAsyncRead = true, withBypass = true)
  jobs.io.push.valid := keys.io.job.valid
  jobs.io.push.payload := keys.io.job.payload
  when(!sweep.done)(jobs.io.push.kind := FlowKind.none)

  /** Class or bypass of each of the last four packets. */
  val matched = new Area {
    val table = new MatchLookup(c)
    table.io.config := io.matching
    table.io.changed := io.matchChanged
    table.io.destination << keys.io.destination
    val of = Vec.fill(4)(Reg(MatchResult(c)))
    for ((result, n) <- of.zipWithIndex)
      when(table.io.result.valid && table.io.resultPacket === n)(result := table.io.result.payload)
  }

  /** A word a cycle. */
  val asking = new Area {
    val active = RegInit(False)
    val job = RegNextWhen(jobs.io.pop.payload, jobs.io.pop.fire)
    val index = Reg(UInt(2 bits))
    /** known when the job comes */
    val found = matched.of(job.packet)
    /** a packet that the match table leaves alone is in no order with those that it does not */
    val bypass = new Area {
      private val owner = RegNextWhen(UIntToOh(jobs.io.pop.payload.packet, 4), jobs.io.pop.fire)
      val now = matched.of.zipWithIndex.map { case (result, n) => owner(n) && result.bypass }.reduceBalancedTree(_ || _)
    }
    val kind = Mux(bypass.now, U(FlowKind.none, 2 bits), job.kind)
    val looks = active && job.kind.msb && !bypass.now
    /** no word of a key is behind this one, as far as the job says; or there is no job */
    val ends = RegInit(True)
    val last = ends || bypass.now
    val slot = Mux(job.classed, (U(c.classSlots) | (job.queue @@ found.klass).resize(c.flowSlotWidth)).resize(c.flowSlotWidth), job.slot)
    jobs.io.pop.ready := last
    when(active) {
      index := index + 1
      ends := last || index === ((job.v6 && !job.classed) ? U(2, 2 bits) | U(1, 2 bits))
      when(last)(active := False)
    }
    when(jobs.io.pop.fire) {
      active := True
      index := 0
      ends := !jobs.io.pop.payload.kind.msb
    }
    keys.io.ask := job
    keys.io.askIndex := index
  }

  /** Cycles 1 and 2 after a word was asked for: RAM and register; its own key is written behind the read. */
  val comparing = new Area {
    val steps = new ValidPipeline(asking.looks, 2)
    val address = RegNextWhen(asking.slot @@ asking.index, asking.looks)
    /** all ones, which no key is, until the table has been emptied with it: no packet is looked up before */
    val key1 = RegNextWhen(keys.io.key, asking.looks) init B(widthOf(keys.io.key) bits, default -> true)
    private val found1 = words.map(ram => ram.readSync((asking.slot @@ asking.index).resize(ram.addressWidth), asking.looks))
    val found = RegNextWhen(address.msb ? found1(1) | found1(0), steps(1))
    val key = RegNextWhen(key1, steps(1))
    private val written = sweep.done ? address | (sweep.slot @@ U(0, 2 bits))
    for ((ram, n) <- words.zipWithIndex)
      ram.write(written.resize(ram.addressWidth), key1, (steps(1) || !sweep.done) && written.msb === Bool(n == 1))

    /** the first word of a key, two cycles ago */
    val first = RegNextWhen(RegNext(asking.index === 0), steps(1))
    val missed = RegInit(False)
    when(steps(2))(missed := (missed && !first) || found =/= key)
  }

  /** Cycle 3 after the last word. */
  val result = new Area {
    val steps = new ValidPipeline(asking.active && asking.last, 3)
    private val asked = FlowJob(c).allowOverride()
    asked := asking.job
    asked.slot := asking.slot
    asked.kind := asking.kind
    val job1 = RegNextWhen(asked, asking.active && asking.last)
    val epoch1 = RegNextWhen(asking.found.epoch, asking.active && asking.last)
    val epoch2 = RegNextWhen(epoch1, steps(1))
    val epoch = RegNextWhen(epoch2, steps(2))
    val job2 = RegNextWhen(job1, steps(1))
    val job = RegNextWhen(job2, steps(2))
    val number1 = numbers.readSync(asking.slot, asking.looks && asking.last)
    val number2 = RegNextWhen(number1, steps(1))
    val number = RegNextWhen(number2, steps(2))

    val due = steps(3)
    val looked = due && job.kind.msb
    val newest = Reg(UInt(c.flowNumberWidth bits)) init 0
    /** the one before: its number may not have been in the RAM yet */
    val lastSlot = Reg(UInt(c.flowSlotWidth bits)) init 0
    val lastNumber = Reg(UInt(c.flowNumberWidth bits)) init 0
    val again = RegNextWhen(job2.slot === (looked ? job.slot | lastSlot), steps(2))
    val chosen = comparing.missed ? newest | (again ? lastNumber | number)
    when(looked) {
      lastSlot := job.slot
      lastNumber := chosen
      when(comparing.missed)(newest := newest + 1)
    }
    numbers.write(job.slot, newest, looked && comparing.missed)

    io.tag.valid := due
    io.tag.index := job.index
    io.tag.tag.kind := job.kind
    io.tag.tag.slot := job.slot
    io.tag.tag.number := chosen
    io.tag.tag.epoch := epoch
  }
  io.busy := jobs.io.occupancy =/= 0 || asking.active || result.steps.passed.orR || keys.io.job.valid || !sweep.done
}
