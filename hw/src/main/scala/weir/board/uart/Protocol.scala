package weir.board.uart

/** Numbers of docs/register-protocol.md. */
object Protocol {
  val version = 1
  val mostWords = 1024

  val flag = 0x7E
  val escape = 0x7D
  val turn = 0x20
  val crcBytes = 4
  val leastBytes = 6

  val request = 0x51
  val repeat = 0x52
  val answer = 0x41

  val hello = 0
  val write = 2
  val readPacked = 3
  val hold = 4

  val ok = 0
  val slvErr = 1
  val malformed = 2
  val silent = 3
}
