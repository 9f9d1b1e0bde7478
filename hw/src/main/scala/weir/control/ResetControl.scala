package weir.control
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
    /** Resets the data path, a cycle later than `ends`: from a register, for it fans out to about 10,000 flip-flops. */
    val path = out Bool ()
    /** Resets the path's two ends: [[weir.transmit.FrameCloser]], and [[weir.receive.Ingress]], whose frames reach
      * nothing else in less than two cycles.
      */
    val ends = out Bool ()
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

  val resets = RegNext(resetting) init True

  io.path := resets
  io.ends := ClockDomain.current.isResetActive || resetting
  io.busy := busy
}
