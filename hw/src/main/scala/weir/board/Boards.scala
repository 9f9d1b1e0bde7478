package weir.board

import spinal.core._
import weir.{Policy, WeirConfig}

/** The tops of `fpga-boards/`; the name is the folder's, and the file's and the module's with `_` for `-`. */
object Boards {
  /** Drop-Tail in one queue of 32 KiB: two frames of 9216 bytes, one that leaves while the next one comes. */
  private val colorlight = WeirConfig.preset("tail").copy(name = "colorlight-5a-75b", cells = 512, descriptors = 256,
    clockHz = Colorlight5a75b.pll.coreHz)
  /** Four queues in 64 KiB, Drop-Tail or DT-ECN; RED would take more multipliers than the device has for two cores. */
  val versa: WeirConfig = colorlight.copy(name = "ecp5-versa", queues = 4, cells = 1024, descriptors = 1024,
    policies = Set(Policy.DropTail, Policy.DtEcn), clockHz = Ecp5Versa.pll.coreHz)

  val all: Seq[(String, () => Component)] = Seq(
    colorlight.name -> (() => new Colorlight5a75b(colorlight)),
    versa.name -> (() => new Ecp5Versa(versa))
  )
}
