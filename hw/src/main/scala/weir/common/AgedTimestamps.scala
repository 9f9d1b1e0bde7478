package weir.common
import spinal.core._
import weir.WeirConfig

/** A point of time of each queue, in distributed RAM, that stays in the past however long the queue rests.
  *
  * Time is modular in 2^48 ns; a difference of two times has a sign only up to 2^47. The two highest bits of a
  * time are its epoch of 2^46 ns. A time whose epoch is two before the present becomes `old` and stays so: it is more than
  * 2^46 ns past. The others may be compared by a modular difference. Every epoch has to be seen: time must not advance by more than to
  * `wake` in one cycle while a time is not old. After reset all are old.
  */
class AgedTimestamps(c: WeirConfig, nowNs: UInt) extends Area {
  private val memory = Mem(c.time, c.queues max 2)
  private val epochs = Vec.fill(c.queues)(Reg(UInt(2 bits)))
  val old = Reg(Bits(c.queues bits)) init B(c.queues bits, default -> True)
  private val present = RegNext(nowNs(47 downto 46)) init 0

  for (q <- 0 until c.queues) when(present - epochs(q) === 2)(old(q) := True)

  def read(queue: UInt): UInt = memory.readAsync(queue.resized)

  /** The time of `queue` becomes `value`, which is old already if `isOld`. To be called once. */
  def write(valid: Bool, queue: UInt, value: UInt, isOld: Bool): Unit = {
    memory.write(queue.resized, value, valid)
    for (q <- 0 until c.queues) when(valid && queue === q) {
      epochs(q) := value(47 downto 46)
      old(q) := isOld
    }
  }

  /** The time of these queues becomes old, whatever it was. */
  def forget(queues: Bits): Unit = for (q <- 0 until c.queues) when(queues(q))(old(q) := True)

  /** some time still ages */
  def ages: Bool = !old.andR
  /** when the next epoch begins */
  def wake: UInt = (present + 1) @@ U(0, 46 bits)
}
