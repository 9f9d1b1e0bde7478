package weir.csr

import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** The queues' configuration: shadow words in a RAM, and the copy of a queue's words that an apply makes.
  *
  * One word a cycle is read; a copied word is at `config` two cycles after its read. A copy takes `words` + 3
  * cycles. After reset every word takes its reset value, one a cycle, and every queue is applied; `busy` is high meanwhile
  * and during a copy, and the host's access must wait.
  */
case class QueueShadows(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** the host's access, not while `busy`; `rdata` one cycle after the address */
    val queue = in(c.queueId)
    val address = in(UInt(ConfigWrite.wordWidth bits))
    val write = in Bool ()
    val wdata = in Bits (32 bits)
    val rdata = out Bits (32 bits)
    /** pulse: queue q is to be applied */
    val apply = in Bits (c.queues bits)
    val applyReady = in Bits (c.queues bits)
    val pending = out Bits (c.queues bits)
    val applied, clear = out Bits (c.queues bits)
    val config = master(Flow(ConfigWrite(c)))
    val live = out(Vec(QueueConfig(c), c.queues))
    /** a copy goes on: from two cycles before its first `config` to its `applied` */
    val copying = out Bool ()
    val busy = out Bool ()
    /** the applies that follow a reset are not done */
    val initial = out Bool ()
  }

  private val registers = RegisterMap.queue.built(c).filter(_.kind == Kind.Shadow)
  private val words = registers.map(_.word).max + 1
  private val memory = Mem(Bits(32 bits), c.queues << ConfigWrite.wordWidth)

  /** Reset values, one word of every queue at a time. */
  private val sweep = new Area {
    val done = RegInit(False)
    val queue = Reg(c.queueId) init 0
    val word = Reg(UInt(ConfigWrite.wordWidth bits)) init 0
    val value = registers.groupBy(_.reset.of(c)).filter(_._1 != 0).toSeq.sortBy(_._1).map { case (reset, same) =>
      Mux(same.map(word === _.word).orR, B(reset, 32 bits), B(0, 32 bits))
    }.reduceBalancedTree(_ | _)
    when(!done) {
      word := word + 1
      when(word === words - 1) {
        word := 0
        queue := queue + 1
        done := queue === c.queues - 1
      }
    }
  }

  private val initial = RegInit(True)
  private val pending = Reg(Bits(c.queues bits)) init B(c.queues bits, default -> True)

  private val copy = new Area {
    val active = RegInit(False)
    val queue = Reg(c.queueId) init 0
    val word = Reg(UInt(ConfigWrite.wordWidth bits)) init 0
    val last = word === words - 1
    val chosen = B(0, c.queues bits)
    when(pending.orR)(chosen := OHMasking.first(pending & io.applyReady))
    val reading = RegNext(active) init False
    val finishing = RegNext(io.config.valid && !reading) init False
    val busy = active || reading || io.config.valid || finishing
    when(!busy && sweep.done && chosen.orR) {
      active := True
      queue := OHToUInt(chosen).resized
      word := 0
    }
    when(active) {
      word := word + 1
      when(last)(active := False)
    }
  }

  memory.write(
    Mux(sweep.done, io.queue @@ io.address, sweep.queue @@ sweep.word).resized,
    Mux(sweep.done, io.wdata, sweep.value),
    !sweep.done || io.write)
  io.rdata := memory.readSync(Mux(copy.active, copy.queue @@ copy.word, io.queue @@ io.address).resized)

  io.config.valid := RegNext(copy.reading) init False
  io.config.queue := copy.queue
  io.config.word := RegNext(RegNext(copy.word))
  io.config.data := RegNext(io.rdata)

  io.initial := initial
  when(sweep.done && pending === 0)(initial := False)

  for (q <- 0 until c.queues) {
    val mine = io.config.valid && io.config.queue === q
    val word = QueueShadows.common(c).map { name =>
      val register = RegisterMap.queue(name)
      val value = Reg(Bits(32 bits)).setName(s"queue${q}_$name") init B(register.reset.of(c), 32 bits)
      when(io.config.valid)(when(io.config.queue === q && io.config.word === register.word) {
        value := io.config.data & B(register.mask, 32 bits)
      })
      name -> value
    }.toMap
    io.live(q) := LiveConfig.queue(c, word)

    val policy = RegisterMap.queue("POLICY")
    val changes = Reg(Bool())
    when(mine && io.config.word === policy.word) {
      val next = LiveConfig.queue(c, name => if (name == "POLICY") io.config.data else word(name))
      changes := initial || next.policy =/= io.live(q).policy || next.unit =/= io.live(q).unit
    }

    val done = copy.finishing && copy.queue === q
    when(done)(pending(q) := False)
    when(io.apply(q))(pending(q) := True)
    io.applied(q) := done
    io.clear(q) := done && changes
  }
  io.pending := pending
  io.copying := copy.busy
  io.busy := !sweep.done || copy.busy
}

object QueueShadows {
  /** words that the core itself uses; the others are their policy's */
  def common(c: WeirConfig): Seq[String] = Seq("POLICY", "LIMIT_BYTES", "LIMIT_PACKETS", "RESERVE_CELLS", "QUANTUM") ++
    (if (c.jumbo) Seq("MERGE", "MERGE_JFET", "MERGE_MAX_BYTES", "MERGE_MAX_SUM", "MERGE_MAX_COUNT", "MRED") else Nil)
}
