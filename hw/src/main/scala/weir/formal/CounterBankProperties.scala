package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.control.counters.{CounterBank, CounterUpdate}

/** No event is lost, none counted twice, whatever snapshots and clears come: a copied counter that is read is the sum of
  * its events up to the snapshot. A counter in the RAM is only ever added to, by what was asked, or zeroed by a clear.
  *
  * The environment is that of Counters: events four or more cycles apart, `take` and reads while `busy` is low, clears
  * at any time. There are two kinds, `first` in every event and `second` in some. Lengths are 1 and 4096, with `steps`
  * anything.
  *
  * @param steps only what is proved by induction: the RAM. It takes for granted that the FIFO gives what it was given
  * @param leak  an event's second update is lost while a snapshot waits; with `steps`, it
  *              counts no packet
  */
class CounterBankProperties(c: WeirConfig, steps: Boolean, leak: Boolean) extends Properties {
  private val kinds = 2
  private val apart = 4
  val dut: CounterBank = new CounterBank(c, kinds) {
    if (leak && steps) when(control.phase === 1)(control.issued.packets := False)
    if (leak && !steps) when(control.copyDue && queued.fifo.io.pop.fire)(operation.stage0.valid := False)
  }
  val update = any(Flow(CounterUpdate(c, kinds)))
  val pause = Reg(UInt(2 bits)) init 0
  when(pause =/= 0)(pause := pause - 1)
  when(update.valid)(pause := apart - 1)
  assume(!update.valid || pause === 0 && update.first === 0 && update.second === 1)
  if (!steps) assume(update.length === 1 || update.length === 4096)
  dut.io.update << update
  val take = any(Bool())
  val clear = any(Bool())
  assume(!take || !(dut.io.busy || clear))
  dut.io.take := take
  dut.io.clear := clear

  /** The counter that is watched. */
  val watched = new Area {
    val kind = some(UInt(1 bits))
    val queue = some(c.queueId)
    val address = kind @@ queue
    val hit = update.valid && update.queue === queue && Mux(kind === 0, True, update.both)
    val packets, bytes = Reg(UInt(64 bits)) init 0
    val packetsNow = packets + hit.asUInt
    val bytesNow = bytes + Mux(hit, update.length, U(0, c.lengthWidth bits))
    packets := clear ? U(0, 64 bits) | packetsNow
    bytes := clear ? U(0, 64 bits) | bytesNow
    val copiedPackets = RegNextWhen(packetsNow, take)
    val copiedBytes = RegNextWhen(bytesNow, take)
    /** there is a snapshot */
    val exists = RegInit(False) clearWhen clear setWhen take
    val events = Reg(UInt(3 bits)) init 0
    when(hit)(events := events + 1)
  }
  val read = any(Bool())
  assume(!read || watched.exists && !dut.io.busy && !clear && !take)
  dut.io.read.valid := read
  dut.io.read.payload := watched.address
  val asked = History(dut.io.read.fire, 1 to 3, init = False)
  assume(!clear || !asked.orR)

  private val operation = dut.operation
  val last = new Area {
    val valid = operation.stage2.valid.pull() && operation.stage2.write.pull()
    val zero = operation.stage2.zero.pull()
    val from = operation.stage2.readAddress.pull()
    val to = operation.stage2.writeAddress.pull()
    val packets = operation.stage2.packets.pull()
    val bytes = operation.stage2.bytes.pull()
  }
  val clearing = dut.control.clearing.pull()
  val popped = dut.queued.update.pull()

  when(running) {
    assert(dut.io.value.valid === asked(2))
    if (steps) inRam() else {
      when(update.valid)(assert(dut.queued.fifo.io.push.ready.pull()))
      when(asked(2))(assert(dut.io.value.payload === Delay(watched.copiedBytes ## watched.copiedPackets, 3)))
      cover(asked(2) && watched.copiedPackets === 2 && watched.packets === 3)
      cover(asked(2) && watched.copiedBytes === 4097)
      cover(clear && dut.io.busy && watched.exists)
    }
  }

  /** Step by step, what happens to the counters. */
  private def inRam(): Unit = {
    assume(popped.first === 0 && popped.second === 1)
    val stored = dut.rework {
      Vec((0 until 8).map(i => CombInit(dut.counters.ram.readAsync(U(i, 3 bits))))).setName("stored")
    }
    val cells = Vec(stored.map(_.pull()))
    val packets = Vec(cells.map(_(63 downto 0).asUInt))
    val bytes = Vec(cells.map(_(127 downto 64).asUInt))
    val whole = some(UInt(3 bits))
    if (leak) assume(whole === 2)
    val writes = last.valid && last.to === whole
    val copies = last.to.msb
    when(settled) {
      when(before(!writes))(assert(cells(whole) === before(cells(whole))))
      when(before(writes && last.zero))(assert(before(clearing) && cells(whole) === 0))
      when(before(writes && !last.zero && !copies)) {
        assert(packets(whole) === before(packets(whole) + 1) && before(last.packets))
        assert(bytes(whole) === before(bytes(whole) + last.bytes))
      }
      when(before(writes && !last.zero && copies)) {
        assert(cells(whole) === before(cells(last.from)) && before(!last.from.msb))
      }
    }
    cover(settled && before(writes && copies) && packets(whole) === 2)
    cover(settled && before(writes && last.zero && packets(whole) === 1))
  }
}
