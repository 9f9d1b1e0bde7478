package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The descriptor numbers that are not in use.
  *
  * Numbers are handed out for the first time by a counter, afterwards from a ring of those given back, so reset
  * writes no RAM. Throughput: one in four cycles taken and one a cycle given back. When none is left `take` is
  * not valid. At reset all are free.
  */
class DescriptorPool(c: WeirConfig) extends Component {
  val io = new Bundle {
    val take = master(Stream(c.descriptorId))
    val give = slave(Flow(c.descriptorId))
    /** numbers not in use, the one on offer included */
    val count = out(UInt(c.descriptorWidth + 1 bits))
  }
  noIoPrefix()

  private val ring = Mem(c.descriptorId, c.descriptors)

  val fresh = Reg(UInt(c.descriptorWidth + 1 bits)) init 0
  val anyFresh = !fresh.msb
  val given = new Area {
    val position = Reg(c.descriptorId) init 0
    ring.write(position, io.give.payload, io.give.valid)
    when(io.give.valid)(position := position + 1)
  }
  val taken = new Area {
    val position = Reg(c.descriptorId) init 0
  }
  val stored = Reg(UInt(c.descriptorWidth + 1 bits)) init 0

  val offer = new Area {
    val number = Reg(c.descriptorId)
    val valid = RegInit(False)
    val reading = RegInit(False)
    val read = !valid && !reading && !anyFresh && stored =/= 0
    val data = ring.readSync(taken.position, read)
    reading := read
    when(read)(taken.position := taken.position + 1)
    when(io.take.fire)(valid := False)
    when(!valid && anyFresh) {
      number := fresh.resized
      fresh := fresh + 1
      valid := True
    }
    when(reading) {
      number := data
      valid := True
    }
    io.take.valid := valid
    io.take.payload := number
  }

  when(io.give.valid && !offer.read)(stored := stored + 1)
  when(!io.give.valid && offer.read)(stored := stored - 1)

  val count = Reg(UInt(c.descriptorWidth + 1 bits)) init c.descriptors
  when(io.give.valid && !io.take.fire)(count := count + 1)
  when(!io.give.valid && io.take.fire)(count := count - 1)
  io.count := count
}
