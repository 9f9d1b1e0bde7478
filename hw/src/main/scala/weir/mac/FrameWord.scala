package weir.mac
import spinal.core._
import weir.axis.AxisBeat

/** A beat of 64 bits as clock-crossing FIFOs keep it: 69 bits. */
case class FrameWord() extends Bundle {
  val data = Bits(64 bits)
  val last = Bool()
  /** on the last word: the frame is bad */
  val bad = Bool()
  /** bytes less one, 7 on all but the last word */
  val count = UInt(3 bits)

  def beat: AxisBeat = {
    val made = AxisBeat(64)
    made.tdata := data
    made.tkeep := Vec((0 until 8).map(n => B((2 << n) - 1, 8 bits)))(count)
    made.tlast := last
    made.tuser(0) := bad
    made
  }
}

object FrameWord {
  def of(beat: AxisBeat): FrameWord = {
    val word = FrameWord()
    word.data := beat.tdata
    word.last := beat.tlast
    word.bad := beat.tlast && beat.tuser(0)
    word.count := 7
    for (n <- 6 to 0 by -1) when(!beat.tkeep(n + 1))(word.count := n)
    word
  }
}
