package weir.formal
import spinal.core._
import spinal.core.formal._
import weir.WeirConfig
import weir.admission.Lfsr

/** The state of the random source is never zero, whatever seeds are loaded and draws taken.
  *
  * @param leak loads a seed of zero as it is
  */
class LfsrProperties(c: WeirConfig, leak: Boolean) extends Properties(resets = true) {
  val dut: Lfsr = if (leak) new Lfsr(c) { when(io.seed.valid)(state := io.seed.payload) } else new Lfsr(c)
  val seed = any(Bits(64 bits))
  dut.io.seed.valid := any(Bool())
  dut.io.seed.payload := seed
  dut.io.next := any(Bool())
  dut.io.fixed := any(Bool())
  dut.io.fixedDraw := any(UInt(c.drawWidth bits))

  val stateNow = dut.state.pull()
  when(running) {
    when(settled)(assert(stateNow =/= 0))
    when(dut.io.fixed)(assert(dut.io.draw === dut.io.fixedDraw))
    cover(settled && before(dut.io.seed.valid) && before(seed) === 0)
    cover(settled && !dut.io.fixed && dut.io.draw === 0 && before(dut.io.next))
  }
}
