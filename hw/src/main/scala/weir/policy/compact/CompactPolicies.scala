package weir.policy.compact
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{Fixed, PerQueue}
import weir.control.registers.QueueUnit
import weir.policy.{Action, Cause, Ecn, Policy, PolicyEngine, PolicyEvidence, PolicyUnit, QueueLeft}

/** All policies of a build, as programs of one engine. */
object CompactEngine extends PolicyEngine("compact") {
  def build(c: WeirConfig): PolicyUnit = new CompactPolicies(c)
  /** it prepares every queue after a reset */
  override def rests: Boolean = false
  val queues: Int = Layout.queues
  /** those that have a program */
  lazy val policies: Seq[Policy] = Programs.policies.map(_.policy)
  lazy val names: String = policies.map(_.name).mkString(", ")
}

/** The policies that the engine's programs are of, behind the ports of every policy engine.
  *
  * It takes a request while `ready`, whose fields stand for five cycles, and answers when its program has decided; the
  * commit comes one cycle after the verdict. Words of a configuration come while it is `ready` before `copying`, and
  * no request with them. Throughput and latency are the programs': docs/modules/compact.md. After a reset, and after
  * each `applied` or `clear`, it prepares the queue's words for some hundred cycles, and is not `ready`.
  */
class CompactPolicies(c: WeirConfig) extends PolicyUnit(c) {
  val ready = out Bool ()

  val image: Image = Programs()
  val engine = new Engine(c, image)
  private def entry(name: String): UInt = U(image.entry(name), image.addressWidth bits)

  /** queues whose words are to be prepared, that start anew before it; all do after a reset, with `idleSince` */
  val pending = new Area {
    val prepares, clears = Reg(Bits(c.queues bits)) init ((1 << c.queues) - 1)
    val resets = RegInit(True)
    val some = prepares.orR
    private val first = OHMasking.first(prepares)
    val queue = OHToUInt(first).resize(c.queueWidth)
    val go = some && !engine.io.busy && !io.copying
    val entries = Mux(resets, entry(Startup.reset), Mux((first & clears).orR, entry(Startup.clear), entry(Startup.prepare)))
    prepares := (prepares & ~Mux(go, first, B(0, c.queues bits))) | io.applied | io.clear
    clears := (clears & ~Mux(go, first, B(0, c.queues bits))) | io.clear
    when(!some)(resets := False)
  }

  val request = new Area {
    val takes = io.request.valid
    engine.io.start := takes || pending.go
    engine.io.queue := Mux(takes, io.request.queue, pending.queue)
    engine.io.entry := pending.entries
    when(takes) {
      engine.io.entry := entry(image.programs.collect { case p: PolicyProgram => p.policy.name }.head)
      for (p <- image.programs.collect { case p: PolicyProgram => p })
        when(io.request.policy === p.policy.id)(engine.io.entry := entry(p.policy.name))
    }
    engine.io.empty := RegNextWhen(io.request.empty, takes)
    engine.io.few := RegNextWhen(io.request.packets <= 1, takes)
    engine.io.acts := io.commit.valid && io.commit.acts
  }

  /** The request's words, one a cycle, and the words of a configuration. */
  val mail = new Area {
    val step = Reg(UInt(3 bits)) init 0
    when(request.takes)(step := 1) elsewhen (step =/= 0) {
      step := step + 1
      when(step === Input.all.size - 1)(step := 0)
    }
    private val quantity = PerQueue(io.unit, io.request.queue).mux(
      QueueUnit.packets -> io.request.packets.resize(c.quantityWidth),
      QueueUnit.frames -> io.request.frames.resize(c.quantityWidth),
      default -> io.request.bytes)
    private def word(value: UInt, shift: Int): Bits = (value << shift).resize(Layout.wordWidth).asBits
    private val words = Map[Input, Bits](
      Input.now -> word(io.request.nowNs, 0), Input.quantity -> word(quantity, 22), Input.length -> word(io.request.length, 0),
      Input.draw12 -> word(io.request.draw, 12), Input.draw10 -> word(io.request.draw, 10))
    engine.io.write.valid := request.takes || step =/= 0 || io.config.valid && io.config.word < Layout.rawWords
    engine.io.write.address := Layout.commonBase + step.resize(10 bits)
    engine.io.write.data := step.muxListDc(Input.all.map(i => (i.order, words(i))))
    when(io.config.valid) {
      engine.io.write.address := (io.config.queue.resize(2) @@ U(0, 1 bits) @@ io.config.word(4 downto 0)).resize(10)
      engine.io.write.data := io.config.data.resize(Layout.wordWidth)
    }
  }

  /** Packets that left, until the memory's port is free: a copy of a configuration keeps it for 32 cycles, and
    * departures are four apart.
    */
  val left = new Area {
    val fifo = StreamFifo(QueueLeft(c), 16)
    fifo.io.push.valid := io.left.valid
    fifo.io.push.payload := io.left.payload
    engine.io.left.valid := fifo.io.pop.valid
    engine.io.left.address :=
      (fifo.io.pop.payload.queue.resize(2) @@ U(image.layout.address(Startup.idleSince)._2, 6 bits)).resize(10)
    engine.io.left.data := fifo.io.pop.payload.nowNs.asBits
    fifo.io.pop.ready := engine.io.left.ready
    val some = fifo.io.occupancy =/= 0
  }

  /** A departure that the last stores keep waiting is in the memory before the next request reads it. */
  ready := !engine.io.busy && !pending.some && !left.some && !io.copying

  val answer = new Area {
    private def told(e: Evidence): Bool = engine.io.tells(Evidence.all.indexOf(e))
    val evidence = Reg(PolicyEvidence(c))
    when(request.takes) {
      evidence.count := 0
      evidence.probability := 0
      evidence.idleSlots := 0
      evidence.average := 0
    }
    when(told(Evidence.Average))(evidence.average := engine.io.told.resized)
    when(told(Evidence.Count))(evidence.count := engine.io.told.resized)
    when(told(Evidence.Probability))(evidence.probability := engine.io.told.resized)
    when(told(Evidence.Slots))(evidence.idleSlots := engine.io.told.resized)
    for (q <- 0 until c.queues) {
      val live = Reg(Fixed.average()) init 0
      when(told(Evidence.Average) && engine.io.running === q)(live := engine.io.told.resized)
      io.live(q) := live
    }

    private val ecn = RegNextWhen(io.request.ecn, request.takes)
    private val Seq(marks, hardDrop, noDrop) = engine.io.answers.asBools.toSeq
    val action = UInt(2 bits)
    action := Action.accept
    when(engine.io.selected) {
      action := Action.drop
      when(marks && !(engine.io.forced && hardDrop)) {
        when(noDrop || ecn === Ecn.ce)(action := Action.accept)
        when(ecn === Ecn.ect0 || ecn === Ecn.ect1)(action := Action.mark)
      }
    }
    io.verdict.valid := RegNext(engine.io.verdict) init False
    io.verdict.action := RegNext(action)
    io.verdict.cause := RegNext(Mux(engine.io.selected, Mux(engine.io.forced, U(Cause.forced, 3 bits), U(Cause.early, 3 bits)), U(Cause.none, 3 bits)))
    io.verdict.evidence := evidence
  }

  io.busy := engine.io.busy || pending.some || left.some
}
