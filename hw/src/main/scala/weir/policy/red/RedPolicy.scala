package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{PerQueue, ValidPipeline}
import weir.control.registers.{ConfigWrite, QueueUnit}
import weir.policy.{GatedEngine, Policy, PolicyRequest, PolicyUnit}

/** RED, and if they are built ISRED and adaptive RED: the average and the decision, for every queue.
  *
  * Latency: the verdict is valid 10 cycles after its request, that of a request that finds its queue empty
  * `RedFamily.afterwards` later; the commit is due one cycle after the verdict. Throughput: a request every 4 cycles,
  * as [[PolicyPorts]] counts them. Parameters are live words in RAM, read in the stages that use them; they hold
  * nothing before the first apply of a queue. A request comes two cycles after its queue's `applied` or `clear`, or
  * later.
  */
class RedPolicy(c: WeirConfig) extends PolicyUnit(c) {
  /** a cycle later, but for ticks: from the host's registers it is far */
  private val told = ConfigWrite.later(io.config)
  private val clear = RegNext(io.clear) init 0

  val decay = IdleDecay(c)
  decay.io.config << told
  decay.io.left << io.left
  decay.io.request << io.request

  /** What found its queue empty, until its decay is known. */
  val deferred = new Area {
    private val places = 4
    require(IdleDecay.latency <= 4 * places,
      s"requests come 4 cycles apart: $places do not last ${IdleDecay.latency} cycles")
    private val steps = new ValidPipeline(io.request.valid && io.request.empty, IdleDecay.latency)
    private val comes = steps(IdleDecay.latency - 1)
    private val written, read = Reg(UInt(log2Up(places) bits)) init 0
    private val memory = Mem(PolicyRequest(c), places)
    memory.write(written, io.request.payload, steps(0))
    when(steps(0))(written := written + 1)
    when(comes)(read := read + 1)
    val request = Flow(PolicyRequest(c))
    request.valid := steps(IdleDecay.latency)
    request.payload := RegNextWhen(memory.readAsync(read), comes)
    // it found nothing
    for (quantity <- Seq(request.bytes, request.packets, request.frames)) {
      quantity.allowOverride()
      quantity := 0
    }
    request.empty.allowOverride() := True
  }

  /** t0: requests that are decided about, and those that were deferred */
  val request = Flow(PolicyRequest(c))
  request.valid := io.request.valid && !io.request.empty || deferred.request.valid
  request.payload := Mux(deferred.request.valid, deferred.request.payload, io.request.payload)

  private val quantity = PerQueue(io.unit, request.queue).mux(
    QueueUnit.packets -> request.packets.resize(c.quantityWidth),
    QueueUnit.frames -> request.frames.resize(c.quantityWidth),
    default -> request.bytes
  )

  val ewma = Ewma(c)
  ewma.io.config << told
  ewma.io.request << request
  ewma.io.factor := decay.io.factor
  ewma.io.clear := clear
  ewma.io.quantity := quantity
  io.live := ewma.io.live

  val red = Red(c)
  red.io.config << told
  red.io.request << request
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
  val adapt = c.has(Policy.Ared) generate GatedEngine.clock("ared", adaptEnable)(AdaptMaxP(c))
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
