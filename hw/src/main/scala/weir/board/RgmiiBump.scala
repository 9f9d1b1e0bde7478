package weir.board
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.mac.GigabitMac

/** What both ECP5 boards are: two RGMII ports with MACs, the [[BumpInTheWire]] between them.
  *
  * The cores' registers are reached over a serial line. Until a host does they keep the values of reset, which are Drop-Tail with
  * the whole buffer.
  */
class RgmiiBump(
    c: WeirConfig, clocks: BoardClocks, pins: Seq[RgmiiPins], bypass: Bool, uart: SerialLine, rxTaps: Int, txTaps: Int)
    extends Area {
  val ports = for (n <- 0 until 2) yield new Area {
    val rgmii = new RgmiiPort(clocks.line, Ecp5Rgmii(rxTaps, txTaps))
    rgmii.pins.rxc := pins(n).rxc
    rgmii.pins.rx_ctl := pins(n).rx_ctl
    rgmii.pins.rxd := pins(n).rxd
    pins(n).txc := rgmii.pins.txc
    pins(n).tx_ctl := rgmii.pins.tx_ctl
    pins(n).txd := rgmii.pins.txd

    val received = clocks.domain(pins(n).rxc, s"rx$n")
    val mac = clocks.core(new GigabitMac)
    mac.clocks.rx_clk := received.readClockWire
    mac.clocks.rx_rst := received.readResetWire
    mac.clocks.tx_clk := clocks.line.readClockWire
    mac.clocks.tx_rst := clocks.line.readResetWire
    mac.gmiiRx := rgmii.receive
    rgmii.transmit := mac.gmiiTx
    mac.statistics.snapshot := False
  }
  for ((port, n) <- ports.zipWithIndex) port.setName(s"port_$n")

  val path = new ClockingArea(clocks.core) {
    val bump = new UartBump(c, uart.baud).setName("bump")
    bump.io.uart.rxd := uart.rxd
    uart.txd := bump.io.uart.txd
    bump.io.bypass := bypass
    for (n <- 0 until 2) {
      bump.io.rx(n) << ports(n).mac.m_axis
      ports(n).mac.s_axis << bump.io.tx(n)
    }
  }

  val lights = new ClockingArea(clocks.core) {
    /** 0.9 Hz at 62.5 MHz */
    val heart = Reg(UInt(26 bits)) init 0
    heart := heart + 1
    /** a frame's end is seen for about 0.13 s */
    val received = Vec(ports.map(port => Lights.lasting(port.mac.m_axis.fire && port.mac.m_axis.tlast, width = 23)))
    val sent = Vec(ports.map(port => Lights.lasting(port.mac.s_axis.fire && port.mac.s_axis.tlast, width = 23)))
  }
}

/** The pins of a serial line, seen from the board: `rxd` comes from the host. */
case class SerialLine(rxd: Bool, txd: Bool, baud: Int)
