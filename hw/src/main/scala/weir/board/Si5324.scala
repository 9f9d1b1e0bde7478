package weir.board
import spinal.core._
import spinal.lib._
import spinal.lib.fsm._

/** What a Si5324 has to be told to make 156.25 MHz of its crystal (Silicon Labs, Si53xx reference manual): f(out) = crystal / n3 · n2 / n1,
  * the VCO between 4.85 and 5.67 GHz, the phase detector at 2 kHz or more.
  */
object Si5324 {
  val crystalHz = 114285000
  private val (n3, n2High, n2Low, n1High, n1Low) = (30476, 10, 150000, 9, 4)
  private def bytes(value: Int): Seq[Int] = Seq(value >> 16 & 0xFF, value >> 8 & 0xFF, value & 0xFF)

  /** First register, values from there on. */
  val registers: Seq[(Int, Seq[Int])] = Seq(
    // free run, outputs off until calibrated, loop bandwidth 1, the crystal if no other input is there
    0 -> Seq(0x54, 0xE4, 0x12, 0x15, 0x92),
    // the second output off, both inputs on
    10 -> Seq(0x08, 0x40),
    25 -> Seq(n1High - 4 << 5),
    31 -> bytes(n1Low - 1),
    40 -> bytes((n2High - 4) << 21 | n2Low - 1),
    43 -> (bytes(n3 - 1) ++ bytes(n3 - 1)),
    // calibrate
    136 -> Seq(0x40))

  /** NetFPGA-SUME's I2C: the multiplexer's channel 4 leads to the Si5324. */
  private val (multiplexer, channel, device) = (0x74, 1 << 4, 0x68)
  /** Each a message from start to stop: address and direction, then bytes. */
  val messages: Seq[Seq[Int]] = Seq(multiplexer << 1, channel) +: registers.map { case (first, values) => Seq(device << 1, first) ++ values }
}

/** Writes [[Si5324.messages]] over I2C after reset; `done` when the clock has had time to settle.
  *
  * A device that does not acknowledge makes it begin again after another `startCycles`, for ever; `refused` counts that. A device may hold SCL.
  *
  * @param clockHz      frequency of the clock
  * @param bitHz        bits a second on the bus; a quarter of one is as long as the longest time of I2C's standard mode, 4.7 µs
  * @param startCycles  wait before the first message: 10 ms after its reset the Si5324 may be spoken to
  * @param settleCycles wait behind the last one
  */
class Si5324Setup(clockHz: Int, bitHz: Int, startCycles: Int, settleCycles: Int) extends Component {
  require(bitHz >= 1000 && bitHz <= 53000, s"Si5324Setup.bitHz=$bitHz must be 1000 to 53000; try 50000")
  val io = new Bundle {
    /** what the pins show, and whether they are pulled low */
    val scl, sda = in Bool ()
    val scl_low, sda_low = out Bool ()
    val done = out Bool ()
    val refused = out UInt (8 bits)
  }
  noIoPrefix()
  private val scl = BufferCC(io.scl, init = True)
  private val sda = BufferCC(io.sda, init = True)

  /** A byte, and whether it is the first and the last of a message. */
  private val script = Si5324.messages.flatMap(message => message.zipWithIndex.map { case (byte, n) =>
    byte | (if (n == 0) 0x100 else 0) | (if (n == message.size - 1) 0x200 else 0)
  })
  private val rom = Mem(Bits(10 bits), script.map(B(_, 10 bits)))
  val at = Reg(UInt(log2Up(script.size) bits)) init 0
  val entry = RegNext(rom.readAsync(at)) init 0

  /** A quarter of a bit. */
  private val quarterCycles = (clockHz + 4 * bitHz - 1) / (4 * bitHz)
  val timer = new Area {
    val left = Reg(UInt(log2Up(quarterCycles) bits)) init 0
    val quarter = Reg(UInt(2 bits)) init 0
    val running = False
    val sclLow, sdaLow = RegInit(False)
    /** SCL is let go but still low: a device holds it, and its high time has not begun */
    val held = quarter === 2 && !sclLow && !scl
    val tick = running && left === 0 && !held
    when(!running || tick || held)(left := quarterCycles - 1) otherwise (left := left - 1)
    when(!running)(quarter := 0) elsewhen (tick)(quarter := quarter + 1)
    val bitEnd = tick && quarter === 3
  }
  io.scl_low := timer.sclLow
  io.sda_low := timer.sdaLow

  private val longest = startCycles max settleCycles
  val waited = Reg(UInt(log2Up(longest + 1) bits)) init 0
  val bit = Reg(UInt(4 bits)) init 0
  val failed = RegInit(False)
  val refused = Reg(UInt(8 bits)) init 0
  val done = RegInit(False)
  io.done := done
  io.refused := refused

  val control: StateMachine = new StateMachine {
    val rest: State = new State with EntryPoint
    val start, send, stop, settle, finished = new State
    rest.whenIsActive {
      waited := waited + 1
      at := 0
      failed := False
      when(waited === startCycles)(goto(start))
    }
    /** SDA falls while SCL is high */
    start.whenIsActive {
      timer.running := True
      when(timer.tick) {
        switch(timer.quarter) {
          is(0)(timer.sdaLow := False)
          is(1)(timer.sclLow := False)
          is(2)(timer.sdaLow := True)
          is(3)(timer.sclLow := True)
        }
      }
      bit := 0
      when(timer.bitEnd)(goto(send))
    }
    /** eight bits, the highest first, and the acknowledgement */
    send.whenIsActive {
      timer.running := True
      when(timer.tick) {
        switch(timer.quarter) {
          is(0)(timer.sdaLow := bit < 8 && !entry(7 downto 0)(7 - bit.resize(3 bits)))
          is(1)(timer.sclLow := False)
          is(2)(when(bit === 8 && sda)(failed := True))
          is(3)(timer.sclLow := True)
        }
      }
      when(timer.bitEnd) {
        bit := bit + 1
        when(bit === 8) {
          bit := 0
          when(failed || entry(9))(goto(stop)) otherwise {
            at := at + 1
          }
        }
      }
    }
    /** SDA rises while SCL is high */
    stop.whenIsActive {
      timer.running := True
      when(timer.tick) {
        switch(timer.quarter) {
          is(0)(timer.sdaLow := True)
          is(1)(timer.sclLow := False)
          is(2)(timer.sdaLow := False)
        }
      }
      when(timer.bitEnd) {
        waited := 0
        at := at + 1
        when(failed) {
          when(!refused.andR)(refused := refused + 1)
          goto(rest)
        } elsewhen (at === script.size - 1)(goto(settle)) otherwise goto(start)
      }
    }
    settle.whenIsActive {
      waited := waited + 1
      when(waited === settleCycles)(goto(finished))
    }
    finished.whenIsActive(done := True)
  }
}
