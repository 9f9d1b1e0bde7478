package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.policy.{PolicyCommit, PolicyRequest}
import weir.policy.red.RedCount

/** The count is that of docs/modules/red.md, Count, as a model without candidates keeps it: a request takes its count at
  * t4, after the commits up to then; a commit that restarts leaves the younger requests that have taken theirs. What
  * `kept` or `restarted` offers is what is used, in packets and bytes, and both saturate.
  *
  * The environment asks every fourth cycle at most, commits each request at t11, and clears a queue only with none of
  * its requests between t0 and t11. Regions and lengths are anything.
  *
  * @param leak forgets the younger request in the last cycle that it can be there, t7
  */
class RedCountProperties(c: WeirConfig, leak: Boolean) extends Properties {
  val dut: RedCount = if (leak) new RedCount(c) {
    younger.there.removeAssignments() := stage(5) || stage(6)
  } else new RedCount(c)
  private val committed = 11

  val request = any(Flow(PolicyRequest(c)))
  val pause = Reg(UInt(2 bits)) init 0
  when(pause =/= 0)(pause := pause - 1)
  when(request.valid)(pause := 3)
  assume(!request.valid || pause === 0)
  dut.io.request << request

  /** The requests in t0…t11. */
  val stages = new Area {
    val valid = Seq.iterate(request.valid, committed + 1)(RegNext(_) init False)
    val queue = Seq.iterate(request.queue, committed + 1)(RegNext(_))
    val length = Seq.iterate(request.length, committed + 1)(RegNext(_))
    def holds(stage: Int, q: UInt): Bool = valid(stage) && queue(stage) === q
  }
  import stages._

  val exemptFirst = any(Bool())
  dut.io.exemptFirst := exemptFirst
  val outside = any(Bool())
  val forced = any(Bool()) && !outside
  dut.io.outside := outside
  dut.io.forced := forced
  val commit = PolicyCommit(c)
  commit.queue := queue(committed)
  commit.length := length(committed)
  commit.acts := valid(committed) && any(Bool())
  dut.io.commit.valid := valid(committed)
  dut.io.commit.payload := commit
  val restarts = commit.acts
  val clear = any(Bits(c.queues bits))
  for (q <- 0 until c.queues) assume(!clear(q) || !(0 to committed).map(holds(_, U(q, c.queueWidth bits))).orR)
  dut.io.clear := clear

  private val most = (BigInt(1) << 16) - 1
  private val mostBytes = (BigInt(1) << 24) - 1
  private def bounded(value: UInt, bound: BigInt): UInt = (value > bound) ? U(bound, widthOf(value) bits) | value

  /** What docs/modules/red.md says, one queue at a time. */
  val model = for (q <- 0 until c.queues) yield new Area {
    private val id = U(q, c.queueWidth bits)
    val packets = Reg(UInt(18 bits)) init 0
    val bytes = Reg(UInt(26 bits)) init 0
    val fresh = RegInit(True)
    /** after this cycle's commit */
    val now = new Area {
      /** requests that have taken their count and are not committed */
      val younger = 5 until committed
      val packets, bytes = UInt()
      private val restart = restarts && queue(committed) === id
      packets := restart ? CountOne(younger.map(holds(_, id))).resize(18) | model.packets
      bytes := restart ? younger.map(n => holds(n, id) ? length(n).resize(26) | U(0, 26 bits)).reduce(_ + _) | model.bytes
    }
    private def model = this
    val takes = holds(4, id)
    val first = fresh && !forced
    /** `exemptFirst` belongs to t1 */
    val exempt = Delay(exemptFirst, 3)
    val used = new Area {
      val packets = first ? exempt.asUInt.resize(18) | bounded(now.packets + 1, most)
      val bytes = first ? (exempt ? length(4).resize(26) | U(0, 26 bits)) | bounded(now.bytes + length(4), mostBytes)
    }
    packets := now.packets
    bytes := now.bytes
    when(takes && !outside) {
      packets := used.packets
      bytes := used.bytes
    }
    when(takes && outside)(fresh := True)
    when(takes && !outside && !forced)(fresh := False)
    when(clear(q)) {
      packets := 0
      bytes := 0
      fresh := True
    }
  }

  when(running) {
    for (q <- 0 until c.queues) {
      val state = dut.state(q)
      assert(state.count.packets.pull().resize(18) === model(q).packets)
      assert(state.count.bytes.pull().resize(26) === model(q).bytes)
      assert(state.fresh.pull() === model(q).fresh)
      when(model(q).takes) {
        assert(dut.io.used.resize(18) === (outside ? U(0, 18 bits) | model(q).used.packets))
        when(!outside && !forced) {
          val packets = dut.io.restart ? dut.io.restarted.packets.resize(18) | dut.io.kept.packets.resize(18)
          val bytes = dut.io.restart ? dut.io.restarted.bytes.resize(26) | dut.io.kept.bytes.resize(26)
          assert(packets === model(q).used.packets && bytes === model(q).used.bytes)
        }
        assert(dut.io.fresh === model(q).fresh)
      }
    }
    cover(valid(4) && !outside && !forced && dut.io.restart && dut.io.used === 2)
    cover(valid(4) && restarts && queue(4) === queue(committed) && dut.io.used === 1 && dut.io.fresh)
    cover(restarts && holds(7, queue(committed)) && !outside && !forced && valid(7))
    cover(valid(4) && dut.io.used === 4)
    cover(clear(0) && model(0).packets === 3)
    cover(model(0).bytes > 3 * 9216)
  }
}
