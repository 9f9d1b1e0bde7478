package weir.policy
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.control.registers.{ConfigWrite, Register, Scaled}

/** Registers of every queue that only a tick reads: one distributed RAM, read one word after the other.
  *
  * `word` is, a cycle after it was asked for, that of `queue`; unless another is asked for, the last of `registers`.
  */
class TickWords(c: WeirConfig, registers: Seq[Register], write: Flow[ConfigWrite], queue: UInt) extends Area {
  private val width = log2Up(registers.size)
  private val memory = Mem(Bits(32 bits), 1 << (width + c.queueWidth))
  private def at(queue: UInt, slot: UInt): UInt = queue.resize(c.queueWidth) @@ slot
  private def is(register: Register): Bool = write.word === register.word

  private val written = UInt(width bits)
  written := registers.size - 1
  for ((register, n) <- registers.zipWithIndex.init) when(is(register))(written := n)
  memory.write(at(write.queue, written), write.data, write.valid && registers.map(is).orR)

  private val slot = UInt(width bits)
  slot := registers.size - 1
  val word: Bits = RegNext(memory.readAsync(at(queue, slot)))

  def ask(name: String, when: Bool): Unit =
    spinal.core.when(when)(slot := registers.indexWhere(_.name == name))

  def scaled: Scaled = {
    val number = Scaled()
    number.mantissa := word(17 downto 0).asUInt
    number.exponent := word(29 downto 24).asUInt
    number
  }
}
