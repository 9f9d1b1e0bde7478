package weir.board.netfpga
import spinal.core._
import spinal.lib._
import weir.{WeirConfig, WeirCore}
import weir.board.Nanoseconds
import weir.control.registers.AxiLitePort
import weir.transmit.FrameCloser

/** Weir in the place of NetFPGA's output queues: one stream in, five out, a core for each output.
  *
  * A frame goes to every output that its destination field names, a copy each; one that names none is dropped, as the reference's does.
  * The stream never waits: it brings 256 bits a cycle and a core takes 64, so each output has a FIFO of `fifoWords` beats in front of its core,
  * and a frame that does not fit there is dropped whole and counted. So an output sustains 64 bits a cycle (10 Gb/s at
  * 156.25 MHz, 12.8 at 200), and only up to that does the core's policy decide.
  *
  * Registers: core n at n · 0x10000; then the words of [[NetFpgaOutputQueues.words]]. Time is counted from the clock.
  *
  * @param fifoWords beats of 32 bytes in front of each core
  */
class NetFpgaOutputQueues(c: WeirConfig, fifoWords: Int = 1024) extends Component {
  private val ports = NetFpga.ports
  val axis_aclk, axis_resetn = in Bool ()
  val s_axis = slave(Stream(NetFpgaWord()))
  val m_axis = Vec(master(Stream(NetFpgaWord())), ports)
  val s_axi = slave(AxiLitePort(AxiLiteDemux.addressWidth(ports)))
  NetFpga.name(s_axis, "s_axis")
  for ((stream, n) <- m_axis.zipWithIndex) NetFpga.name(stream, s"m_axis_$n")

  private val domain = ClockDomain(axis_aclk, axis_resetn,
    config = ClockDomainConfig(resetKind = SYNC, resetActiveLevel = LOW))
  val design = new ClockingArea(domain) {
    val clock = new Nanoseconds(c)

    val enter = new Area {
      val ready = RegNext(True) init False
      s_axis.ready := ready
      val first = RegInit(True)
      val held = Reg(Bits(ports bits))
      val asked = NetFpga.outputs(s_axis.tuser(NetFpga.destinationBits))
      val wanted = first ? asked | held
      when(s_axis.fire) {
        first := s_axis.tlast
        held := wanted
      }
      val nowhere = Reg(UInt(32 bits)) init 0
      when(s_axis.fire && s_axis.tlast && !wanted.orR)(nowhere := nowhere + 1)
    }
    val outputs = for (n <- 0 until ports) yield new Area {
      val fifo = new FrameFifo(fifoWords)
      fifo.io.push.valid := RegNext(s_axis.fire && enter.wanted(n)) init False
      fifo.io.push.data := RegNext(s_axis.tdata)
      fifo.io.push.keep := RegNext(s_axis.tkeep)
      fifo.io.push.last := RegNext(s_axis.tlast)
      fifo.io.bad := False
      val dropped = Reg(UInt(32 bits)) init 0
      when(fifo.io.dropped)(dropped := dropped + 1)

      val narrow = new AxisDownsizer
      /** a frame that a reset cuts off ends as bad, or the core would take the next one for its rest */
      val closer = new FrameCloser(c)
      val core = new WeirCore(c)
      val upsizer = new AxisUpsizer(n)
      narrow.io.wide << fifo.io.pop
      closer.io.s_axis << narrow.io.narrow
      core.io.s_axis << closer.io.m_axis
      core.io.now_ns := clock.now
      core.io.link_up := True
      upsizer.io.narrow << core.io.m_axis
      m_axis(n) << upsizer.io.wide
    }
    for ((output, n) <- outputs.zipWithIndex) output.setName(s"output_$n")

    val demux = new AxiLiteDemux(ports, NetFpgaOutputQueues.words(ports).size)
    demux.io.up <> s_axi
    for (n <- 0 until ports) outputs(n).core.io.csr <> demux.io.down(n)
    demux.io.words := Vec(Seq(B(NetFpgaOutputQueues.id, 32 bits), B(ports, 32 bits), enter.nowhere.asBits) ++
      outputs.map(_.dropped.asBits))
  }
}

object NetFpgaOutputQueues {
  /** "WNOQ" */
  val id: BigInt = BigInt("WNOQ".map(_.toInt.formatted("%02x")).mkString, 16)
  /** The own words, at 4·k from ports · 0x10000 on; counters are of frames, modulo 2^32. */
  def words(ports: Int): Seq[String] =
    Seq("ID", "PORTS", "NOWHERE") ++ (0 until ports).map(n => s"DROPPED_$n")
}
