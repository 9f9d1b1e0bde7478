package weir.board
import spinal.core._
import weir.WeirConfig
import weir.board.netfpga.NetFpgaOutputQueues

/** The tops of `fpga-boards/` and the module for NetFPGA; the name is the folder's, and the file's and the module's with `_` for `-`. */
object Boards {
  /** Two queues in 16 KiB, which is what the device's block RAMs are enough for; there is no room for a trace. */
  private val colorlight = WeirConfig.preset("board").copy(name = "colorlight-5a-75b", queues = 2, cells = 256,
    descriptors = 256, traceDepth = 0, clockHz = Colorlight5a75b.pll.coreHz)
  /** Two queues in 64 KiB, with registers over the UART: four did not route within a quarter of an hour. */
  val versa: WeirConfig = WeirConfig.preset("board").copy(name = "ecp5-versa", queues = 2, descriptors = 512,
    clockHz = Ecp5Versa.pll.coreHz)

  /** Every policy and jumbo frames in each of four cores. */
  val sume: WeirConfig = WeirConfig.preset("ten-gig").copy(name = "netfpga-sume", clockHz = NetFpgaSume.coreHz)

  /** the clock of the pipelines in NetFPGA-SUME's reference projects */
  val netFpgaHz = 200000000
  /** Every policy, in 128 KiB an output; not a board's top, but what takes the place of a module of one. */
  private val outputQueues = WeirConfig.preset("aqm").copy(name = "netfpga-output-queues", cells = 2048, descriptors = 2048,
    traceDepth = 16, clockHz = netFpgaHz)

  val all: Seq[(String, () => Component)] = Seq(
    colorlight.name -> (() => new Colorlight5a75b(colorlight)),
    versa.name -> (() => new Ecp5Versa(versa)),
    sume.name -> (() => new NetFpgaSume(sume)),
    outputQueues.name -> (() => new NetFpgaOutputQueues(outputQueues))
  )
}
