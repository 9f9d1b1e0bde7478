package weir.board
import spinal.core._
import spinal.lib._

/** Clocks of a board from its oscillator, and their resets: all hold until the PLL has locked and `release` is high, and
  * each ends with its own clock. A domain whose clock stands still stays in reset.
  */
class BoardClocks(pll: PllConfig, oscillator: Bool, release: Bool) extends Area {
  val generator = new Ecp5Cells.Ehxplll(pll)
  generator.CLKI := oscillator
  generator.CLKFB := generator.CLKOP
  for (pin <- Seq(generator.RST, generator.STDBY, generator.PHASESEL0, generator.PHASESEL1, generator.PHASEDIR,
      generator.PHASESTEP, generator.PHASELOADREG, generator.PLLWAKESYNC, generator.ENCLKOP, generator.ENCLKOS)) pin := False
  private val hold = !(generator.LOCK && release)

  def domain(clock: Bool, name: String): ClockDomain = BoardClocks.domain(clock, hold, name)
  val line: ClockDomain = domain(generator.CLKOP, "line")
  val core: ClockDomain = domain(generator.CLKOS, "core")
}

object BoardClocks {
  /** A domain of this clock with a reset of its own, asserted at once with `hold` and ended with the clock. */
  def domain(clock: Bool, hold: Bool, name: String): ClockDomain = {
    val bare = ClockDomain(clock, config = ClockDomainConfig(resetKind = BOOT))
    val reset = ResetCtrl.asyncAssertSyncDeassert(hold, bare, inputPolarity = HIGH, outputPolarity = HIGH)
    reset.setName(s"${name}_rst")
    ClockDomain(clock, reset, config = ClockDomainConfig(resetKind = SYNC, resetActiveLevel = HIGH))
  }
}
