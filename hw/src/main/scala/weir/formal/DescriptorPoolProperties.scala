package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.DescriptorPool

/** No descriptor is handed out while it is held, none is lost, and the ring of those given back never overflows.
  * The environment takes whenever it likes and gives back any one that it holds.
  *
  * @param leak gives one back without telling the ring
  */
class DescriptorPoolProperties(c: WeirConfig, leak: Boolean) extends Properties {
  val dut = new DescriptorPool(c)
  val held = Reg(Bits(c.descriptors bits)) init 0
  val giving = any(Bool())
  val given = any(c.descriptorId)
  assume(!giving || held(given))
  dut.io.take.ready := any(Bool())
  val lost = RegInit(False)
  if (leak) when(giving)(lost := True)
  dut.io.give.valid := giving && (if (leak) lost else True)
  dut.io.give.payload := given

  val taken = dut.io.take.payload
  when(giving)(held(given) := False)
  when(dut.io.take.fire)(held(taken) := True)

  val stored = dut.stored.pull()
  /** cycles in which nothing was on offer, taken or given */
  val starved = Reg(UInt(2 bits)) init 0
  when(dut.io.take.valid || giving)(starved := 0) elsewhen (!starved.andR)(starved := starved + 1)
  val idle = new AxisRules(dut.io.take, settled)
  idle.asserted()

  when(running) {
    // none twice
    when(dut.io.take.valid)(assert(!held(taken)))
    // held + free = all
    assert(dut.io.count +^ CountOne(held) === c.descriptors)
    assert(stored < c.descriptors)
    // what looks exhausted is exhausted
    when(starved.andR)(assert(held.andR))

    cover(starved.andR)
    cover(stored === c.descriptors - 1)
    cover(dut.io.take.fire && giving && stored === 2)
    cover(dut.io.take.fire && taken === 1 && dut.taken.position.pull() === 2)
  }
}
