package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** What moves the table's reader. */
case class PackTableStep() extends Bundle {
  /** entries that the beat after the next takes, 0 to 2 */
  val take = UInt(2 bits)
  /** of the group whose header or table is being sent */
  val count = UInt(9 bits)
  /** the header is being sent: `count` is valid */
  val header = Bool()
  /** the table ends with this beat */
  val last = Bool()
}

/** Entries of the tables, 1024 of them, read two at a time at any place: two block RAMs, for even and odd numbers.
  *
  * `pair` holds the next two entries. Two steps after `take` entries were announced `pair` moves on by as many; between
  * steps it stands still. At a group's last step its entries, all `count` of them, are given up.
  */
class PackTable(c: WeirConfig) extends Component {
  private val depth = 1024

  val io = new Bundle {
    val entry = slave(Stream(PackEntry(c)))
    val step = slave(Flow(PackTableStep()))
    /** as on the wire: the next one, and the one after it */
    val pair = out Vec (Bits(32 bits), 2)
    /** another table fits behind those that are on their way to it */
    val room = out Bool ()
    /** an entry is inside */
    val busy = out Bool ()
  }
  noIoPrefix()

  private def place = Reg(UInt(log2Up(depth) + 1 bits)) init 0
  /** entries that came, were read, were given up; and the end of the group that is being sent */
  val written, readAt, from, until = place

  io.entry.ready := written(9 downto 0) =/= from(9 downto 0) || written.msb === from.msb
  when(io.entry.fire)(written := written + 1)
  io.busy := written =/= from
  io.room := RegNext(written - from <= depth - PackTable.entries - PackTable.coming) init True

  private val step = io.step.valid
  when(step && io.step.header)(until := from + io.step.count)
  when(step)(readAt := readAt + io.step.take)
  when(step && io.step.last) {
    readAt := until
    from := until
  }

  private val line = BigEndian(io.entry.spacing, 2) ## BigEndian(io.entry.length, 2)
  /** a RAM with every second entry; what is read comes two steps later */
  private class Bank(number: Int, at: UInt) extends Area {
    val ram = Mem(Bits(32 bits), depth / 2)
    ram.write(written(9 downto 1), line, io.entry.fire && written(0) === Bool(number == 1))
    val found = ram.readSync(at, step)
    val entry = RegNextWhen(found, step)
  }
  private val even = new Bank(0, (readAt(9 downto 0) + 1)(9 downto 1)).setName("even")
  private val odd = new Bank(1, readAt(9 downto 1)).setName("odd")
  /** the next entry is an odd one */
  val swap = RegNextWhen(RegNextWhen(readAt(0), step), step)
  io.pair(0) := swap ? odd.entry | even.entry
  io.pair(1) := swap ? even.entry | odd.entry
}

object PackTable {
  /** of a table at most */
  val entries = 448
  /** entries whose packets have departed, but are not here yet: departures are four cycles apart, entries come four behind them */
  val coming = 4
}
