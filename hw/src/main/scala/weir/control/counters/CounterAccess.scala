package weir.control.counters
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.control.registers.CsrBus

/** The host's reads, one at a time: which counter an address is of, and the answer.
  *
  * Who has the counters reads one while `fetching`, and tells so by `taken`; some cycles later `found`, with the word.
  *
  * @param lines pairs of counters of the core from 0x200 on
  */
class CounterAccess(c: WeirConfig, bus: CsrBus, lines: Int, snapshotBusy: Bool, exists: Bool) extends Area {
  private object State extends SpinalEnum {
    val idle, decode, fetch, found, answer = newElement()
  }
  private val state = RegInit(State.idle)
  private val starts = state === State.idle && bus.valid
  private val address = RegNextWhen(bus.address, starts)
  private val write = RegNextWhen(bus.write, starts)
  val busy = state =/= State.idle

  /** the bits of the address that select a word in a block, and its line of 16 bytes */
  private val word = address(7 downto 0)
  private val line = word(7 downto 2)
  private val block = address(13 downto 8)
  private val inCore = block === 0 && !write
  private val inQueue = block >= 4 && block < 4 + c.queues && !write
  private val before = line === 0x1f
  private val exit = line >= 0x29 && line <= 0x2f
  private val isThrottled = word === 0x10c / 4 || word === 0x110 / 4
  private val isUptime = word(7 downto 1) === 0x118 / 8
  private val isHeld = word(7 downto 1) === 0x120 / 8
  private val isPair = line >= 0x20 && line < 0x20 + lines

  private def decoded[T <: Data](value: T): T = RegNextWhen(value, state === State.decode)
  val throttled = decoded(inCore && isThrottled)
  val uptime = decoded(inCore && isUptime)
  val held = decoded(inCore && isHeld)
  /** a pair of the core, by number */
  val pair = decoded(inCore && isPair)
  val number = decoded((line - 0x20).resize(log2Up(lines)))
  val arrival = decoded(inQueue && (before || line >= 0x20 && line < 0x29))
  val departure = decoded(inQueue && (exit || line >= 0x30))
  val arrivalKind = decoded(before ? U(ArrivalKind.nodrop, 4 bits) | line.resize(4))
  val departureKind = decoded(exit ? (line.resize(6) - 0x29 + DepartureKind.out) | word(5 downto 1).resize(6))
  val queue = decoded((block - 4).resize(c.queueWidth))
  /** the second 64 bits of a pair; a bin of the histogram is 8 bytes and has none */
  val bytes = decoded(line < 0x30 && word(1))
  /** the high word; 0x10C is the one counter that does not start on a multiple of 8 */
  val high = decoded(word(0) ^ isThrottled)
  private val known = throttled || uptime || held || pair || arrival || departure

  val fetching = state === State.fetch && !snapshotBusy
  val taken, found = Bool()
  val value = Bits(32 bits)
  private val answer = RegNextWhen(value, found)

  switch(state) {
    is(State.idle)(when(bus.valid)(state := State.decode))
    is(State.decode)(state := State.fetch)
    is(State.fetch) {
      when(taken)(state := State.found) elsewhen (fetching && !known)(state := State.answer)
    }
    is(State.found)(when(found)(state := State.answer))
    is(State.answer)(state := State.idle)
  }
  bus.ready := state === State.answer
  bus.rdata := (known && exists) ? answer | B(0, 32 bits)
  bus.error := !known
}
