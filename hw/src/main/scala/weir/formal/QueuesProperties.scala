package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.buffer.{Grant, Link, Queues}

/** Every queue is first in, first out: a packet that is linked behind n others departs with the (n+1)-th grant of its
  * queue from then on, three cycles after it, with its own descriptor. A queue is ready only if it holds a packet.
  * The environment links any descriptor that is not in use at any time, and grants whatever is ready.
  *
  * @param leak takes the next head from the RAM even if there was none
  */
class QueuesProperties(c: WeirConfig, leak: Boolean) extends Properties {
  val dut: Queues = if (leak) new Queues(c) { granted.several.allowOverride() := True } else new Queues(c)
  val link = any(Flow(Link(c)))
  val grant = any(Flow(Grant(c)))
  dut.io.nowNs := 0
  dut.io.hold := False
  val barred = any(Bits(c.queues bits))
  dut.io.barred := barred
  dut.io.link << link
  dut.io.append.valid := link.valid
  dut.io.append.queue := link.queue
  dut.io.append.id := link.id
  dut.io.grant << grant
  val departure = dut.io.departure

  /** descriptors between link and departure */
  val used = Reg(Bits(c.descriptors bits)) init 0
  assume(!link.valid || !used(link.id))
  when(departure.valid)(used(departure.id) := False)
  when(link.valid)(used(link.id) := True)

  val ready = dut.io.ready
  assume(!grant.valid || ready(grant.queue))
  /** cycles since the last grant */
  val pause = Reg(UInt(2 bits)) init 0
  when(pause =/= 0)(pause := pause - 1)
  when(grant.valid)(pause := 3)
  assume(!grant.valid || pause === 0)

  /** packets of each queue */
  val groups = Vec.fill(c.queues)(Reg(UInt(c.descriptorWidth + 1 bits)) init 0)
  for (q <- 0 until c.queues) {
    val linked = link.valid && link.queue === q
    val left = grant.valid && grant.queue === q
    groups(q) := groups(q) + linked.asUInt - left.asUInt
  }

  /** One packet, which the solver chooses. */
  val watched = new Area {
    val start = any(Bool()) && link.valid
    val waiting, granted, done = RegInit(False)
    val queue = Reg(c.queueId)
    val id = Reg(c.descriptorId)
    val length = Reg(c.length)
    /** packets before it */
    val ahead = Reg(UInt(c.descriptorWidth + 1 bits))
    val cycles = Reg(UInt(2 bits)) init 0
    val passed = grant.valid && grant.queue === queue
    when(start && !waiting && !granted && !done) {
      waiting := True
      queue := link.queue
      id := link.id
      length := link.descriptor.length
      ahead := groups(link.queue) - (grant.valid && grant.queue === link.queue).asUInt
    }
    when(waiting && passed) {
      ahead := ahead - 1
      when(ahead === 0) {
        waiting := False
        granted := True
        cycles := 0
      }
    }
    when(granted) {
      cycles := cycles + 1
      when(cycles === 2) {
        granted := False
        done := True
      }
    }
    val leaves = granted && cycles === 2
  }

  /** a group is off its list the cycle after its grant */
  val before1 = RegNext(grant.valid) init False
  val queueBefore1 = RegNext(grant.queue)
  val before3 = Vec(Delay(grant.valid, 3, init = False), Delay(grant.discard, 3))
  val queueBefore3 = Delay(grant.queue, 3)

  when(running) {
    assert(departure.valid === before3(0))
    when(departure.valid) {
      assert(used(departure.id) && departure.queue === queueBefore3 && departure.discard === before3(1))
      when(watched.waiting)(assert(departure.id =/= watched.id))
    }
    when(watched.leaves) {
      assert(departure.valid && departure.id === watched.id && departure.queue === watched.queue)
      assert(departure.descriptor.length === watched.length)
    }
    for (q <- 0 until c.queues) {
      assert(groups(q) <= c.descriptors)
      assert(dut.io.empty(q) === (groups(q) === 0 && !(before1 && queueBefore1 === q)))
      when(ready(q))(assert(groups(q) =/= 0))
      assert(dut.io.departs(q) === (departure.valid && departure.queue === q))
      when(settled && !(before1 && queueBefore1 === q))(assert(dut.io.candidates(q) === (ready(q) && !before(barred(q)))))
    }
    assert(CountOne(used) <= c.descriptors)

    cover(groups(0) === c.descriptors)
    cover(watched.leaves && RegNextWhen(watched.ahead, watched.start) === 2)
    cover(grant.valid && link.valid && grant.queue === link.queue && groups(grant.queue) === 1)
    cover(departure.valid && link.valid && groups(0) =/= 0 && groups(1) =/= 0 && used === 7)
  }
}
