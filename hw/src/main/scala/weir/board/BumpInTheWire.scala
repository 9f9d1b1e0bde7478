package weir.board
import spinal.core._
import spinal.lib._
import weir.{WeirConfig, WeirCore}
import weir.axis.AxisBeat
import weir.control.registers.{AxiLitePort, RegisterMap}

/** Two cores between two ports: what port 0 receives leaves through core 0 and port 1, and the other way round.
  *
  * `bypass` leads frames past the cores, each direction from its next frame on. Meanwhile the cores' links are down: what
  * they hold is dropped and counted, and what they have begun to send is finished first. So it is with a port whose `up` is low, for
  * the core that sends there. Time is counted from the clock ([[Nanoseconds]]).
  */
class BumpInTheWire(c: WeirConfig) extends Component {
  val io = new Bundle {
    val rx = Vec(slave(Stream(AxisBeat(c.dataWidth))), 2)
    val tx = Vec(master(Stream(AxisBeat(c.dataWidth))), 2)
    val csr = Vec(slave(AxiLitePort(RegisterMap.addressWidth)), 2)
    val bypass = in Bool ()
    val up = in(Vec(Bool(), 2))
  }
  val clock = new Nanoseconds(c)

  val cores = Seq.fill(2)(new WeirCore(c))
  val directions = for (n <- 0 until 2) yield new Area {
    val core = cores(n)
    core.io.now_ns := clock.now
    val linkUp = RegNext(!io.bypass && io.up(1 - n)) init False
    core.io.link_up := linkUp
    core.io.csr <> io.csr(n)

    /** Chosen at the first beat of a frame. */
    val enter = new Area {
      val inside = RegInit(False)
      val around = Reg(Bool())
      val past = inside ? around | io.bypass
      when(io.rx(n).fire) {
        inside := !io.rx(n).tlast
        around := past
      }
    }
    private val Seq(through, past) = StreamDemux(io.rx(n), enter.past.asUInt, 2).toSeq
    core.io.s_axis << through

    /** One or the other up to its last beat. */
    val leave = new Area {
      val inside = RegInit(False)
      val around = Reg(Bool())
      val fromPast = inside ? around | past.valid
      val merged = StreamMux(fromPast.asUInt, Seq(core.io.m_axis, past))
      when(merged.valid) {
        inside := !(merged.ready && merged.tlast)
        around := fromPast
      }
    }
    io.tx(1 - n) << leave.merged
  }
  for ((direction, n) <- directions.zipWithIndex) direction.setName(s"direction_$n")
}
