package weir.board
import spinal.core._

/** The cells of a device at the pins of an RGMII; [[RgmiiPort]] takes one of these as its parameter.
  *
  * Whatever they are, both halves of what is received come out together, one cycle after the first, and what is sent starts with the
  * clock's edge after the one that brings it.
  */
sealed trait RgmiiCells {
  /** The values of a pin at the rising edge of `clock` and at the falling edge after it. */
  def sample(pin: Bool, clock: Bool): (Bool, Bool)

  /** Sends `first` while `clock` is high and `second` while it is low. */
  def send(first: Bool, second: Bool, clock: Bool): Bool

  /** The clock that is sent along with what [[send]] sends. */
  def sentClock(clock: Bool): Bool
}

/** Lattice's ECP5.
  *
  * @param rxTaps delay of the received signals in taps of 25 ps, 0 to 127: for how much later their clock is in the device than they are
  * @param txTaps delay of the sent clock, 0 to 127: 80 are RGMII's 2 ns, where the PHY makes none
  */
case class Ecp5Rgmii(rxTaps: Int, txTaps: Int) extends RgmiiCells {
  for ((name, taps) <- Seq("rxTaps" -> rxTaps, "txTaps" -> txTaps))
    require(taps >= 0 && taps <= 127, s"Ecp5Rgmii.$name=$taps must be 0 to 127; try 80")

  def sample(pin: Bool, clock: Bool): (Bool, Bool) = {
    val delay = new Ecp5Cells.Delayg(rxTaps)
    val register = new Ecp5Cells.Iddrx1f
    delay.A := pin
    register.D := delay.Z
    register.SCLK := clock
    register.RST := False
    (register.Q0, register.Q1)
  }

  def send(first: Bool, second: Bool, clock: Bool): Bool = {
    val register = new Ecp5Cells.Oddrx1f
    register.D0 := first
    register.D1 := second
    register.SCLK := clock
    register.RST := False
    register.Q
  }

  def sentClock(clock: Bool): Bool = {
    val delay = new Ecp5Cells.Delayg(txTaps).setName("output_delay")
    delay.A := send(True, False, clock)
    delay.Z
  }
}

/** Xilinx's 7 series.
  *
  * Pins of HR banks have no delay for what is sent: where the PHY does not delay the clock, it comes from a second output of the PLL.
  * `clock` of [[sample]] is a BUFIO's or BUFG's. Received data and clock are as far apart at the pins as the PHY makes them (RGMII-ID, or its registers).
  *
  * @param rxTaps      delay of the received signals in taps of 1 / (64 · reference), 78 ps at 200 MHz, 1 to 31, for how much later the clock is
  *                    in the device than they are; 0: no cells for it. With them the integrator has an [[XilinxIoCells.Idelayctrl]] of `group`
  * @param referenceMhz clock of that, 200 or 300, 400 in faster devices, give or take 10
  * @param shifted     125 MHz, 90 degrees behind the clock of what is sent; without it both edges leave together and the PHY delays
  * @param group       `IODELAY_GROUP` of the delays; the ports of a bank share one
  */
case class Series7Rgmii(rxTaps: Int, referenceMhz: Int = 200, shifted: Option[ClockDomain] = None, group: String = "rgmii") extends RgmiiCells {
  require(rxTaps >= 0 && rxTaps <= 31, s"Series7Rgmii.rxTaps=$rxTaps must be 0 to 31; try 12")
  require(Seq(200, 300, 400).exists(middle => (referenceMhz - middle).abs <= 10),
    s"Series7Rgmii.referenceMhz=$referenceMhz must be 200, 300 or 400, give or take 10; try 200")

  def sample(pin: Bool, clock: Bool): (Bool, Bool) = {
    val register = new XilinxIoCells.Iddr
    register.tie()
    register.D := (if (rxTaps == 0) pin else delayed(pin))
    register.C := clock
    (register.Q1, register.Q2)
  }

  def send(first: Bool, second: Bool, clock: Bool): Bool = {
    val register = new XilinxIoCells.Oddr
    register.tie()
    register.D1 := first
    register.D2 := second
    register.C := clock
    register.Q
  }

  private def delayed(pin: Bool): Bool = {
    val delay = new XilinxIoCells.Idelaye2(rxTaps, referenceMhz, group)
    delay.tie()
    delay.IDATAIN := pin
    delay.DATAOUT
  }

  def sentClock(clock: Bool): Bool = send(True, False, shifted.fold(clock)(_.readClockWire))
}
