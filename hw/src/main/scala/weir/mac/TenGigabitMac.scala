package weir.mac
import spinal.core._
import spinal.lib._

/** 10 Gb/s MAC on 64-bit XGMII: [[XgmiiReceive]] and [[XgmiiTransmit]] at 156.25 MHz, the core's side in a clock of its own.
  *
  * The core's clock times 8 bytes must not be slower than the line. PAUSE frames and link fault signalling
  * (IEEE 802.3, 31B and 46.3.4) are not built.
  */
class TenGigabitMac extends Mac {
  val xgmiiRx = in(XgmiiWord())
  val xgmiiTx = out(XgmiiWord())
  for ((port, side) <- Seq((xgmiiRx, "rx"), (xgmiiTx, "tx"))) {
    port.data.setName(s"xgmii_${side}d")
    port.control.setName(s"xgmii_${side}c")
  }
  val receive = rxDomain(new XgmiiReceive)
  val transmit = txDomain(new XgmiiTransmit)
  receive.io.xgmii := xgmiiRx
  xgmiiTx := transmit.io.xgmii
  val crossing = join(receive.io.beat, receive.io.end, transmit.io.s_axis, transmit.io.end)
}
