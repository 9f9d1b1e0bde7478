package weir.board.uart
import spinal.core._
import spinal.lib._
import weir.control.registers.RegisterMap

/** Carries out requests and answers them, as docs/register-protocol.md says.
  *
  * A request is walked through twice. The first walk looks whether it is malformed and accesses nothing; the second one reads and
  * writes, and sends the data meanwhile. What a repeated request is answered from are its number, words done and status, kept
  * since the last one that was carried out.
  *
  * A walk takes 3 cycles a byte, and 4 an operation; the first one leaves data of writes out. docs/modules/uart.md has the cycles.
  */
class Executor(c: UartConfig) extends Component {
  val request = slave(Stream(UInt(c.lengthWidth bits)))
  val read = new Bundle {
    val address = out UInt (log2Up(c.requestBytes) bits)
    val data = in Bits (8 bits)
  }
  val access = Vec(master(Access()), c.cores)
  val answer = master(Stream(Fragment(Bits(8 bits))))

  object Step extends SpinalEnum {
    val idle, kind, number, operation, addressLow, addressHigh, count, settle, weigh, judge, head, choose, data, access, keep, flush,
        trailer = newElement()
  }
  private val countWidth = log2Up(Protocol.mostWords + 1)
  private def pay(byte: Bits, last: Bool = False): Unit = {
    answer.valid := True
    answer.fragment := byte
    answer.last := last
  }

  val step = RegInit(Step.idle)
  val reader = new RequestReader(c)
  reader.length := request.payload
  reader.read.data := read.data
  read.address := reader.read.address
  reader.byte.ready := False
  reader.seek.valid := False
  reader.seek.payload := 0
  reader.skip.valid := False

  val words = new AnswerWords
  words.word.valid := step === Step.keep
  words.flush := step === Step.flush
  answer.valid := words.byte.valid
  answer.fragment := words.byte.payload
  answer.last := False
  words.byte.ready := answer.ready
  request.ready := False

  /** of the request */
  val whole = new Area {
    val number = Reg(Bits(8 bits))
    /** the kind says so; it is the last one that was carried out */
    val repeated, again = Reg(Bool())
    val checking, malformed = Reg(Bool())
    /** no operation has been found */
    val empty = Reg(Bool())
    val status = Reg(Bits(2 bits))
    /** words of the operations checked so far, or done so far */
    val moved = Reg(UInt(countWidth bits))
    /** nothing more is done */
    val stopped = Reg(Bool())
    /** of a byte of head or trailer */
    val index = Reg(UInt(2 bits))
  }

  /** The last request that was carried out. */
  val last = new Area {
    val known = RegInit(False)
    val number = Reg(Bits(8 bits))
    val moved = Reg(UInt(countWidth bits))
    val status = Reg(Bits(2 bits))
  }

  /** The operation at work. */
  val op = new Area {
    val code = Reg(Bits(8 bits))
    /** 17 bits: one step beyond the space */
    val address = Reg(UInt(RegisterMap.addressWidth + 1 bits))
    val left = Reg(UInt(8 bits))
    val value = Reg(Bits(32 bits))
    val isHello = code(3 downto 0) === Protocol.hello
    val isWrite = code(3 downto 0) === Protocol.write
    val isHold = code(3 downto 0) === Protocol.hold
    val isPacked = code(3 downto 0) === Protocol.readPacked
    val core = code(7 downto 4).asUInt
    val bytes = left << 2
  }

  /** What `judge`, `choose` and `operation` go by, a cycle old: what it comes of has stood since the cycle before. */
  val seen = new Area {
    val noOp = RegNext(op.code(3 downto 0).asUInt > Protocol.hold || op.core >= c.cores)
    val noCount = RegNext(op.left === 0 || ((op.isHello || op.isHold) && op.left =/= 1))
    val cut = RegNext(op.isWrite && reader.left < op.bytes)
    val total = RegNext(whole.moved +^ op.left)
    val done = RegNext(op.left === 0)
    val repeated = RegNext(whole.again && whole.moved === last.moved)
    val refused = RegNext(op.address.msb || op.address(1 downto 0) =/= 0)
    val ends = RegNext(reader.left === 0)
    val short = RegNext(reader.left < 4)
    val isLast = RegNext(last.known && whole.number === last.number)
    /** two cycles old */
    val malformed = RegNext(noOp || noCount || cut || total > Protocol.mostWords)
  }
  reader.skip.payload := op.bytes.resized
  words.word.payload := op.value
  words.packed := op.isPacked

