package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Arrival, departure and tick records on one flow with at least one idle cycle between two, as [[TraceFifo]] needs.
  * Arrivals and departures may each be valid every fourth cycle; their latency is one to three cycles. A tick's record
  * waits for a gap.
  */
class TraceMerge(c: WeirConfig) extends Component {
  val io = new Bundle {
    val arrival, departure = slave(Flow(Bits(TraceRecord.width bits)))
    val tick = slave(Stream(Bits(TraceRecord.width bits)))
    val record = master(Flow(Bits(TraceRecord.width bits)))
  }
  noIoPrefix()

  class Held(source: Flow[Bits]) extends Area {
    val waiting = RegInit(False)
    val record = RegNextWhen(source.payload, source.valid)
    val sent = False
    when(sent)(waiting := False)
    when(source.valid)(waiting := True)
  }
  val arrival = new Held(io.arrival)
  val departure = new Held(io.departure)

  val tick = io.tick.stage()

  val turn = RegInit(False)
  turn := !turn
  io.record.valid := turn && (arrival.waiting || departure.waiting || tick.valid)
  io.record.payload := Mux(arrival.waiting, arrival.record, Mux(departure.waiting, departure.record, tick.payload))
  tick.ready := turn && !arrival.waiting && !departure.waiting
  when(turn) {
    arrival.sent := True
    departure.sent := !arrival.waiting
  }
}
