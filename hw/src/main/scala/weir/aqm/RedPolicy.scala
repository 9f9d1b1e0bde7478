package weir.aqm

import spinal.core._
import spinal.lib._
import weir.{Policy, WeirConfig}
import weir.csr.{ConfigWrite, QueueUnit}

/** RED, and if they are built ISRED and adaptive RED: the average and the decision, for every queue.
  *
  * Latency: the verdict is valid 10 cycles after its request; the commit is due one cycle later. Throughput: a request
  * every 4 cycles. A request of a queue with `stall` high should wait if it finds the queue empty; it takes the idle time
  * for 0 if it does not. Parameters are live words in RAM, read in the stages that use them; they hold nothing before the
  * first apply of a queue. A request comes two cycles after its queue's `applied` or `clear`, or later.
  */
class RedPolicy(c: WeirConfig) extends PolicyUnit(c) {
  private val quantity = PerQueue(io.unit, io.request.queue).mux(
    QueueUnit.packets -> io.request.packets.resize(c.quantityWidth),
    QueueUnit.frames -> io.request.frames.resize(c.quantityWidth),
    default -> io.request.bytes
  )

  /** a cycle later, but for the decay over idle time, whose hints may come at any time, and ticks: from the host's registers it is far */
  private val told = ConfigWrite.later(io.config)
  private val clear = RegNext(io.clear) init 0

  val ewma = Ewma(c)
  ewma.io.config << io.config
  ewma.io.hint << io.hint
  ewma.io.withdraw := io.withdraw
  ewma.io.forget := io.forget
  ewma.io.emptied := io.emptied
  ewma.io.applied := io.applied
  ewma.io.nowNs := io.nowNs
  ewma.io.request << io.request
  ewma.io.clear := clear
  ewma.io.quantity := quantity
  io.stall := ewma.io.stall
  io.live := ewma.io.live

  val red = Red(c)
  red.io.config << told
  red.io.request << io.request
  red.io.average := ewma.io.average
  red.io.belowMinimum := ewma.io.belowMinimum
  red.io.belowMaximum := ewma.io.belowMaximum
  red.io.belowDouble := ewma.io.belowDouble
  red.io.idleSlots := ewma.io.idleSlots
  red.io.commit << io.commit
  red.io.clear := clear
  io.verdict << red.io.verdict

  if (c.has(Policy.Isred)) {
    red.io.quantity := quantity
    red.io.previous := ewma.io.previous
  }

  /** in the cycle model `adapt` stands still while no queue is adaptive */
  val adaptEnable = c.has(Policy.Ared) generate Bool()
  val adapt = c.has(Policy.Ared) generate Resting.clock(c, adaptEnable)(AdaptMaxP(c))
  if (c.has(Policy.Ared)) {
    adapt.io.nowNs := io.nowNs
    adapt.io.config << io.config
    adapt.io.selected := io.selected
    adapt.io.renew := io.applied | io.clear
    adapt.io.averages := ewma.io.live
    adapt.io.stored << ewma.io.stored
    adapt.io.queue := red.io.adaptedQueue
    red.io.adapted << adapt.io.slopes
    adaptEnable := RegNext(io.copying || adapt.io.active) init True
    io.busy := adapt.io.busy
    io.tick << adapt.io.tick
  }
}
