package weir.control.registers
import spinal.core._
import weir.WeirConfig

/** Says what a word address is. Constant tables of 256 bits, indexed by the low 8 address bits: both kinds of block
  * have registers only in their first 0x400 bytes.
  */
case class RegisterDecoder(c: WeirConfig) extends Component {
  val io = new Bundle {
    val address = in UInt (RegisterMap.addressWidth - 2 bits)
    /** the access is to block 0; to the block of queue q */
    val core = out Bool()
    val queue = out Bits (c.queues bits)
    /** there is a register; it can be written; the counter unit answers its reads; it is a queue's configuration */
    val mapped, writable, counter, shadow = out Bool()
    /** its word is in [[StoredWords]] */
    val stored = out Bool()
  }

  private val blockBits = 8
  private val block = io.address(RegisterMap.addressWidth - 3 downto blockBits)
  private val word = io.address.resize(blockBits)
  private val firstQueue = RegisterMap.queueBase / RegisterMap.queueStride
  require(RegisterMap.queueStride == 4 << blockBits, "RegisterMap.queueStride must be 0x400: the decoder relies on it")

  io.core := block === 0
  for (q <- 0 until c.queues) io.queue(q) := block === firstQueue + q

  /** Whether the register at `word` satisfies `p`. */
  private def table(block: Block, p: Register => Boolean): Bool = {
    val words = block.built(c).filter(p).map(_.word)
    require(words.forall(_ < (1 << blockBits)), s"Block ${block.name} must fit into ${4 << blockBits} bytes")
    val bits = words.map(BigInt(1) << _).foldLeft(BigInt(0))(_ | _)
    B(bits, 1 << blockBits bits)(word)
  }
  private def both(p: Register => Boolean): Bool =
    io.core && table(RegisterMap.core, p) || io.queue.orR && table(RegisterMap.queue, p)

  io.mapped := both(_ => true)
  io.writable := both(_.access.writable)
  io.counter := both(_.kind == Kind.Counter)
  io.shadow := io.queue.orR && table(RegisterMap.queue, _.kind == Kind.Shadow)
  io.stored := io.shadow || io.core && table(RegisterMap.core, _.access == Access.ReadWrite)
}
