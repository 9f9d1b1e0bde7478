package weir.buffer
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** A word to be written: the `index`-th of its cell. */
case class CellWrite(c: WeirConfig) extends Bundle {
  val cell = c.cellId
  val index = UInt(log2Up(c.wordsPerCell) bits)
  val data = Bits(c.wordWidth bits)
}

/** A word to be read. */
case class CellRead(c: WeirConfig) extends Bundle {
  val cell = c.cellId
  val index = UInt(log2Up(c.wordsPerCell) bits)
}

/** The shared packet buffer: cells of four 128-bit words, one write and one read port.
  *
  * A word is in the RAM three cycles after `write`: a register where words come from, one at the RAMs, which lie all over an FPGA. In the core
  * nobody reads it for ten cycles at least. A read answers three cycles after `read` (registered address, RAM, registered output), in order, one a cycle.
  *
  * For an FPGA it is cut into slices that are as deep as the buffer ([[CellRam.sliceWidth]]): no multiplexer of
  * banks behind the RAMs, and a wire a bit.
  */
class CellRam(c: WeirConfig) extends Component {
  val io = new Bundle {
    val write = slave(Flow(CellWrite(c)))
    val read = slave(Flow(CellRead(c)))
    val word = master(Flow(Bits(c.wordWidth bits)))
  }
  noIoPrefix()

  private val depth = c.cells * c.wordsPerCell
  private val sliceWidth = CellRam.sliceWidth(depth).getOrElse(c.wordWidth)
  private val slices = Seq.fill(c.wordWidth / sliceWidth)(Mem(Bits(sliceWidth bits), depth))

  /** on its way to the RAMs */
  val coming = new Area {
    val valid = RegNext(io.write.valid) init False
    val address = RegNextWhen(io.write.cell @@ io.write.index, io.write.valid)
    val data = RegNextWhen(io.write.data, io.write.valid)
  }

  val writing = new Area {
    val valid = RegNext(coming.valid) init False
    val address = RegNextWhen(coming.address, coming.valid)
    val data = RegNextWhen(coming.data, coming.valid)
    for ((slice, bits) <- slices zip data.subdivideIn(sliceWidth bits)) slice.write(address, bits, valid)
  }

  val reading = new Area {
    val valid = RegNext(io.read.valid) init False
    val address = RegNextWhen(io.read.cell @@ io.read.index, io.read.valid)
    val data = Cat(slices.map(_.readSync(address, valid)))
    val answered = RegNext(valid) init False
    io.word.valid := RegNext(answered) init False
    io.word.payload := RegNextWhen(data, answered)
  }
}

object CellRam {
  /** bits of a block RAM of 16 Kibit beside parity that is so deep, 1 to 16; none if one is not deep enough */
  def sliceWidth(depth: Int): Option[Int] = Some((1 << 14) / depth min 16).filter(_ > 0)
}
