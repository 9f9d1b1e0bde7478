package weir.mac
import spinal.core._
import spinal.lib._

/** What a host may want to know of one MAC: snapshots of its two [[FrameCounters]], in the core's clock. */
case class MacStatistics() extends Bundle with IMasterSlave {
  val snapshot = Bool()
  val busy = Bool()
  /** good, bad FCS, error, runt, oversize, lost for want of room */
  val received = Vec(UInt(32 bits), 6)
  val receivedBytes = UInt(48 bits)
  /** sent whole, aborted, underruns (which are aborts too) */
  val sent = Vec(UInt(32 bits), 3)
  val sentBytes = UInt(48 bits)

  override def asMaster(): Unit = {
    out(busy, received, receivedBytes, sent, sentBytes)
    in(snapshot)
  }
}

object MacStatistics {
  /** Counts what a MAC reports; `lost` and `received` are of clock `rx`, `sent` of clock `tx`. */
  def count(io: MacStatistics, received: Flow[ReceiveEnd], lost: Bool, sent: Flow[TransmitEnd],
      rx: ClockDomain, tx: ClockDomain, core: ClockDomain): Area = new Area {
    val receive = new FrameCounters(rx, core, 6)
    receive.io.valid := received.valid || lost
    receive.io.good := received.valid && !received.bad
    receive.io.bytes := received.bytes
    private val kinds = received.oversize ## received.runt ## received.error ## received.badFcs ## !received.bad
    receive.io.events := lost ## (kinds & B(5 bits, default -> received.valid))
    receive.io.snapshot := io.snapshot
    val transmit = new FrameCounters(tx, core, 3)
    transmit.io.valid := sent.valid
    transmit.io.good := !sent.aborted
    transmit.io.bytes := sent.bytes
    transmit.io.events := sent.underrun ## sent.aborted ## !sent.aborted
    transmit.io.snapshot := io.snapshot
    io.busy := receive.io.busy || transmit.io.busy
    io.received := receive.io.counts
    io.receivedBytes := receive.io.octets
    io.sent := transmit.io.counts
    io.sentBytes := transmit.io.octets
  }
}
