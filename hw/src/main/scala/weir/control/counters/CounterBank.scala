package weir.control.counters
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** One event for a [[CounterBank]]: `length` bytes and one packet are added to the counter `first` of a queue, and to
  * `second` if `both`. The two are never the same, nor is a counter `first` in one event and `second` in another.
  */
case class CounterUpdate(c: WeirConfig, kinds: Int) extends Bundle {
  val queue = CounterBank.several(c) generate c.queueId
  val first, second = UInt(log2Up(kinds) bits)
  val both = Bool()
  val length = c.length
}

/** Pairs of 64-bit counters (packets, bytes) of every queue in one block RAM, with their snapshot in its other half.
  *
  * An event takes three cycles: two updates and a pause. Each update reads its entry (t), registers it (t+1), adds
  * and writes it (t+2); the next event reads from t+3 on, so no entry is read while an older update of it is under way
  * and no forwarding is needed.
  *
  * Snapshot: events that are in the FIFO at `take` are worked off, then every entry is copied, one a cycle, while
  * events that come after it wait: the copy is the state at the cycle of `take`, that cycle's event included. `clear`
  * empties the FIFO and writes zeros likewise.
  *
  * Limits: with events four or more cycles apart, and four beside, a sweep makes at most sweep/4 + 8 of them wait, the depth of the
  * FIFO; `busy` stays high until it has been empty once (three cycles an event drain faster than four fill), and
  * `take` is legal only while `busy` is low. No event is ever lost. (More events than that would be counted as waiting
  * and not be in the FIFO: `busy` would stay high until `clear`.)
  * Reset: as `clear`.
  *
  * @param kinds counters of a queue
  */
