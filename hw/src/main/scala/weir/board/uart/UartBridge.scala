package weir.board.uart
import spinal.core._
import spinal.lib._
import weir.control.registers.{AxiLitePort, RegisterMap}

/** The registers of one core or several, over a serial line: the server of docs/register-protocol.md.
  *
  * One request is carried out at a time; a second one may come in meanwhile, a third one is lost. The first bit of an answer
  * leaves 33 cycles after the middle of a short request's last stop bit. In reset the line is high, and what has been received is forgotten,
  * the last request too. docs/modules/uart.md
  */
class UartBridge(c: UartConfig) extends Component {
  val uart = UartPins()
  val axi = Vec(master(AxiLitePort(RegisterMap.addressWidth)), c.cores)

  val receive = new UartReceive(c)
  val decoder = new FrameDecoder(c)
  val buffer = new RequestBuffer(c)
  val executor = new Executor(c)
  val masters = Seq.fill(c.cores)(new RegisterMaster(c))
  val encoder = new FrameEncoder
  val transmit = new UartTransmit(c)

  receive.rxd := uart.rxd
  decoder.byte := receive.byte
  decoder.lineBroken := receive.broken
  decoder.room := buffer.room
  buffer.write := decoder.write
  buffer.frame := decoder.frame
  executor.request << buffer.request
  buffer.read.address := executor.read.address
  executor.read.data := buffer.read.data
  for (n <- 0 until c.cores) {
    masters(n).access <> executor.access(n)
    axi(n) <> masters(n).axi
    masters(n).setName(s"master_$n")
  }
  encoder.payload << executor.answer.halfPipe()
  transmit.byte << encoder.byte.halfPipe()
  uart.txd := transmit.txd
}

/** A serial line, seen from the board: `rxd` comes from the host. */
case class UartPins() extends Bundle {
  val rxd = in Bool ()
  val txd = out Bool ()
}
