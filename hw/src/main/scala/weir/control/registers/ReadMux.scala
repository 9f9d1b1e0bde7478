package weir.control.registers
import spinal.core._
import spinal.lib._

/** A wide read multiplexer in two levels with a register between them: AND-OR of words in groups of
  * `groupSize`, each into a register; then AND-OR of the groups of the selected block.
  *
  * @param blocks per block: whether it is selected, and its words, each with whether its address fits
  * @param enable the cycle of the hits, in which the groups are read
  */
class ReadMux(blocks: Seq[(Bool, Seq[(Bool, Bits)])], enable: Bool, groupSize: Int = 8) extends Area {
  private def andOr(words: Seq[(Bool, Bits)]): Bits =
    words.map { case (hit, word) => Mux(hit, word, B(0, 32 bits)) }.reduceBalancedTree(_ | _)

  private val groups = for ((selected, words) <- blocks; group <- words.grouped(groupSize)) yield selected -> group
  val gathered = Vec(groups.map { case (_, group) => RegNextWhen(andOr(group), enable) })
  /** from the cycle after `enable`; the selections must still stand */
  val data: Bits = andOr(groups.map(_._1).zip(gathered))
}
