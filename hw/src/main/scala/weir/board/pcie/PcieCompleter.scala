package weir.board.pcie
import spinal.core._
import spinal.lib._
import spinal.lib.fsm._

/** Answers a host's reads and writes of a BAR, word by word, on the completer's streams of Xilinx's Gen3 block for PCI Express.
  *
  * Reads and writes of any length and with any byte enables, one request at a time and in their order. A read is answered by a
  * completion for each 64 bytes that it touches (the smallest read completion boundary), which begins when all of its words are there: the
  * block wants completions without a gap. A read of no byte is answered with a word and reads nothing. Other requests that
  * want an answer are unsupported (completion with UR and the request's header); messages are dropped.
  *
  * @param addressWidth bits of a byte address in the BAR; those above are the BAR's place and are not looked at
  */
class PcieCompleter(addressWidth: Int) extends Component {
  import PcieRequest._
  private val boundary = 16
  val cq = slave(Stream(PcieBeat(PcieBeat.requestUser)))
  val cc = master(Stream(PcieBeat(PcieBeat.completionUser)))
  val access = master(WordAccess(addressWidth))
  PcieBeat.name(cq, "s_axis_cq")
  PcieBeat.name(cc, "m_axis_cc")

  /** The request: its descriptor as it came, and what of it is left. */
  val request = new Area {
    val descriptor = Reg(Bits(128 bits))
    val firstBe, lastBe = Reg(Bits(4 bits))
    val address = Reg(UInt(addressWidth - 2 bits))
    val left = Reg(UInt(11 bits))
    val first = Reg(Bool())
    val kind = descriptor(78 downto 75).asUInt
    val one = left === 1
    val enables = (first ? firstBe | B"1111") & ((one && !(first && lastBe === 0)) ? lastBe | B"1111")
    def next(): Unit = {
      address := address + 1
      left := left - 1
      first := False
    }
  }

  private def lowest(enables: Bits): UInt =
    enables(0) ? U(0, 2 bits) | (enables(1) ? U(1, 2 bits) | (enables(2) ? U(2, 2 bits) | (enables(3) ? U(3, 2 bits) | U(0, 2 bits))))
  /** bytes behind the last one that is enabled */
  private def behind(enables: Bits): UInt =
    enables(3) ? U(0, 2 bits) | (enables(2) ? U(1, 2 bits) | (enables(1) ? U(2, 2 bits) | U(3, 2 bits)))

