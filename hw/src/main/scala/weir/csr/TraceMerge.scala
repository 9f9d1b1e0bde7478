package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Arrival, departure and tick records on one flow with at least one idle cycle between two, as [[TraceFifo]] needs.
  * Departures may be valid every fourth cycle; arrivals every second one, if it is every fourth on average. Their latency is one to
  * five cycles. A tick's record waits for a gap.
  */
class TraceMerge(c: WeirConfig) extends Component {
  val io = new Bundle {
    val arrival, departure = slave(Flow(Bits(TraceRecord.width bits)))
    val tick = slave(Stream(Bits(TraceRecord.width bits)))
    val record = master(Flow(Bits(TraceRecord.width bits)))
  }
  noIoPrefix()

  /** two arrivals may come before a departure's turn, and with them the next departure */
  class Held(source: Flow[Bits], depth: Int) extends Area {
    val records = Vec.fill(depth)(Reg(Bits(TraceRecord.width bits)))
    val count = Reg(UInt(log2Up(depth + 1) bits)) init 0
    val sent = False
    val waiting = count =/= 0
    val left = count - sent.asUInt
    when(sent || source.valid)(count := left + source.valid.asUInt)
    for (n <- 0 until depth) {
      if (n + 1 < depth) when(sent)(records(n) := records(n + 1))
      when(source.valid && left === n)(records(n) := source.payload)
    }
    def record: Bits = records(0)
  }
  val arrival = new Held(io.arrival, 1)
  val departure = new Held(io.departure, 2)

  val tick = io.tick.stage()

  val turn = RegInit(False)
  turn := !turn
  io.record.valid := turn && (arrival.waiting || departure.waiting || tick.valid)
  io.record.payload := Mux(arrival.waiting, arrival.record, Mux(departure.waiting, departure.record, tick.payload))
  tick.ready := turn && !arrival.waiting && !departure.waiting
  when(turn) {
    arrival.sent := arrival.waiting
    departure.sent := departure.waiting && !arrival.waiting
  }
}
