package weir
import spinal.core._
import weir.common.ClockGate

/** The clocks and resets of a core's stages, as domains. */
class Domains extends Area {
  /** of [[Control]]: what a reset by register resets, and the two ends of the path, which have it a cycle earlier */
  val pathReset, endReset = Bool()

  private def resetBy(active: Bool) =
    ClockDomain.current.copy(reset = active, config = ClockDomain.current.config.copy(resetActiveLevel = HIGH))

  val core: ClockDomain = ClockDomain.current
  val path: ClockDomain = resetBy(pathReset)
  val ends: ClockDomain = resetBy(endReset)
  /** the clock of what works once a packet */
  val packet = new ClockGate("packet")
}
