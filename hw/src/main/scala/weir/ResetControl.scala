package weir

import spinal.core._

/** Carries out a reset asked for by register: grants stop, the frame being sent is finished, then the data path, its
  * queues and all counters are reset for four cycles. Configuration is not touched.
  */
class ResetControl extends Component {
  val io = new Bundle {
    /** pulse */
    val request = in Bool ()
    /** nothing is on its way out */
    val drained = in Bool ()
    /** what it resets may be reset a cycle later */
    val reset = out Bool ()
    /** no grant may be given */
    val busy = out Bool ()
  }
  noIoPrefix()

  val waiting = RegInit(False)
  val count = Reg(UInt(3 bits)) init 0

  /** `count` is not 0 */
  val resetting = RegInit(False)

  /** a grant given in the cycle before `busy` needs time to show in `drained` */
  val settle = Reg(UInt(3 bits)) init 0

  when(io.request && !io.busy) {
    waiting := True
    settle := 7
  }
  when(waiting) {
    when(settle =/= 0)(settle := settle - 1)
    when(settle === 0 && io.drained) {
      waiting := False
      count := 4
      resetting := True
    }
  }
  when(count =/= 0) {
    count := count - 1
    resetting := count =/= 1
  }

  /** either, from a register: behind it are the scheduler and all that follows a grant */
  val busy = RegNext(waiting.getAheadValue() || resetting.getAheadValue()) init False

  io.reset := resetting
  io.busy := busy
}
