package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Arrival, departure and tick records on one flow with at least one idle cycle between two, as [[TraceFifo]] needs.
  * Departures may be valid every fourth cycle; arrivals every second one, if it is every fourth on average. An arrival's
  * latency is two to four cycles, a departure's up to 18. A tick's record waits for a gap.
  */
class TraceMerge(c: WeirConfig) extends Component {
  val io = new Bundle {
    val arrival = slave(Flow(Bits(TraceRecord.width bits)))
    val departure = slave(Flow(DepartureRecord(c)))
    val tick = slave(Stream(Bits(TraceRecord.width bits)))
    val record = master(Flow(Bits(TraceRecord.width bits)))
  }
  noIoPrefix()

  /** every second cycle */
  val turn = RegInit(False)
  turn := !turn

  val arrival = new Area {
    val waiting = RegInit(False)
    val record = RegNextWhen(io.arrival.payload, io.arrival.valid)
    when(turn)(waiting := False)
    when(io.arrival.valid)(waiting := True)
  }
  /** Departures wait for arrivals: of two classes of latency up to six may commit two cycles apart, in all no more than one in
    * four cycles and four more, so that no more than six departures wait.
    */
  val departure = StreamFifo(DepartureRecord(c), 8, latency = 1)
  departure.io.push << io.departure.toStream
  /** behind its memory, whose address reaches as many bits as the records have */
  val left = departure.io.pop.m2sPipe()

  val tick = io.tick.stage()

  /** in a register: which source it is has to reach all bits of a record, and the record all of a port */
  private val takes = turn && (arrival.waiting || left.valid || tick.valid)
  private val chosen = Mux(arrival.waiting, arrival.record, Mux(left.valid, left.payload.words, tick.payload))
  io.record.valid := RegNext(takes) init False
  io.record.payload := RegNextWhen(chosen, takes)
  tick.ready := turn && !arrival.waiting && !left.valid
  left.ready := turn && !arrival.waiting
}
