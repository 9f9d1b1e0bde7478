package weir.board
import spinal.core._
import weir.WeirConfig

/** Colorlight 5A-75B, revisions 8.0 and 8.2: LFE5U-25F speed 6, 25 MHz, two RTL8211FD.
  *
  * The PHYs give the clock and are not to be reset. The button switches the bypass on and off, after 17 ms of rest. Its pin is the
  * UART's receiver too: a line that idles is high like a button that nobody presses, and bytes are low for less than 0.1 ms. The LED
  * blinks at 0.9 Hz, with the bypass four times as fast, and is dark without a clock. See `fpga-boards/colorlight-5a-75b`.
  */
class Colorlight5a75b(c: WeirConfig) extends Component {
  val clk25 = in Bool ()
  val phy_rst_n = out Bool ()
  val button_n = in Bool ()
  val uart_txd = out Bool ()
  val led_n = out Bool ()
  val eth0, eth1 = RgmiiPins()

  phy_rst_n := True
  val clocks = new BoardClocks(Colorlight5a75b.pll, clk25, release = True)

  /** The level of the bypass, switched when the button goes down. */
  val switch = clocks.core(new Debouncer(!button_n) {
    val bypass = RegInit(False)
    when(press)(bypass := !bypass)
  })
  val design = new RgmiiBump(c, clocks, Seq(eth0, eth1), switch.bypass, SerialLine(button_n, uart_txd, baud = 115200), rxTaps = 80, txTaps = 0)
  led_n := !(switch.bypass ? design.lights.heart(23) | design.lights.heart(25))
}

object Colorlight5a75b {
  val pll: PllConfig = PllConfig(25000000, inputDivider = 1, feedbackDivider = 5, lineDivider = 5, coreDivider = 10)
}
