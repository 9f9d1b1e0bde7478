package weir.board

/** Dividers of an ECP5's PLL with its first output as feedback: f(line) = f(in) / inputDivider × feedbackDivider,
  * f(VCO) = f(line) × lineDivider, f(core) = f(VCO) / coreDivider. Limits: ECP5 family data sheet, FPGA-DS-02012.
  */
case class PllConfig(inputHz: Int, inputDivider: Int, feedbackDivider: Int, lineDivider: Int, coreDivider: Int) {
  val phaseDetectorHz: Int = inputHz / inputDivider
  val lineHz: Int = phaseDetectorHz * feedbackDivider
  val vcoHz: Int = lineHz * lineDivider
  val coreHz: Int = vcoHz / coreDivider
  /** the same for both outputs: their edges meet */
  val phase: Int = lineDivider / 2

  require(phaseDetectorHz >= 10000000 && phaseDetectorHz <= 400000000,
    s"PllConfig.inputDivider=$inputDivider: the phase detector would run at $phaseDetectorHz Hz, allowed are 10 to 400 MHz")
  require(vcoHz >= 400000000 && vcoHz <= 800000000,
    s"PllConfig.lineDivider=$lineDivider: the VCO would run at $vcoHz Hz, allowed are 400 to 800 MHz")
  require(lineHz == 125000000, s"PllConfig.feedbackDivider=$feedbackDivider gives a line clock of $lineHz Hz, not 125 MHz")
}
