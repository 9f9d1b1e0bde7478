package weir.control.trace
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Arrival, departure and tick records on one flow with at least one idle cycle between two, as [[TraceFifo]] needs.
  * Departures may be valid every fourth cycle; arrivals every second one, if it is every fourth on average. An arrival's
  * latency is one or two cycles; departures wait for a gap of two cycles, a tick's record for one that no departure needs.
  */
class TraceMerge(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** the record stands in the cycle after */
    val arrival = slave(Flow(Bits(TraceRecord.width bits)))
    /** there is an arrival, whether its record is wanted or not */
    val arrives = in Bool ()
    val departure = slave(Flow(DepartureRecord(c)))
    val tick = slave(Stream(Bits(TraceRecord.width bits)))
    val record = master(Flow(Bits(TraceRecord.width bits)))
  }
  noIoPrefix()

  /** Departures wait for arrivals: of two classes of latency up to six may commit two cycles apart, in all no more than one in
    * four cycles and four more, so that no more than six departures wait. Behind an arrival every s cycles there are gaps enough for any s of 4 and
    * more: with s = 5 three in ten cycles, for every second arrival is taken a cycle later.
    * So it is never full, and a record is written without asking, which a StreamFifo would do before each of its bits.
    */
  val departure = new Area {
    private val records = Mem(DepartureRecord(c), 8)
    private val write, read = Reg(UInt(3 bits)) init 0
    val waits = RegInit(False)
    records.write(write, io.departure.payload, io.departure.valid)
    val pop = Stream(DepartureRecord(c))
    pop.valid := waits
    pop.payload := records.readAsync(read)
    when(io.departure.valid)(write := write + 1)
    when(pop.fire)(read := read + 1)
    when(io.departure.valid) {
      waits := True
    } elsewhen (pop.fire) {
      waits := read + 1 =/= write
    }
  }
  /** behind its memory, whose address reaches as many bits as the records have */
  val left = departure.pop.m2sPipe()

  val tick = io.tick.stage()

  private val takes = Bool()
  /** a record was taken in the cycle before */
  private val taken = RegNext(takes) init False
  /** that was when an arrival came, which is taken now */
  private val late = RegNext(io.arrival.valid && taken) init False
  private val gap = !late && !taken && !io.arrives
  takes := late || !taken && io.arrival.valid || gap && (left.valid || tick.valid)

  /** in a register: which source it is has to reach all bits of a record, and the record all of a port */
  private val chosen = Mux(late || io.arrives, io.arrival.payload, Mux(left.valid, left.payload.words, tick.payload))
  io.record.valid := taken
  io.record.payload := RegNextWhen(chosen, takes)
  left.ready := gap
  tick.ready := gap && !left.valid
}
