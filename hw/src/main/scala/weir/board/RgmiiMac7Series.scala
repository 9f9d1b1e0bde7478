package weir.board
import spinal.core._

/** [[RgmiiMac]] at the pins of a 7-series device.
  *
  * `rgmii_rxc` is at a clock-capable pin of the bank of the other ones: it goes to the registers at the pins by a BUFIO, which is short, and to
  * the MAC by a BUFR. With `rxTaps` and `calibrates`, `delay_clk` and `delay_rst` are of the IDELAYCTRL, and nothing is to be received before
  * `delay_ready`.
  *
  * @param rxTaps  as of [[Series7Rgmii]]
  * @param shifted the sent clock is that of a port `tx_clk90`, 90 degrees behind `tx_clk`; without it the PHY delays
  * @param group, calibrates a bank has one IDELAYCTRL: of several ports there with one `group` one calibrates
  */
class RgmiiMac7Series(rxTaps: Int, referenceMhz: Int, shifted: Boolean, group: String = "rgmii", calibrates: Boolean = true) extends RgmiiMac {
  val tx_clk90 = if (shifted) in(Bool()) else null
  private val delays = rxTaps > 0 && calibrates
  val delay_clk, delay_rst = if (delays) in(Bool()) else null
  val delay_ready = if (delays) out(Bool()) else null

  val calibration = if (delays) new Area {
    val control = new XilinxIoCells.Idelayctrl(group)
    control.REFCLK := delay_clk
    control.RST := delay_rst
    delay_ready := control.RDY
  } else null

  val clock = new Area {
    val pins = new XilinxIoCells.Bufio
    pins.I := rgmii.rxc
    val logic = new XilinxIoCells.Bufr
    logic.I := rgmii.rxc
    logic.CE := True
    logic.CLR := False
  }
  private val late = if (shifted) Some(ClockDomain(tx_clk90, config = ClockDomainConfig(resetKind = BOOT))) else None
  val parts = join(Series7Rgmii(rxTaps, referenceMhz, late, group), sampling = clock.pins.O, receiving = clock.logic.O)
}
