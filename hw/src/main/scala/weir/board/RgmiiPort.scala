package weir.board
import spinal.core._
import weir.mac.GmiiByte

/** The pins of an RGMII (version 2.0), seen from the MAC. */
case class RgmiiPins() extends Bundle {
  val txc = out Bool ()
  val tx_ctl = out Bool ()
  val txd = out Bits (4 bits)
  val rxc = in Bool ()
  val rx_ctl = in Bool ()
  val rxd = in Bits (4 bits)
}

/** GMII at an RGMII: two nibbles a cycle, the low one while the clock is high; `ctl` is the enable in the first half and enable xor
  * error in the second.
  *
  * Latency one cycle each way. The delay between clock and data that RGMII asks for is the PHY's where frames come in; where they go out it is the PHY's or of `cells`.
  * Only 1 Gb/s: at 10 and 100 Mb/s the PHY repeats nibbles, which a MAC would take for errors.
  *
  * @param tx the clock of `transmit`, 125 MHz; `receive` is in the clock `rxc`
  */
class RgmiiPort(tx: ClockDomain, cells: RgmiiCells) extends Component {
  val pins = RgmiiPins()
  val receive = out(GmiiByte())
  val transmit = in(GmiiByte())

  val input = new Area {
    /** the values of a pin at the rising and the falling edge */
    private def sample(pin: Bool): (Bool, Bool) = cells.sample(pin, pins.rxc)
    private val nibbles = pins.rxd.asBools.map(sample)
    private val control = sample(pins.rx_ctl)
    // low nibble first
    receive.data := Vec(nibbles.map(_._1) ++ nibbles.map(_._2)).asBits
    receive.valid := control._1
    receive.error := control._1 ^ control._2
  }

  val output = new Area {
    private def send(first: Bool, second: Bool): Bool = cells.send(first, second, tx.readClockWire)
    for (n <- 0 until 4) pins.txd(n) := send(transmit.data(n), transmit.data(4 + n))
    pins.tx_ctl := send(transmit.valid, transmit.valid ^ transmit.error)
    pins.txc := cells.sentClock(tx.readClockWire)
  }
}
