package weir.common
import spinal.core._
import spinal.lib._

/** A FIFO of a few words in distributed RAM, as a `StreamFifo` with asynchronous read and bypass is: what comes to it while it holds nothing goes
  * straight on. Whether it is empty or full comes from a register each, not from a comparison of pointers: what is behind it is long.
  *
  * Latency 0, one a cycle in and out.
  *
  * @param depth a power of two
  */
class ShortFifo[T <: Data](payload: HardType[T], val depth: Int) extends Component {
  val io = new Bundle {
    val push = slave(Stream(payload()))
    val pop = master(Stream(payload()))
    val occupancy = out UInt (log2Up(depth + 1) bits)
  }
  noIoPrefix()
  require(isPow2(depth) && depth > 1, s"a FIFO of $depth words: 2, 4, 8 …")

  val words = Mem(payload, depth)
  val count = Reg(UInt(log2Up(depth + 1) bits)) init 0
  /** `count` is 0, is `depth` */
  val none = RegInit(True)
  val full = RegInit(False)
  val writeAt, readAt = Reg(UInt(log2Up(depth) bits)) init 0

  io.push.ready := !full
  io.pop.valid := !none || io.push.valid
  io.pop.payload := none ? io.push.payload | words.readAsync(readAt)
  io.occupancy := count

  private val adds = io.push.valid && !full
  val stores = adds && !(none && io.pop.ready)
  val takes = io.pop.ready && !none
  // the place is free: what is not stored may be written to it
  words.write(writeAt, io.push.payload, adds)
  when(stores)(writeAt := writeAt + 1)
  when(takes)(readAt := readAt + 1)
  // that something comes, or is taken, is known last: it only chooses
  count := Mux(io.pop.ready, Mux(none || adds, count, count - 1), Mux(adds, count + 1, count))
  none := Mux(io.pop.ready, none || count === 1 && !io.push.valid, none && !io.push.valid)
  full := !io.pop.ready && (full || io.push.valid && count === depth - 1)
}
