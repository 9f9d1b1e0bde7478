package weir.common
import spinal.core._
import spinal.lib._

/** A long FIFO: a block RAM with a short FIFO behind it.
  *
  * Latency 0 while nothing is in the RAM: what comes goes straight to the short FIFO. If that is full it goes by the RAM, and
  * comes out 3 cycles later, or when its turn has come, until the RAM is empty again. One a cycle in and out.
  * Holds `depth` and up to 16 more. `push.ready` comes from a register.
  *
  * @param depth a power of two
  */
class DeepFifo[T <: Data](payload: HardType[T], depth: Int) extends Component {
  val io = new Bundle {
    val push = slave(Stream(payload()))
    val pop = master(Stream(payload()))
    /** something is inside */
    val busy = out Bool ()
  }
  noIoPrefix()

  val ahead = new ShortFifo(payload(), 16)
  io.pop << ahead.io.pop

  val ram = new Area {
    val words = Mem(payload, depth)
    /** what is in the RAM and on its way out of it; msb: full */
    val stored = Reg(UInt(log2Up(depth) + 1 bits)) init 0
    /** nothing is: what comes goes to the short FIFO */
    val straight = RegInit(True)
    val writeAt, readAt = Reg(UInt(log2Up(depth) + 1 bits)) init 0

    io.push.ready := !stored.msb
    val write = io.push.fire && !(straight && ahead.io.push.ready)
    words.write(writeAt.resized, io.push.payload, write)
    when(write)(writeAt := writeAt + 1)

    // Three may be on their way to the eight places that are left.
    val read = writeAt =/= readAt && ahead.io.occupancy < 8
    val found = words.readSync(readAt.resized, read)
    when(read)(readAt := readAt + 1)
    val finding = RegNext(read) init False
    val word = RegNextWhen(found, finding)
    val arrives = RegNext(finding) init False

    when(write && !arrives)(stored := stored + 1)
    when(!write && arrives)(stored := stored - 1)
    when(write)(straight := False) elsewhen (arrives && stored === 1)(straight := True)
  }

  ahead.io.push.valid := ram.straight ? io.push.valid | ram.arrives
  ahead.io.push.payload := ram.straight ? io.push.payload | ram.word
  io.busy := !ram.straight || ahead.io.occupancy =/= 0
}
