package weir.board
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.board.uart.UartPins

/** Lattice ECP5 Versa (LFE5UM5G-45F speed 8): 100 MHz, two 88E1512.
  *
  * The PHYs stay in reset for 16.8 ms after the PLL has locked (the 88E1512 asks for 10). DIP switch 5 is the bypass, the
  * button is a reset. Eight LEDs, lit when low: heartbeat, bypass, port 0 receives, sends, port 1 receives, sends.
  */
class Ecp5Versa(c: WeirConfig) extends Component {
  val clk100 = in Bool ()
  val rst_n = in Bool ()
  val bypass = in Bool ()
  val led_n = out Bits (8 bits)
  val uart = UartPins()
  val eth0, eth1 = RgmiiPins()
  val eth0_rst_n, eth1_rst_n = out Bool ()

  val clocks = new BoardClocks(Ecp5Versa.pll, clk100, rst_n)
  val start = new ClockingArea(clocks.core) {
    val waited = Reg(UInt(20 bits)) init 0
    val done = RegInit(False)
    when(!done)(waited := waited + 1)
    when(waited.andR)(done := True)
    val around = BufferCC(bypass, init = False)
  }
  eth0_rst_n := start.done
  eth1_rst_n := start.done
  val design = new RgmiiBump(c, clocks, Seq(eth0, eth1), start.around, SerialLine(uart.rxd, uart.txd, baud = 1000000), rxTaps = 0, txTaps = 0)

  private val lights = design.lights
  private val shown = Seq(lights.heart(25), start.around) ++
    (0 until 2).flatMap(n => Seq(lights.received(n), lights.sent(n))) ++ Seq(False, False)
  led_n := ~Vec(shown).asBits
}

object Ecp5Versa {
  val pll: PllConfig = PllConfig(100000000, inputDivider = 4, feedbackDivider = 5, lineDivider = 5, coreDivider = 10)
}
