package weir.board.uart
import spinal.core._

/** The CRC-32 of Ethernet, a bit a cycle: a byte takes eight, far less than on the line. */
class SerialCrc extends Area {
  private val polynomial = 0xEDB88320L
  val state = Reg(Bits(32 bits)) init 0xFFFFFFFFL
  val data = Reg(Bits(8 bits))
  val left = Reg(UInt(4 bits)) init 0
  val busy = left =/= 0
  /** the payload and its CRC have gone in */
  val right = state === SerialCrc.residue

  when(busy) {
    state := (state |>> 1) ^ ((state(0) ^ data(0)) ? B(polynomial, 32 bits) | B(0, 32 bits))
    data := data |>> 1
    left := left - 1
  }
  def restart(): Unit = {
    state := 0xFFFFFFFFL
    left := 0
  }
  def feed(byte: Bits): Unit = {
    data := byte
    left := 8
  }
  /** The next byte of the CRC is the lowest one of `state`, inverted. */
  def skipByte(): Unit = state := state |>> 8
}

object SerialCrc {
  val residue: Long = 0xDEBB20E3L
}
