package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** Takes the words of frames: those of single frames pass unchanged in the same cycle; those of a group lose their
  * Ethernet headers and close ranks, behind an empty quad if the packets begin in the upper half of a beat.
  *
  * A word a cycle. A group's words leave a cycle after they came: each is turned so that its bytes come to the places
  * where they will stand, and then fills up what is left of the words before it. A group's first word is taken one cycle
  * after its group, a single frame's first word after a group when nothing of the group is inside: two cycles after its
  * last word, three if what was left needs a word of its own.
  */
class PackRealign(c: WeirConfig) extends Component {
  val io = new Bundle {
    val group = slave(Stream(PackGroup(c)))
    val word = slave(Stream(PackWord(c)))
    /** the header of the group before has not been passed on */
    val headerBusy = in Bool ()
    val opened = master(Flow(PackGroup(c)))
    /** its index and data stand before it is valid, too */
    val headerWord = master(Flow(PackHeaderWord(c)))
    /** `headerWord` is awaited, as registers tell */
    val headerMay = out Bool ()
    /** so many words of the group are there that it can be begun */
    val enough = out Bool ()
    /** of a jumbo frame in transit */
    val enoughTransit = out Bool ()
    val packed = master(Stream(PackedWord(c)))
    /** something is inside */
    val busy = out Bool ()
  }
  noIoPrefix()

  /** The frame whose words are next. */
  val frame = new Area {
    val open = RegInit(False)
    val grouped = Reg(Bool())
    val transit = Reg(Bool())
    io.group.ready := !open && !(io.group.grouped && io.headerBusy)
    val single = open ? !grouped | (io.group.valid && !io.group.grouped)
    when(io.group.fire) {
      open := True
      grouped := io.group.grouped
      transit := io.group.transit
    }
    val opens = io.group.fire && io.group.grouped
    io.opened.valid := opens && !io.group.transit
    io.opened.payload := io.group.payload
  }

  val turned = new Area {
    val valid = RegInit(False)
    val free = !valid || io.packed.ready
    /** what a group's last word left needs a word of its own */
    val rest = RegInit(False)
    val restBytes = Reg(UInt(4 bits))
  }

  val direct = frame.single && !turned.valid && !turned.rest
  val taking = frame.open && frame.grouped && turned.free && !turned.rest
  io.word.ready := direct ? io.packed.ready | taking
  val takes = io.word.valid && taking

  /** The packet whose words are next. */
  val packet = new Area {
    val tags = Reg(UInt(2 bits))
    val left = Reg(UInt(9 bits))
    val isFirst, isLast = Reg(Bool())
    /** the words are those of a header that goes as it is */
    val whole = frame.transit && isFirst
    /** number of the word, up to 3 */
    val place = Reg(UInt(2 bits))
    /** where its bytes go: byte i of a word to i + turn */
    val turn = Reg(UInt(4 bits))
    /** bytes left of the words before */
    val fill = Reg(UInt(4 bits))
    /** words that are needed before the frame is begun; it is one, it is not 0 */
    val needed = Reg(UInt(8 bits))
    val needsOne, needs = Reg(Bool())

    val ends = io.word.last && isLast
    /** bytes of the word that stay */
    val bytes = UInt(5 bits)
    private val lastBytes = (io.word.lastBytes === 0) ## io.word.lastBytes
    bytes := io.word.last ? lastBytes.asUInt | U(16, 5 bits)
    when(place === 0 && !whole)(bytes := (tags === 0) ? U(2, 5 bits) | U(0, 5 bits))
    when(place === 1 && !whole)(bytes := tags.mux(1 -> U(14, 5 bits), 2 -> U(10, 5 bits), default -> U(16, 5 bits)))
    val sum = fill.resize(5) + bytes
    /** `sum` is 16 or more, more than 16: without the adder, for the word's end is late */
    val full = bytes.msb || fill.asBools.zip(bytes.asBools).foldLeft(False: Bool) { case (carry, (a, b)) => a && b || carry && (a || b) }
    val over = full && bytes(3 downto 0) =/= U(0, 4 bits) - fill

    /** 2 - 4t: minus the Ethernet header's bytes, modulo 16 */
    private def headerTurn(tags: UInt) = (U(2, 4 bits) - (tags @@ U(0, 2 bits))).resize(4)
    when(takes) {
      fill := sum(3 downto 0)
      place := place + (place =/= 3).asUInt
      when(io.word.last) {
        place := 0
        isFirst := False
        left := left - 1
        isLast := left === 2
        turn := turn + io.word.lastBytes + headerTurn(tags)
      }
      when(needs)(needed := needed - 1)
      needsOne := needed === 2
      when(needsOne)(needs := False)
    }
    private val group = io.group.payload
    /** the packets begin in the upper half of a beat */
    private val start = (group.odd =/= group.count(0)) ? U(4, 4 bits) | U(0, 4 bits)
    when(frame.opens) {
      tags := group.tags
      left := group.packets
      isFirst := True
      isLast := group.packets === 1
      place := 0
      fill := start
      turn := start + headerTurn(group.tags)
      needed := 3
      needsOne := False
      needs := True
      // Behind two tags a packet of 27 bytes has four words for 3 7/8 beats with its entry.
      when(group.tags === 2)(needed := (group.packets >> 3) + U(3, needed.getWidth bits))
      // A table that comes in words costs a quarter of a word a packet, a packet of 20 bytes has three words for 2 1/2 beats.
      when(group.transit) {
        left := group.packets + 1
        isLast := False
        fill := 0
        turn := 0
        needed := ((group.packets >> 2) +^ (group.packets >> 3)).resize(needed.getWidth) + 4
      }
    }
    // also while none can be taken: what is shown then is shown until it is
    io.headerMay := frame.open && frame.grouped && isFirst && place =/= 3 && !frame.transit
    io.headerWord.valid := takes && io.headerMay
    io.headerWord.index := place
    io.headerWord.data := io.word.data
    private val enough = takes && (needsOne || needs && ends)
    io.enough := enough && !frame.transit
    io.enoughTransit := enough && frame.transit
  }
  when(io.word.fire && io.word.last && (packet.isLast || direct))(frame.open := False)

