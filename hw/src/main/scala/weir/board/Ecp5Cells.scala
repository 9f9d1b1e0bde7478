package weir.board
import spinal.core._

/** Cells of Lattice's ECP5 (sysIO and sysCLOCK usage guides, FPGA-TN-02032 and FPGA-TN-02200). Their models for simulation
  * are in `cocotb-tests/models/ecp5_cells.v`.
  */
object Ecp5Cells {
  /** Registers an input at both edges; both values appear at the next rising edge. */
  class Iddrx1f extends BlackBox {
    setDefinitionName("IDDRX1F")
    val D, SCLK, RST = in Bool ()
    /** sampled at the rising edge, at the falling edge after it */
    val Q0, Q1 = out Bool ()
  }

  /** Sends D0 while the clock is high and D1 while it is low. */
  class Oddrx1f extends BlackBox {
    setDefinitionName("ODDRX1F")
    val D0, D1, SCLK, RST = in Bool ()
    val Q = out Bool ()
  }

  /** A fixed delay at a pin, in taps of 25 ps, 0 to 127. */
  class Delayg(taps: Int) extends BlackBox {
    setDefinitionName("DELAYG")
    addGeneric("DEL_MODE", "SCLK_ALIGNED")
    addGeneric("DEL_VALUE", taps)
    val A = in Bool ()
    val Z = out Bool ()
  }

  /** The PLL, with its first output as feedback. */
  class Ehxplll(pll: PllConfig) extends BlackBox {
    setDefinitionName("EHXPLLL")
    addGeneric("PLLRST_ENA", "DISABLED")
    addGeneric("INTFB_WAKE", "DISABLED")
    addGeneric("STDBY_ENABLE", "DISABLED")
    addGeneric("DPHASE_SOURCE", "DISABLED")
    addGeneric("OUTDIVIDER_MUXA", "DIVA")
    addGeneric("OUTDIVIDER_MUXB", "DIVB")
    addGeneric("CLKI_DIV", pll.inputDivider)
    addGeneric("CLKFB_DIV", pll.feedbackDivider)
    addGeneric("CLKOP_ENABLE", "ENABLED")
    addGeneric("CLKOP_DIV", pll.lineDivider)
    addGeneric("CLKOP_CPHASE", pll.phase)
    addGeneric("CLKOP_FPHASE", 0)
    addGeneric("CLKOS_ENABLE", "ENABLED")
    addGeneric("CLKOS_DIV", pll.coreDivider)
    addGeneric("CLKOS_CPHASE", pll.phase)
    addGeneric("CLKOS_FPHASE", 0)
    addGeneric("FEEDBK_PATH", "CLKOP")
    val CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP, ENCLKOS =
      in Bool ()
    val CLKOP, CLKOS, LOCK = out Bool ()
    // analog settings of the loop, as `ecppll` of Project Trellis gives them
    for ((name, value) <- Seq("ICP_CURRENT" -> "12", "LPF_RESISTOR" -> "8", "MFG_ENABLE_FILTEROPAMP" -> "1",
        "MFG_GMCREF_SEL" -> "2")) addAttribute(name, value)
  }
}
