package weir.transmit
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.axis.AxisBeat
import weir.common.DeepFifo

/** Turns the words of granted packets into the beats of frames: a single packet as it is, a group as one jumbo frame
  * (docs/jumbo.md).
  *
  * A single frame's first beat leaves two cycles after its first word was offered, a jumbo frame's three cycles after
  * its third if nothing is before it; a beat a cycle. `beat.valid` does not fall inside a frame if a word is there in
  * every cycle from the frame's first on. Takes a word a cycle until 512 wait, and two tables of 448 entries.
  * Reset: silent from the next cycle.
  */
class JumboPack(c: WeirConfig) extends Component {
  val io = new Bundle {
    val group = slave(Stream(PackGroup(c)))
    val entry = slave(Stream(PackEntry(c)))
    val word = slave(Stream(PackWord(c)))
    /** the entries of another group have places */
    val room = out Bool ()
    val config = in(PackConfig())
    val beat = master(Stream(AxisBeat(c.dataWidth)))
    /** a frame's last beat was taken in the cycle before */
    val done = out Bool ()
    /** a frame's last word has been turned into beats: it is as good as sent */
    val left = out Bool ()
    /** so is one of its beats */
    val leaves = out Bool ()
    /** something is inside */
    val busy = out Bool ()
  }
  noIoPrefix()

  val realign = new PackRealign(c)
  realign.io.group << io.group
  realign.io.word << io.word

  val header = new PackHeader(c)
  header.io.config := io.config
  header.io.group << realign.io.opened
  header.io.word << realign.io.headerWord
  header.io.loads := realign.io.headerMay
  header.io.enough := realign.io.enough
  realign.io.headerBusy := header.io.busy

  val table = new PackTable(c)
  table.io.entry << io.entry
  io.room := table.io.room
  table.io.step << header.io.step
  header.io.pair := table.io.pair

  /** words on their way from the realigner to the beats */
  val waiting = new DeepFifo(PackedWord(c), 512)
  waiting.io.push << realign.io.packed

  /** A word becomes two beats, or one if it is the last and half full. A jumbo frame's first word waits for what goes
    * before it, and its lower half is joined with that if it begins in the midst of a beat.
    */
  val beats = new Area {
    private val width = c.dataWidth
    val word = waiting.io.pop.m2sPipe()
    val prefix = header.io.prefix
    val upper = RegInit(False)
    /** what goes before the word is being sent; the word is a jumbo frame's in transit, and has not been begun */
    val prefixing, starts = Reg(Bool())
    val bytes = word.lastBytes
    /** the next beat is the word's last one; so it is, and the word the frame's last one: in registers, for Egress is far and grants follow */
    val ends, finishes = RegInit(False)

    /** jumbo frames in transit of which enough words are there, and that have not been begun; no more than `patches` takes */
    val ready = Reg(UInt(7 bits)) init 0
    /** there is one */
    val some = RegInit(False)

    val sent = Stream(AxisBeat(width))
    val full = !word.last || bytes === 0
    private def kept(lane: Int) = if (lane == 15) full else full || bytes > lane
    val keep = B(for (lane <- 0 until 8) yield upper ? kept(lane + 8) | kept(lane))
    private def half(lane: Int) = upper ? word.data(width + 8 * lane, 8 bits) | word.data(8 * lane, 8 bits)
    /** jumbo frames in transit, as they were taken; Egress grants no more than 96 frames ahead */
    val patches = StreamFifo(PatchJob(c), 128, latency = 2)
    patches.io.push.valid := io.group.fire && io.group.grouped && io.group.transit
    patches.io.push.gone := io.group.gone
    patches.io.push.removed := io.group.removed
    patches.io.push.tags := io.group.tags
    patches.io.push.l3 := io.group.l3
    val patch = new TransitPatch(c)
    patch.io.job := patches.io.pop.payload
    patch.io.data := Cat(for (lane <- 0 until 8) yield half(lane))
    private val data = Cat(for (lane <- 0 until 8) yield keep(lane) ? patch.io.patched(8 * lane, 8 bits) | B(0, 8 bits))
    sent.valid := word.valid && (!prefixing || prefix.valid) && (!starts || some)
    sent.tdata := data
    sent.tkeep := keep
    sent.tlast := word.last && ends
    sent.tuser := 0
    when(prefixing) {
      sent.tdata(31 downto 0) := prefix.data(31 downto 0)
      when(!prefix.joint)(sent.tdata(63 downto 32) := prefix.data(63 downto 32))
      sent.tkeep.setAll()
    }
    prefix.ready := sent.ready && word.valid && prefixing
    word.ready := sent.ready && ends
    /** it is sent: nothing goes before its words */
    private val started = word.valid && starts && some && sent.ready
    patch.io.opens := starts
    patch.io.fire := sent.fire
    patches.io.pop.ready := started
    when(realign.io.enoughTransit && !started)(ready := ready + 1)
    when(!realign.io.enoughTransit && started)(ready := ready - 1)
    some := realign.io.enoughTransit || some && !(started && ready === 1)
    when(sent.fire) {
      upper := prefixing ? (prefix.last && prefix.joint) | !ends
      starts := False
      when(prefix.last)(prefixing := False)
    }
    val next = prefixing ? (prefix.last && (prefix.joint || word.half)) | True
    when(sent.fire && !ends) {
      ends := next
      finishes := next && word.last
    }
    when(waiting.io.pop.ready) {
      ends := waiting.io.pop.half && !waiting.io.pop.jumbo
      finishes := waiting.io.pop.valid && waiting.io.pop.half && !waiting.io.pop.jumbo
      prefixing := waiting.io.pop.jumbo
      starts := waiting.io.pop.transit
    }
    io.beat << sent.m2sPipe()
  }

  io.left := beats.finishes && beats.sent.ready
  io.leaves := beats.sent.fire
  io.done := RegNext(io.beat.fire && io.beat.tlast) init False
  io.busy := realign.io.busy || header.io.active || table.io.busy || waiting.io.busy || beats.word.valid ||
    io.beat.valid || io.done
}
