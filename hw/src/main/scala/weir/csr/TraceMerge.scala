package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Arrival, departure and tick records on one flow with at least one idle cycle between two, as [[TraceFifo]] needs.
  * Arrivals and departures may each be valid every fourth cycle; their latency is one to three cycles. A tick's record
  * waits for a gap; one that finds another waiting is lost, and `lost` tells it.
  */
class TraceMerge(c: WeirConfig) extends Component {
  val io = new Bundle {
    val arrival, departure, tick = slave(Flow(Bits(TraceRecord.width bits)))
    val lost = out Bool ()
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

  val tick = new Held(io.tick)
  io.lost := io.tick.valid && tick.waiting && !tick.sent

  val turn = RegInit(False)
  turn := !turn
  io.record.valid := turn && (arrival.waiting || departure.waiting || tick.waiting)
  io.record.payload := Mux(arrival.waiting, arrival.record, Mux(departure.waiting, departure.record, tick.record))
  when(turn) {
    arrival.sent := True
    departure.sent := !arrival.waiting
    tick.sent := !arrival.waiting && !departure.waiting
  }
}
