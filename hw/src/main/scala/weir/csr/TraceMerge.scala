package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Arrival and departure records on one flow with at least one idle cycle between two, as [[TraceFifo]] needs.
  * Each source may be valid every fourth cycle. Latency one to three cycles.
  */
class TraceMerge(c: WeirConfig) extends Component {
  val io = new Bundle {
    val arrival, departure = slave(Flow(Bits(TraceRecord.width bits)))
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

  val turn = RegInit(False)
  turn := !turn
  io.record.valid := turn && (arrival.waiting || departure.waiting)
  io.record.payload := Mux(arrival.waiting, arrival.record, departure.record)
  when(turn) {
    arrival.sent := True
    departure.sent := !arrival.waiting
  }
}
