package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.{Axis, AxisBeat}

/** The clocks of a MAC: of the line's two directions and of the core. Resets are given together. */
class MacClocks extends Bundle {
  val rx_clk, rx_rst, tx_clk, tx_rst = in Bool ()
}

object MacClocks {
  def domain(clock: Bool, reset: Bool): ClockDomain = ClockDomain(clock, reset,
    config = ClockDomainConfig(resetKind = SYNC, resetActiveLevel = HIGH))
}

/** A MAC as the core sees it, whatever its line is; the core's clock is that of the component around. */
abstract class Mac extends Component {
  val clocks = new MacClocks
  /** what was received: `ready` may stay low for a few words only, see [[ReceiveCrossing]] */
  val m_axis = master(Stream(AxisBeat(64)))
  /** what is to be sent */
  val s_axis = slave(Stream(AxisBeat(64)))
  val statistics = master(MacStatistics())
  Axis.name(m_axis, "m_axis")
  Axis.name(s_axis, "s_axis")
  for ((port, name) <- Seq(clocks.rx_clk -> "rx_clk", clocks.rx_rst -> "rx_rst",
      clocks.tx_clk -> "tx_clk", clocks.tx_rst -> "tx_rst")) port.setName(name)

  protected val core: ClockDomain = ClockDomain.current
  protected val rxDomain: ClockDomain = MacClocks.domain(clocks.rx_clk, clocks.rx_rst)
  protected val txDomain: ClockDomain = MacClocks.domain(clocks.tx_clk, clocks.tx_rst)

  /** Connects the line's units with the core's side. */
  protected def join(
      beat: Flow[AxisBeat], received: Flow[ReceiveEnd], source: Stream[AxisBeat], sent: Flow[TransmitEnd]): Area =
    new Area {
      val receiving = new ReceiveCrossing(rxDomain, core)
      receiving.io.beat << beat
      m_axis << receiving.io.m_axis
      val transmitting = new TransmitCrossing(core, txDomain)
      transmitting.io.s_axis << s_axis
      source << transmitting.io.m_axis
      val counting = MacStatistics.count(statistics, received, receiving.io.lost, sent, rxDomain, txDomain, core)
    }
}
