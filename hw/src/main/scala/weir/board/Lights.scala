package weir.board
import spinal.core._

object Lights {
  /** High for 2^width cycles after an event, for people to see. */
  def lasting(event: Bool, width: Int): Bool = {
    val left = Reg(UInt(width bits)) init 0
    when(left =/= 0)(left := left - 1)
    when(event)(left.setAll())
    left =/= 0
  }
}