  /** A completion: of `words` words, or of the request's header if it is unsupported. */
  val completion = new Area {
    val words = Reg(UInt(5 bits))
    val filled = Reg(UInt(5 bits))
    val lower = Reg(UInt(7 bits))
    val bytes = Reg(UInt(13 bits))
    val refused = RegInit(False)
    val payload = Mem(Bits(32 bits), boundary)
    /** the dword that is at the front of the next beat */
    val at = Reg(UInt(5 bits))
    val length = refused ? U(5, 5 bits) | words
    val end = length + 3

    private val descriptor = request.descriptor
    private val head = Vec(
      B(0, 2 bits) ## (request.kind === readLocked) ## bytes ## B(0, 9 bits) ## lower,
      descriptor(95 downto 80) ## B(0, 2 bits) ## (refused ? B(unsupported, 3 bits) | B(successful, 3 bits)) ##
        (refused ? U(0, 11 bits) | words.resize(11 bits)),
      B(0, 1 bits) ## descriptor(126 downto 121) ## B(0, 9 bits) ## descriptor(111 downto 96))
    private val refusal = Vec(
      (request.lastBe ## request.firstBe).resize(32 bits), descriptor(31 downto 0), descriptor(63 downto 32),
      descriptor(95 downto 64), descriptor(127 downto 96))
    private def dword(index: UInt): Bits = {
      val inside = (index - 3).resize(4 bits)
      (index < 3) ? head(index.resize(2 bits)) | (refused ? refusal(inside.resize(3 bits)) | payload.readAsync(inside))
    }
    val beat = Stream(PcieBeat(PcieBeat.completionUser))
    beat.valid := False
    beat.tdata := dword(at + 1) ## dword(at)
    beat.tkeep := (at + 1 < end) ## True
    beat.tlast := at + 2 >= end
    beat.tuser := 0
    cc << beat.stage()
  }

  /** The words of a beat that are being written. */
  val taken = new Area {
    val data = Reg(Bits(64 bits))
    val second, last = Reg(Bool())
  }

  cq.ready := False
  access.valid := False
  access.write := request.kind === write
  access.address := request.address
  access.strobe := request.enables
  access.wdata := taken.second ? taken.data(63 downto 32) | taken.data(31 downto 0)

  val control: StateMachine = new StateMachine {
    val head: State = new State with EntryPoint
    val rest, skip, take, put, begin, measure, gather, send = new State

    head.whenIsActive {
      cq.ready := True
      request.descriptor(63 downto 0) := cq.tdata
      request.address := cq.tdata(addressWidth - 1 downto 2).asUInt
      request.firstBe := cq.tuser(3 downto 0)
      request.lastBe := cq.tuser(7 downto 4)
      request.first := True
      completion.refused := False
      when(cq.valid && !cq.tlast)(goto(rest))
    }
    rest.whenIsActive {
      cq.ready := True
      request.descriptor(127 downto 64) := cq.tdata
      request.left := cq.tdata(10 downto 0).asUInt
      when(cq.valid) {
        switch(cq.tdata(14 downto 11).asUInt) {
          is(write)(when(cq.tlast)(goto(head)) otherwise goto(take))
          is(read, readLocked)(goto(begin))
          default {
            completion.refused := cq.tdata(14 downto 11).asUInt < firstMessage
            when(!cq.tlast)(goto(skip)) elsewhen (cq.tdata(14 downto 11).asUInt < firstMessage)(goto(measure)) otherwise goto(head)
          }
        }
      }
    }
    skip.whenIsActive {
      cq.ready := True
      when(cq.valid && cq.tlast)(when(completion.refused)(goto(measure)) otherwise goto(head))
    }

    take.whenIsActive {
      cq.ready := True
      taken.data := cq.tdata
      taken.last := cq.tlast
      taken.second := False
      when(cq.valid)(goto(put))
    }
    put.whenIsActive {
      access.valid := request.enables =/= 0
      when(access.ready || request.enables === 0) {
        request.next()
        taken.second := True
        when(request.one || taken.second) {
          when(taken.last)(goto(head)) elsewhen (request.one)(goto(skip)) otherwise goto(take)
        }
      }
    }

    /** how many words are left up to the boundary */
    begin.whenIsActive {
      val room = U(boundary, 5 bits) - request.address(3 downto 0)
      completion.words := (request.left < room) ? request.left.resize(5 bits) | room
      completion.filled := 0
      goto(measure)
    }
    measure.whenIsActive {
      val start = request.first ? lowest(request.firstBe) | U(0, 2 bits)
      val alone = request.lastBe === 0
      completion.lower := (request.address(4 downto 0) @@ start).resized
      completion.bytes := (request.left @@ U(0, 2 bits)) - start - behind(alone ? request.firstBe | request.lastBe)
      completion.at := 0
      when(completion.refused) {
        completion.lower := 0
        completion.bytes := 4
        goto(send)
      } otherwise goto(gather)
    }
    gather.whenIsActive {
      access.valid := request.enables =/= 0
      when(access.ready || request.enables === 0) {
        completion.payload.write(completion.filled.resized, access.rdata)
        completion.filled := completion.filled + 1
        request.next()
        when(completion.filled + 1 === completion.words)(goto(send))
      }
    }
    send.whenIsActive {
      completion.beat.valid := True
      when(completion.beat.ready) {
        completion.at := completion.at + 2
        when(completion.beat.tlast) {
          when(completion.refused || request.left === 0)(goto(head)) otherwise goto(begin)
        }
      }
    }
  }
}
