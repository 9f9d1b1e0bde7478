package weir.board
import spinal.core._

/** Cells at the pins of Xilinx's 7 series (UG471, UG953). Models for simulation are in `cocotb-tests/models/xilinx_cells.v`. */
object XilinxIoCells {
  /** A register at a pin. */
  abstract class PinRegister(name: String, edges: String) extends BlackBox {
    setDefinitionName(name)
    addGeneric("DDR_CLK_EDGE", edges)
    addGeneric("SRTYPE", "SYNC")
    val C, CE, R, S = in Bool ()

    /** Enabled always; set and reset never. */
    def tie(): Unit = {
      CE := True
      R := False
      S := False
    }
  }

  /** Registers an input at both edges; both values appear at the next rising edge.
    *
    * With SAME_EDGE the first value would come a cycle earlier, beside the second value of the byte before.
    */
  class Iddr extends PinRegister("IDDR", "SAME_EDGE_PIPELINED") {
    val D = in Bool ()
    /** sampled at the rising edge, at the falling edge after it */
    val Q1, Q2 = out Bool ()
  }

  /** Takes both values at a rising edge; sends D1 while the clock is high and D2 while it is low. */
  class Oddr extends PinRegister("ODDR", "SAME_EDGE") {
    val D1, D2 = in Bool ()
    val Q = out Bool ()
  }

  /** A fixed delay at an input; see [[Series7Rgmii]]. The [[Idelayctrl]] of its `group` calibrates it. */
  class Idelaye2(taps: Int, referenceMhz: Int, group: String) extends BlackBox {
    setDefinitionName("IDELAYE2")
    addGeneric("IDELAY_TYPE", "FIXED")
    addGeneric("DELAY_SRC", "IDATAIN")
    addGeneric("IDELAY_VALUE", taps)
    addGeneric("REFCLK_FREQUENCY", referenceMhz.toDouble)
    addGeneric("SIGNAL_PATTERN", "DATA")
    addGeneric("HIGH_PERFORMANCE_MODE", "TRUE")
    val IDATAIN, DATAIN, C, CE, INC, LD, LDPIPEEN, REGRST, CINVCTRL = in Bool ()
    val CNTVALUEIN = in Bits (5 bits)
    val DATAOUT = out Bool ()
    addAttribute("IODELAY_GROUP", group)

    /** What only a delay that changes needs. */
    def tie(): Unit = {
      for (pin <- Seq(DATAIN, C, CE, INC, LD, LDPIPEEN, REGRST, CINVCTRL)) pin := False
      CNTVALUEIN := 0
    }
  }

  /** Calibrates the delays of its `group`, all in one bank, with a clock of `referenceMhz`. `RST` for 60 ns or more when that clock has come. */
  class Idelayctrl(group: String) extends BlackBox {
    setDefinitionName("IDELAYCTRL")
    val REFCLK, RST = in Bool ()
    val RDY = out Bool ()
    addAttribute("IODELAY_GROUP", group)
  }

  /** A clock net of the registers at the pins of one bank. */
  class Bufio extends BlackBox {
    setDefinitionName("BUFIO")
    val I = in Bool ()
    val O = out Bool ()
  }

  /** A clock net of a region's logic, in step with that of a [[Bufio]]. */
  class Bufr extends BlackBox {
    setDefinitionName("BUFR")
    addGeneric("BUFR_DIVIDE", "BYPASS")
    val I, CE, CLR = in Bool ()
    val O = out Bool ()
  }
}
