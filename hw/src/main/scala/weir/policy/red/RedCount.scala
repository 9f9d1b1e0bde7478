package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.{PerQueue, ValidPipeline}
import weir.policy.{PolicyCommit, PolicyRequest}

/** Packets since the last action, and their bytes. */
case class PacketCount(packetWidth: Int, byteWidth: Int) extends Bundle {
  val packets = UInt(packetWidth bits)
  val bytes = UInt(byteWidth bits)
}

/** Packets since the last mark or drop, for each queue (docs/modules/red.md, Count).
  *
  * A request takes its count at t4, when its region is known; the multipliers that use it have to start earlier. So
  * both values that are possible in the band are offered from t2 on: `kept`, if no commit of t1…t4 restarts the count,
  * and `restarted`, if one does; `restart` tells at t4. Requests come at least 4 cycles apart: at most one commit falls
  * into t1…t4, the state read at t1 holds every older request, and no more than one request is in t5…t7.
  *
  * At reset and after `clear` the count is 0 and fresh.
  */
case class RedCount(c: WeirConfig) extends Component {
  val io = new Bundle {
    /** t0 */
    val request = slave(Flow(PolicyRequest(c)))
    /** of the request's queue, t1 */
    val exemptFirst = in(Bool())
    /** candidates in the band, t2 to t5 */
    val kept = out(PacketCount(16, 24))
    val restarted = out(PacketCount(2, 15))
    /** the next packet in the band is the first one, t2 to t5 */
    val fresh = out(Bool())
    /** region, t4 */
    val outside, forced = in(Bool())
    /** t4, combinational from `commit`: `restarted` is the right one */
    val restart = out(Bool())
    /** used in the end, t4 */
    val used = out(UInt(16 bits))
    val commit = slave(Flow(PolicyCommit(c)))
    val clear = in(Bits(c.queues bits))
  }
  noIoPrefix()

  /** stage(n): a request is in tn */
  val stage = new ValidPipeline(io.request.valid, 8)

  /** the request in t1…t4, and the one in t5…t7 */
  val arrival = RegNextWhen(io.request.payload, stage(0))
  /** its queue, one bit each, in t4 alone */
  val takes = RegNext(PerQueue.select(c.queues, stage(3), arrival.queue)) init 0
  val younger = new Area {
    val queue = RegNextWhen(arrival.queue, stage(4))
    val length = RegNextWhen(arrival.length, stage(4))
    val there = stage(5) || stage(6) || stage(7)
    /** its queue, one bit each, while it is there */
    val of = RegNext(PerQueue.select(c.queues, stage(4) || stage(5) || stage(6), stage(4) ? arrival.queue | queue)) init 0
  }

  /** A commit is that of the request in t11: its queue is known here, and only whether it restarts comes late. */
  val committed = new Area {
    /** t9 to t12 */
    val queue = RegNextWhen(younger.queue, stage(8))
    val of = RegNextWhen(PerQueue.select(c.queues, True, younger.queue), stage(8)) init 0
    /** it is that of the request in t1…t4 */
    val arriving = RegNext(queue === (stage(0) ? io.request.queue | arrival.queue))
  }
  val restarts = io.commit.acts

  val state = for (_ <- 0 until c.queues) yield new Area {
    val count = Reg(PacketCount(16, 24))
    count.packets.init(0)
    count.bytes.init(0)
    val fresh = RegInit(True)
  }

  /** The candidates: count + 1 without and with a restart, or `first` for both */
  val t1 = new Area {
    val count = PerQueue(Vec(state.map(_.count)), arrival.queue)
    val fresh = PerQueue(Vec(state.map(_.fresh)), arrival.queue)
    val first = PacketCount(2, 15)
    first.packets := io.exemptFirst.asUInt.resized
    first.bytes := io.exemptFirst ? arrival.length.resize(15) | U(0)
    val next = PacketCount(16, 24)
    next.packets := count.packets +| 1
    next.bytes := count.bytes +| arrival.length.resize(24)
    /** what a restart leaves, and this packet */
    val afterRestart = PacketCount(2, 15)
    val counted = younger.there && younger.queue === arrival.queue
    afterRestart.packets := counted ? U(2, 2 bits) | U(1, 2 bits)
    afterRestart.bytes := arrival.length +^ (counted ? younger.length | U(0))
  }

  /** valid t2 to t5 */
  val t2 = new Area {
    val fresh = RegNextWhen(t1.fresh, stage(1))
    val next = RegNextWhen(t1.next, stage(1))
    val afterRestart = RegNextWhen(t1.afterRestart, stage(1))
    val kept = Reg(PacketCount(16, 24))
    val restarted = Reg(PacketCount(2, 15))
    when(stage(1)) {
      kept.packets := t1.fresh ? t1.first.packets.resize(16) | t1.next.packets
      kept.bytes := t1.fresh ? t1.first.bytes.resize(24) | t1.next.bytes
      restarted := t1.fresh ? t1.first | t1.afterRestart
    }
  }
  io.kept := t2.kept
  io.restarted := t2.restarted
  io.fresh := t2.fresh

  /** the decision between the candidates, and the new state */
  val t4 = new Area {
    val now = restarts && committed.arriving
    /** a commit of t1…t3 */
    val before = RegInit(False)
    when(stage(0))(before := False).elsewhen(now)(before := True)
    val restart = before || now
    private val anew = io.forced ? t2.afterRestart | t2.restarted
    private val on = io.forced ? t2.next | t2.kept
    val used = PacketCount(16, 24)
    used.packets := restart ? anew.packets.resize(16) | on.packets
    used.bytes := restart ? anew.bytes.resize(24) | on.bytes
  }
  io.restart := t4.restart
  io.used := io.outside ? U(0, 16 bits) | t4.used.packets

  when(restarts) {
    for (q <- 0 until c.queues) when(committed.of(q)) {
      state(q).count.packets := younger.of(q).asUInt.resized
      state(q).count.bytes := younger.of(q) ? younger.length.resize(24) | U(0)
    }
  }
  when(stage(4)) {
    for (q <- 0 until c.queues) when(takes(q)) {
      when(io.outside) {
        state(q).fresh := True
      } otherwise {
        when(!io.forced)(state(q).fresh := False)
        state(q).count := t4.used
      }
    }
  }
  when(io.clear.orR) {
    for (q <- 0 until c.queues) when(io.clear(q)) {
      state(q).fresh := True
      state(q).count.packets := 0
      state(q).count.bytes := 0
    }
  }
}