  /** A group's words, each with its bytes at their places. */
  val stage = new Area {
    // What loads with `taking` means something if `takes` made it valid: whether there is a word is known later.
    /** turns a word by 0 to 3 times so many bytes; the cycle model does so with `takes` only */
    private def turn(word: Bits, times: UInt, bytes: Int): Bits = {
      val result = Bits(c.wordWidth bits).assignDontCare()
      when(takes)(switch(times) {
        for (n <- 0 to 3) is(n)(result := word.rotateLeft(8 * bytes * n))
      })
      result
    }
    val data = RegNextWhen(turn(turn(io.word.data, packet.turn(3 downto 2), 4), packet.turn(1 downto 0), 1), taking)
    /** no word of the frame has left */
    val fresh = Reg(Bool())
    /** bytes that the words before have filled */
    val below = Reg(Bits(16 bits))
    val emits, jumbo, transit, last = Reg(Bool())
    val lastBytes = Reg(UInt(4 bits))

    when(turned.free)(turned.valid := False)
    when(taking) {
      below := False ## B(for (lane <- 0 until 15) yield packet.fill > lane)
      emits := packet.full || packet.ends
      jumbo := fresh && !frame.transit
      transit := fresh && frame.transit
      last := packet.ends && !packet.over
      lastBytes := packet.sum(3 downto 0)
    }
    when(takes) {
      turned.valid := True
      when(packet.full || packet.ends)(fresh := False)
      turned.rest := packet.ends && packet.over
      turned.restBytes := packet.sum(3 downto 0)
    }
    when(turned.rest && turned.free) {
      turned.valid := True
      turned.rest := False
      below.setAll()
      emits := True
      jumbo := False
      transit := False
      last := True
      lastBytes := turned.restBytes
    }
    when(frame.opens)(fresh := True)
  }

  val merged = new Area {
    val kept = Vec.fill(16)(Reg(Bits(8 bits)))
    private def came(lane: Int): Bits = stage.data(8 * lane, 8 bits)
    val full = Cat(for (lane <- 0 until 16) yield stage.below(lane) ? kept(lane) | came(lane))
    for (lane <- 0 until 16) when(turned.valid && io.packed.ready && (stage.emits || !stage.below(lane)))(kept(lane) := came(lane))
  }

  io.packed.valid := turned.valid ? stage.emits | (direct && io.word.valid)
  io.packed.data := turned.valid ? merged.full | io.word.data
  io.packed.jumbo := turned.valid && stage.jumbo
  io.packed.transit := turned.valid && stage.transit
  io.packed.last := turned.valid ? stage.last | io.word.last
  io.packed.lastBytes := turned.valid ? stage.lastBytes | io.word.lastBytes
  io.packed.half := turned.valid ? (stage.last && Half(stage.lastBytes)) | io.word.half
  io.busy := frame.open || turned.valid || turned.rest
}
