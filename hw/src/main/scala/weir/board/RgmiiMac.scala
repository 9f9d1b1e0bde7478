package weir.board
import spinal.core._
import spinal.lib._
import weir.axis.{Axis, AxisBeat}
import weir.mac.{GigabitMac, MacClocks, MacStatistics}

/** A [[GigabitMac]] behind an [[RgmiiPort]], the core's clock around: what a board without a core between its ports has of them.
  *
  * `tx_clk` is 125 MHz. Resets are as the MAC's, `rx_rst` synchronous to `rgmii_rxc`.
  */
abstract class RgmiiMac extends Component {
  val rgmii = RgmiiPins()
  val rx_rst, tx_clk, tx_rst = in Bool ()
  val m_axis = master(Stream(AxisBeat(64)))
  val s_axis = slave(Stream(AxisBeat(64)))
  val statistics = master(MacStatistics())
  Axis.name(m_axis, "m_axis")
  Axis.name(s_axis, "s_axis")

  /** Connects all of it; `sampling` is the clock of the registers at the pins, `receiving` that of the logic behind them. */
  protected def join(cells: RgmiiCells, sampling: Bool, receiving: Bool): Area = new Area {
    val port = new RgmiiPort(MacClocks.domain(tx_clk, tx_rst), cells)
    port.pins.rxc := sampling
    port.pins.rx_ctl := rgmii.rx_ctl
    port.pins.rxd := rgmii.rxd
    rgmii.txc := port.pins.txc
    rgmii.tx_ctl := port.pins.tx_ctl
    rgmii.txd := port.pins.txd

    val mac = new GigabitMac
    mac.clocks.rx_clk := receiving
    mac.clocks.rx_rst := rx_rst
    mac.clocks.tx_clk := tx_clk
    mac.clocks.tx_rst := tx_rst
    mac.gmiiRx := port.receive
    port.transmit := mac.gmiiTx
    m_axis << mac.m_axis
    mac.s_axis << s_axis
    statistics <> mac.statistics
  }
}
