package weir.mac
import spinal.core._
import spinal.lib._
import weir.axis.AxisBeat

/** AXI4-Stream without `tready`: what comes from a line cannot wait. */
object FlowAxis {
  def name(flow: Flow[AxisBeat], prefix: String): Unit = {
    flow.valid.setName(s"${prefix}_tvalid")
    flow.tdata.setName(s"${prefix}_tdata")
    flow.tkeep.setName(s"${prefix}_tkeep")
    flow.tlast.setName(s"${prefix}_tlast")
    flow.tuser.setName(s"${prefix}_tuser")
  }
}
