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
  * A word is in the RAM two cycles after `write`; a read answers three cycles after `read` (registered address,
  * RAM, registered output), in order, one a cycle.
  */
class CellStore(c: WeirConfig) extends Component {
  val io = new Bundle {
    val write = slave(Flow(CellWrite(c)))
    val read = slave(Flow(CellRead(c)))
    val word = master(Flow(Bits(c.wordWidth bits)))
  }
  noIoPrefix()

  /** two RAMs: one of 128 bits would be made of 9-bit slices of a part of the cells each, with a multiplexer behind them */
  private val halves = Seq.fill(2)(Mem(Bits(c.dataWidth bits), c.cells * c.wordsPerCell))

  val writing = new Area {
    val valid = RegNext(io.write.valid) init False
    val address = RegNextWhen(io.write.cell @@ io.write.index, io.write.valid)
    val data = RegNextWhen(io.write.data, io.write.valid)
    for ((half, n) <- halves.zipWithIndex) half.write(address, data(n * c.dataWidth, c.dataWidth bits), valid)
  }

  val reading = new Area {
    val valid = RegNext(io.read.valid) init False
    val address = RegNextWhen(io.read.cell @@ io.read.index, io.read.valid)
    val data = Cat(halves.map(_.readSync(address, valid)))
    val answered = RegNext(valid) init False
    io.word.valid := RegNext(answered) init False
    io.word.payload := RegNextWhen(data, answered)
  }
}
