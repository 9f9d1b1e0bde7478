package weir

import spinal.core._

/** The clocks and resets of a core's stages, as domains.
  *
  * A core for the cycle model (`WeirConfig.gated`) has clocks of their own for units that stand still together: port
  * `clk_<units>` has the edges of `clk` while `run_<units>` is high ([[Gate]]), and may leave out the others. A core
  * for a device has one clock.
  */
class Domains(c: WeirConfig) extends Area {
  /** of [[Control]]: what a reset by register resets, and the two ends of the path, which have it a cycle earlier */
  val pathReset, endReset = Bool()

  /** A clock of units that stand still together, with the path's reset. */
  class Gated(units: String, built: Boolean) {
    private val clk = built generate (in Bool ())
    private val run = built generate (out Bool ())
    if (built) {
      clk.setName(s"clk_$units")
      run.setName(s"run_$units")
      Clock.sync(clk, ClockDomain.current.clock)
    }

    def apply(domain: ClockDomain): ClockDomain = if (built) domain.copy(clock = clk) else domain
    /** the stage that knows when the clock has an edge */
    def runs(when: Bool): Unit = if (built) run := when
  }

  private def resetBy(active: Bool) =
    ClockDomain.current.copy(reset = active, config = ClockDomain.current.config.copy(resetActiveLevel = HIGH))

  val core: ClockDomain = ClockDomain.current
  val path: ClockDomain = resetBy(pathReset)
  val ends: ClockDomain = resetBy(endReset)
  /** The line's and the host's front ends; what works once a packet; what is in front of the buffer, and behind it. */
  val ingress = new Gated("ingress", c.gated)
  val front = new Gated("front", c.gated)
  val packet = new Gated("packet", c.gated)
  val unpack = new Gated("unpack", c.gated && c.jumbo)
  val egress = new Gated("egress", c.gated)
}
