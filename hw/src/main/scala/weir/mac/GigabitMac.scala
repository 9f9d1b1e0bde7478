package weir.mac
import spinal.core._
import spinal.lib._

/** 1 Gb/s MAC on GMII: [[GmiiReceive]] and [[GmiiTransmit]] at 125 MHz, the core's side in a clock of its own.
  *
  * The core's clock times 8 bytes must not be slower than the line, 15.7 MHz or more. 10 and 100 Mb/s are not supported.
  */
class GigabitMac extends Mac {
  val gmiiRx = in(GmiiByte())
  val gmiiTx = out(GmiiByte())
  for ((port, prefix, enable) <- Seq((gmiiRx, "gmii_rx", "dv"), (gmiiTx, "gmii_tx", "en"))) {
    port.data.setName(s"${prefix}d")
    port.valid.setName(s"${prefix}_$enable")
    port.error.setName(s"${prefix}_er")
  }
  val receive = rxDomain(new GmiiReceive)
  val transmit = txDomain(new GmiiTransmit)
  receive.io.gmii := gmiiRx
  gmiiTx := transmit.io.gmii
  val crossing = join(receive.io.beat, receive.io.end, transmit.io.s_axis, transmit.io.end)
}
