package weir.board.uart
import spinal.core._
import spinal.lib._

/** Words as the bytes of an answer: as they are, or packed by four with a byte of sizes in front.
  *
  * Collects a word, or up to four of them, then sends them before it takes the next one. `flush` sends a group that is not full; until it is `empty`
  * nothing else may go into the answer, and `packed` has to stay. A word takes four cycles and those of its bytes.
  */
class AnswerWords extends Component {
  val word = slave(Stream(Bits(32 bits)))
  val packed, flush = in Bool ()
  val empty = out Bool ()
  val byte = master(Stream(Bits(8 bits)))

  object Step extends SpinalEnum {
    val collect, store, sizes, send = newElement()
  }
  val step = RegInit(Step.collect)
  val count = Reg(UInt(3 bits)) init 0
  /** two bits a word: 0, 1, 2 or 4 bytes */
  val codes = Vec(Reg(Bits(2 bits)) init 0, 4)
  val value = Reg(Bits(32 bits))
  val memory = Mem(Bits(8 bits), 16)

  /** place of a byte: word, byte in the word */
  val at = new Area {
    val word, byte = Reg(UInt(2 bits)) init 0
    val code = codes(word)
    /** its number in the word, from 0 */
    val lastByte = (code === 3) ? U(3, 2 bits) | (code === 2).asUInt.resize(2 bits)
    val lastWord = word === (count - 1).resized
  }
  val full = packed ? count.msb | (count =/= 0)
  private def least(bits: Bits): Bits =
    Mux(bits(31 downto 16).orR, B(3, 2 bits), Mux(bits(15 downto 8).orR, B(2, 2 bits), bits(7 downto 0).orR.asBits.resize(2)))

  word.ready := step === Step.collect && !full && !flush
  empty := step === Step.collect && count === 0
  byte.valid := False
  byte.payload := (step === Step.sizes) ? codes.asBits | memory.readAsync(at.word @@ at.byte)
  memory.write(at.word @@ at.byte, value(7 downto 0), step === Step.store)

  switch(step) {
    is(Step.collect) {
      at.word := count.resized
      at.byte := 0
      when(word.fire) {
        value := word.payload
        codes(count.resized) := packed ? least(word.payload) | B(3, 2 bits)
        step := Step.store
      } elsewhen (full || (flush && count =/= 0)) {
        at.word := 0
        step := packed ? Step.sizes | Step.send
      }
    }
    is(Step.store) {
      value := value |>> 8
      at.byte := at.byte + 1
      when(at.byte === 3) {
        count := count + 1
        step := Step.collect
      }
    }
    is(Step.sizes) {
      byte.valid := True
      when(byte.ready)(step := Step.send)
    }
    is(Step.send) {
      byte.valid := at.code =/= 0
      when(byte.ready || at.code === 0) {
        at.byte := at.byte + 1
        when(at.code === 0 || at.byte === at.lastByte) {
          at.byte := 0
          at.word := at.word + 1
          when(at.lastWord) {
            count := 0
            codes.foreach(_ := 0)
            step := Step.collect
          }
        }
      }
    }
  }
}
