package weir.board.uart
import spinal.core._

/** What is fixed in a bridge between a serial line and registers ([[UartBridge]]).
  *
  * @param clockHz      frequency of the clock
  * @param baud         bits a second on the line, at most an eighth of the clock
  * @param cores        AXI4-Lite ports, 1 to 16
  * @param requestBytes longest request with its CRC, without stuffing, a power of two; there is room for two
  * @param patience     cycles that a core may take for an access, a power of two
  */
case class UartConfig(
    clockHz: Int,
    baud: Int = 1000000,
    cores: Int = 1,
    requestBytes: Int = 1024,
    patience: Int = 1 << 16
) {
  private def power(n: Int) = n > 0 && (n & (n - 1)) == 0

  require(baud > 0 && clockHz / baud >= 8,
    s"UartConfig.baud=$baud must be positive and at most an eighth of clockHz=$clockHz; try ${(clockHz / 8) min 1000000}")
  require(cores >= 1 && cores <= 16, s"UartConfig.cores=$cores must be 1 to 16; try 2")
  require(power(requestBytes) && requestBytes >= 64 && requestBytes <= 1024,
    s"UartConfig.requestBytes=$requestBytes must be a power of two from 64 to 1024; try 1024")
  require(power(patience) && patience >= 8, s"UartConfig.patience=$patience must be a power of two of 8 or more; try 65536")

  private val common: Int = BigInt(clockHz).gcd(baud).toInt
  /** A bit is `bitUnits` long, a cycle `cycleUnits`: exact for any pair of frequencies. */
  val bitUnits: Int = clockHz / common
  val cycleUnits: Int = baud / common

  val lengthWidth: Int = log2Up(requestBytes + 1)
  /** Answer to HELLO: magic, version of the protocol, longest request. */
  val greeting: Long = (0x57L << 24) | (Protocol.version << 16) | requestBytes
}
