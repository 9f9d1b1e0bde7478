package weir.control.registers
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** A word of a queue's configuration on its way from the shadow registers to whoever uses it. */
case class ConfigWrite(c: WeirConfig) extends Bundle {
  val queue = c.queueId
  /** [[Register.word]]: offset in the queue's block / 4 */
  val word = UInt(ConfigWrite.wordWidth bits)
  val data = Bits(32 bits)
}

object ConfigWrite {
  /** configuration lies in the first 0x200 bytes of a queue's block */
  val wordWidth = 7

  /** The same a cycle later: from the host's registers it is far, and neither a request nor a departure of the queue comes before that; a timer's
    * look at its interval around an apply counts for nothing. A reset of the data path does not stop it, as it does not stop an apply.
    */
  def later(config: Flow[ConfigWrite]): Flow[ConfigWrite] = {
    val told = cloneOf(config)
    told.valid := RegNext(config.valid)
    told.payload := RegNextWhen(config.payload, config.valid)
    told
  }
}

/** The live words of some registers for every queue, in distributed RAM: written as an apply copies them, read
  * combinationally. They hold nothing before the first apply, which the registers make of themselves after reset.
  */
class LiveWords(c: WeirConfig, registers: Seq[Register], write: Flow[ConfigWrite]) extends Area {
  private case class Word(register: Register) {
    val width: Int = register.mask.bitLength
    val memory: Mem[Bits] = Mem(Bits(width bits), c.queues max 2).setName(s"live_${register.name}")
    memory.write(
      write.queue.resized, write.data.resize(width), write.valid && write.word === register.word)
  }
  private val words = registers.map(r => r.name -> Word(r)).toMap

  /** The bits of a register that exist, of `queue`. */
  def apply(register: String, queue: UInt): Bits = words(register).memory.readAsync(queue.resized)

  def field(register: String, name: String, queue: UInt): Bits = {
    val f = words(register).register.field(name)
    apply(register, queue)(f.high downto f.low)
  }

  def flag(register: String, name: String, queue: UInt): Bool = field(register, name, queue).lsb

  def scaled(register: String, queue: UInt): Scaled = {
    val number = Scaled()
    number.mantissa := field(register, "MANTISSA", queue).asUInt
    number.exponent := field(register, "EXPONENT", queue).asUInt
    number
  }
}