  private def advance(): Unit = {
    whole.moved := whole.moved + 1
    op.left := op.left - 1
    op.address := op.address + 4
    step := Step.settle
  }
  private def stop(status: Int): Unit = {
    whole.stopped := True
    whole.status := status
    step := Step.flush
  }
  private def reject(): Unit = {
    whole.malformed := True
    whole.again := False
    whole.status := Protocol.malformed
    whole.moved := 0
    step := Step.head
  }
  /** Does this with the next byte of the request. */
  private def take(next: Step.E)(use: Bits => Unit): Unit = {
    reader.byte.ready := True
    when(reader.byte.valid) {
      step := next
      use(reader.byte.payload)
    }
  }

  /** The core that is accessed, and what it says. */
  val chosen = new Area {
    val hot = Vec((0 until c.cores).map(n => op.core === n))
    val ready = access.zip(hot).map { case (port, on) => port.ready && on }.orR
    val rdata = MuxOH(hot, access.map(_.rdata))
    val error = MuxOH(hot, access.map(_.error))
    val silent = MuxOH(hot, access.map(_.silent))
  }
  for ((port, on) <- access.zip(chosen.hot)) {
    port.valid := step === Step.access && on
    port.write := op.isWrite
    port.address := op.address.resized
    port.wdata := op.value
  }

  switch(step) {
    is(Step.idle) {
      whole.checking := True
      whole.empty := True
      whole.malformed := False
      whole.stopped := False
      whole.again := False
      whole.status := Protocol.ok
      whole.moved := 0
      whole.index := 0
      reader.seek.valid := True
      when(request.valid)(step := Step.kind)
    }
    is(Step.kind)(take(Step.number) { byte =>
      whole.repeated := byte === Protocol.repeat
      when(byte =/= Protocol.request && byte =/= Protocol.repeat) {
        request.ready := True
        step := Step.idle
      }
    })
    is(Step.number)(take(Step.operation)(whole.number := _))
    is(Step.operation)(when(reader.byte.valid) {
      when(seen.ends) {
        step := Step.trailer
        when(whole.checking) {
          whole.checking := False
          whole.again := whole.repeated && seen.isLast
          reader.seek.valid := True
          reader.seek.payload := 2
          whole.moved := 0
          step := Step.head
          when(whole.empty)(reject())
        }
      } elsewhen (seen.short) {
        reject()
      } otherwise take(Step.addressLow)(op.code := _)
    })
    is(Step.addressLow)(take(Step.addressHigh)(byte => op.address := byte.asUInt.resized))
    is(Step.addressHigh)(take(Step.count)(byte => op.address(15 downto 8) := byte.asUInt))
    is(Step.count)(take(Step.settle)(byte => op.left := byte.asUInt))
    is(Step.settle)(step := whole.checking ? Step.weigh | Step.choose)
    is(Step.weigh)(step := Step.judge)
    is(Step.judge) {
      step := Step.operation
      whole.empty := False
      whole.moved := seen.total.resized
      reader.skip.valid := op.isWrite
      when(seen.malformed)(reject())
    }
    is(Step.head) {
      pay(whole.index(0) ? whole.number | B(Protocol.answer, 8 bits))
      when(answer.ready) {
        whole.index := whole.index + 1
        when(whole.index(0)) {
          whole.index := 0
          step := whole.malformed ? Step.trailer | Step.operation
        }
      }
    }
    is(Step.choose) {
      when(seen.repeated) {
        stop(Protocol.ok)
      } elsewhen (seen.done) {
        step := Step.flush
      } elsewhen (op.isHello) {
        op.value := c.greeting
        step := Step.keep
      } elsewhen (op.isHold) {
        advance()
      } elsewhen (seen.refused) {
        stop(Protocol.slvErr)
      } otherwise {
        step := op.isWrite ? Step.data | Step.access
      }
    }
    is(Step.data)(take(Step.data) { byte =>
      op.value := byte ## op.value(31 downto 8)
      whole.index := whole.index + 1
      when(whole.index === 3) {
        step := Step.access
        when(whole.again)(advance())
      }
    })
    is(Step.access) {
      when(chosen.ready) {
        op.value := chosen.rdata
        when(chosen.silent)(stop(Protocol.silent)) elsewhen (chosen.error)(stop(Protocol.slvErr)) elsewhen (op.isWrite)(
          advance()) otherwise (step := Step.keep)
      }
    }
    is(Step.keep)(when(words.word.ready)(advance()))
    is(Step.flush)(when(words.empty)(step := whole.stopped ? Step.trailer | Step.operation))
    is(Step.trailer) {
      val moved = whole.again ? last.moved | whole.moved
      val status = whole.again ? last.status | whole.status
      pay(whole.index.mux(0 -> moved(7 downto 0).asBits, 1 -> (moved >> 8).asBits.resize(8), default -> status.resize(8)),
        last = whole.index === 2)
      when(answer.ready) {
        whole.index := whole.index + 1
        when(whole.index === 2) {
          when(!whole.malformed) {
            last.known := True
            last.number := whole.number
            last.moved := moved
            last.status := status
          }
          request.ready := True
          step := Step.idle
        }
      }
    }
  }
}
