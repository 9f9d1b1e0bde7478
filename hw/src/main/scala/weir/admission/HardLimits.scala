package weir.admission
import spinal.core._
import weir.WeirConfig
import weir.common.CarrySave

/** What the limits have to know of an arrival and of its queue, at t0. */
case class LimitTerms(c: WeirConfig) extends Bundle {
  val limitBytes = c.quantity
  val limitPackets = c.count
  /** cells that the queue may use beside the shared ones */
  val reserve = UInt(15 bits)
  /** the queue drops from its head */
  val front = Bool()
  /** what the queue holds, and what of that is pending */
  val bytes = c.quantity
  val packets = c.count
  val cells = UInt(15 bits)
  /** of the arrival */
  val length = c.length
  val count = UInt(c.memberWidth bits)
  val needed = UInt(c.groupCellWidth bits)
  /** there is a descriptor for each of its packets */
  val described = Bool()
}

/** The limits in bytes, packets, cells and descriptors, against what the queue holds and what is pending. What they
  * refuse never enters `q`.
  *
  * `terms` and `asks` are of t0, from registers; `terms.cells`, `terms.reserve` and `terms.needed` stand at t1, too.
  * `judges` and `passes` are told at t1; `judged` and `refused` at t2. At t1 `sharedUsed` is of the fill that s0 saw.
  */
class HardLimits(c: WeirConfig, terms: LimitTerms, asks: Bool, sharedCells: UInt, sharedUsed: UInt) extends Area {
  private val needed = terms.needed.resize(16 bits)
  /** a queue that drops from its head makes room for whatever fits into it at all */
  private def counted(held: UInt): UInt = Mux(terms.front, U(0, widthOf(held) bits), held)
  private def exceeds(limit: UInt, sum: UInt*): Bool =
    CarrySave.difference(limit, sum.map(_ -> 0), widthOf(limit) + 2).msb
  val overBytes = RegNext(exceeds(terms.limitBytes, counted(terms.bytes), terms.length))
  val overPackets = RegNext(exceeds(terms.limitPackets, counted(terms.packets), terms.count))
  val undescribed = RegNext(!terms.described)

  /** cells beyond the queue's reserve, before and with the arrival */
  private val reserve = terms.reserve.resize(16 bits)
  val excess = RegNext(terms.cells.resize(16 bits).asSInt - reserve.asSInt)
  val excessThen = RegNext(CarrySave.difference(Seq(terms.cells, needed), Seq(terms.reserve -> 0), 16).asSInt)
  /** cells that it needs of the shared ones: none within the reserve, whatever the other queues hold */
  val shared = Mux(excess.msb, Mux(excessThen.msb, U(0, 16 bits), excessThen.asUInt), needed)
  val overShared = shared =/= 0 && exceeds(sharedCells.resize(16 bits), sharedUsed, shared)

  /** t1 */
  val judges = RegNext(asks) init False
  val passes = judges && !(overBytes || overPackets || undescribed || overShared)
  /** t2 */
  val judged = RegNext(judges) init False
  val refused = RegNext(judges && !passes) init False
}