case class CounterBank(c: WeirConfig, kinds: Int) extends Component {
  private val entries = kinds << (if (CounterBank.several(c)) c.queueWidth else 0)
  private val indexWidth = log2Up(entries)
  private val depth = 1 << log2Up(entries / 4 + 8)

  val io = new Bundle {
    val update = slave(Flow(CounterUpdate(c, kinds)))
    /** pulse: the snapshot is the state after this cycle's update */
    val take = in(Bool())
    /** pulse: forget everything up to this cycle's update */
    val clear = in(Bool())
    /** [[CounterBank.index]], of the snapshot */
    val read = slave(Stream(UInt(indexWidth bits)))
    /** two or more cycles after `read` fires: bytes ## packets */
    val value = master(Flow(Bits(128 bits)))
    /** a sweep runs, or what has piled up meanwhile is not yet worked off */
    val busy = out(Bool())
    /** an update is under way */
    val active = out(Bool())
  }

  /** What one pass through the RAM does. */
  case class Operation() extends Bundle {
    val valid = Bool()
    val readAddress = UInt(indexWidth + 1 bits)
    val writeAddress = UInt(indexWidth + 1 bits)
    val write = Bool()
    /** start from 0, not from what was read */
    val zero = Bool()
    val packets = Bool()
    val bytes = c.length
    /** answers `io.read` */
    val answer = Bool()
  }

  object State extends SpinalEnum {
    /** events are worked off; operations before, and after, a sweep end; sweep */
    val run, before, sweep, after = newElement()
  }

  val queued = new Area {
    val fifo = StreamFifo(CounterUpdate(c, kinds), depth)
    fifo.io.push.valid := io.update.valid && !io.clear
    fifo.io.push.payload := io.update.payload
    fifo.io.flush := io.clear
    val update = fifo.io.pop.payload
    /** a snapshot is due: what comes belongs behind it */
    val behind = Bool()
    private def count = Reg(UInt(log2Up(depth + 1) bits)) init 0
    /** how many may be worked off: all, or those that came before the snapshot; and how many came later. That there are none is told by a
      * register each: the FIFO's pointers, and its RAM, are late
      */
    val left, later = count
    val none, noneLater = RegInit(True)
    val empty = none && noneLater
    private val comes = fifo.io.push.valid
    when(comes && !behind && !fifo.io.pop.fire) {
      left := left + 1
      none := False
    }
    when(!(comes && !behind) && fifo.io.pop.fire) {
      left := left - 1
      none := left === 1
    }
    when(comes && behind) {
      later := later + 1
      noneLater := False
    }
    /** the copy is made: what came later may be worked off */
    def release(): Unit = {
      left := later + comes.asUInt
      none := noneLater && !comes
      later := 0
      noneLater := True
    }
    def clear(): Unit = {
      left := 0
      none := True
      later := 0
      noneLater := True
    }
    val due = fifo.io.pop.valid && !none
  }

  val operation = new Area {
    val issued = Operation()
    /** a cycle later */
    private def after(stage: Operation): Operation = {
      val next = Reg(Operation()).allowOverride()
      when(stage.valid)(next := stage)
      next.valid init False
      next.valid := stage.valid
      next
    }
    val stage0 = after(issued)
    val stage1 = after(stage0)
    val stage2 = after(stage1)
    val idle = !stage0.valid && !stage1.valid && !stage2.valid
  }

  val control = new Area {
    val state = RegInit(State.before)
    val index = Reg(UInt(indexWidth bits)) init 0
    /** the sweep writes zeros; otherwise it copies */
    val clearing = RegInit(True)
    val copyDue = RegInit(False)
    /** the FIFO has been empty since the last sweep */
    val calm = RegInit(False)
    /** 0: first update of an event, 1: second, 2: pause */
    val phase = Reg(UInt(2 bits)) init 0

    val issued = operation.issued
    issued.valid := False
    issued.readAddress := 0
    issued.writeAddress := 0
    issued.write := True
    issued.zero := False
    issued.packets := False
    issued.bytes := 0
    issued.answer := False
    queued.fifo.io.pop.ready := False
    io.read.ready := False

    switch(state) {
      is(State.run) {
        val live = CounterBank.index(c, phase.lsb ? queued.update.second | queued.update.first, queued.update.queue)
        issued.readAddress := live.resized
        issued.writeAddress := live.resized
        issued.packets := True
        issued.bytes := queued.update.length
        when(phase === 0 && queued.due) {
          issued.valid := True
          phase := 1
        } elsewhen (phase === 1) {
          issued.valid := queued.update.both
          queued.fifo.io.pop.ready := True
          phase := 2
        } otherwise {
          phase := 0
          issued.valid := io.read.valid
          issued.readAddress := U(1, 1 bits) @@ io.read.payload
          issued.write := False
          issued.answer := True
          io.read.ready := True
          when(phase === 0 && copyDue && (queued.empty || queued.fifo.io.pop.valid)) {
            state := State.before
          }
        }
        when(queued.empty && !copyDue) { calm := True }
      }
      is(State.before) {
        index := 0
        when(operation.idle) { state := State.sweep }
      }
      is(State.sweep) {
        issued.valid := True
        issued.readAddress := U(0, 1 bits) @@ index
        issued.writeAddress := (!clearing).asUInt @@ index
        issued.zero := clearing
        index := index + 1
        when(index === entries - 1) { state := State.after }
      }
      is(State.after) {
        when(operation.idle) {
          state := State.run
          when(!clearing) {
            copyDue := False
            queued.release()
          }
          clearing := False
        }
      }
    }

    when(io.take) {
      copyDue := True
      calm := False
    }
    when(io.clear) {
      state := State.before
      clearing := True
      copyDue := False
      calm := False
      phase := 0
      queued.clear()
    }
    queued.behind := copyDue
  }

  val counters = new Area {
    val ram = Mem(Bits(128 bits), 1 << (indexWidth + 1))
    val found = ram.readSync(operation.stage0.readAddress, operation.stage0.valid)
    val old = RegNextWhen(operation.stage1.zero ? B(0, 128 bits) | found, operation.stage1.valid)
    val packets = old(63 downto 0).asUInt + operation.stage2.packets.asUInt
    val bytes = old(127 downto 64).asUInt + operation.stage2.bytes
    ram.write(
      address = operation.stage2.writeAddress,
      data = bytes ## packets,
      enable = operation.stage2.valid && operation.stage2.write
    )
  }

  io.value.valid := operation.stage2.valid && operation.stage2.answer
  io.value.payload := counters.old
  io.busy := control.state =/= State.run || control.copyDue || !control.calm
  io.active := !queued.empty || !operation.idle || control.phase =/= 0
}

object CounterBank {
  /** with one queue its number is no part of an index */
  def several(c: WeirConfig): Boolean = c.queues > 1

  def index(c: WeirConfig, kind: UInt, queue: => UInt): UInt = if (several(c)) kind @@ queue else kind
}
