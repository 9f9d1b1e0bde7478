package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.common.Fixed
import weir.control.registers.ConfigWrite
import weir.policy.{Action, Cause, Ecn, Policy, PolicyCommit, PolicyRequest}
import weir.policy.red.Red

/** Whatever the registers hold, the averages are and the commits say: a probability is within [0, 1], 0 outside the
  * band and one in the forced region; a selection is forced there and early only in the band, never with a probability
  * of 0; no more than one packet in the queue, or the exempt first one, is never selected; the action is that of the
  * verdict table. Every request has one verdict, ten cycles later.
  *
  * The environment asks every fourth cycle at most. All else is free in every cycle: the region as the three signs of
  * the differences, what the words of the queue hold and when they change, commits and clears.
  *
  * @param leak None, or `range`: a probability above one keeps its fraction; or `mark`: CE is marked; or `few`: what is
  *             forced is so with any queue
  */
class RedProperties(c: WeirConfig, leak: Option[String]) extends Properties {
  val dut: Red = leak match {
    case Some("range") => new Red(c) {
      when(stage(8) && t8.one)(late.evidence.probability := U(1, 1 bits) @@ t8.fraction)
    }
    case Some("mark") => new Red(c) {
      when(stage(4) && parameters.ecn && arrival.ecn === Ecn.ce)(middle.action := Action.mark)
    }
    case Some("few") => new Red(c) { when(stage(8))(late.forced := middle.forced) }
    case _ => new Red(c)
  }
  val request = any(Flow(PolicyRequest(c)))
  val pause = Reg(UInt(2 bits)) init 0
  when(pause =/= 0)(pause := pause - 1)
  when(request.valid)(pause := 3)
  assume(!request.valid || pause === 0)
  dut.io.request << request
  dut.io.config << any(Flow(ConfigWrite(c)))
  dut.io.average := any(Fixed.average())
  dut.io.belowMinimum := any(Fixed.distance)
  dut.io.belowMaximum := any(Fixed.distance)
  dut.io.belowDouble := any(Fixed.doubleDistance)
  dut.io.idleSlots := any(Fixed.slots())
  dut.io.commit << any(Flow(PolicyCommit(c)))
  dut.io.clear := any(Bits(c.queues bits))

  /** What a request came with, seen at its t10. */
  val asked = new Area {
    /** a value of the request's t`stage` */
    private def at[T <: Data](stage: Int, value: T): T = Delay(value, Policy.Red.latency - stage)
    val valid = Delay(request.valid, Policy.Red.latency, init = False)
    val ecn = at(0, request.ecn)
    val draw = at(0, request.draw)
    val few = at(0, request.packets <= 1)
    val spread = at(1, dut.arrival.spread.pull())
    val byteMode = at(1, dut.arrival.byteMode.pull())
    val exempt = at(1, dut.arrival.exemptFirst.pull()) && at(4, dut.count.io.fresh.pull())
    val useEcn = at(3, dut.parameters.ecn.pull())
    val hardDrop = at(3, dut.parameters.hardDrop.pull())
    val noDrop = at(3, dut.parameters.noDrop.pull())
    val outside = at(4, dut.io.belowMinimum.msb)
    val forced = !outside && at(4, !dut.io.belowDouble.msb || !dut.io.belowMaximum.msb && !dut.parameters.gentle.pull())
    val inBand = !outside && !forced
    val average = at(4, dut.io.average)
    val idleSlots = at(4, dut.io.idleSlots)
    /** p·2^exponent·2^32 but for what is added, and its bound */
    val product = at(5, dut.t5.product.pull())
    val exponent = at(5, dut.middle.exponent.pull())
    val maxP = at(5, dut.t5.maxP.pull())
  }
  import asked.{valid => _, _}

  val verdict = dut.io.verdict
  val evidence = verdict.evidence
  val one = BigInt(1) << 32
  val early = verdict.cause === Cause.early
  val certain = verdict.cause === Cause.forced
  val marked = verdict.action === Action.mark
  val dropped = verdict.action === Action.drop
  val accepted = verdict.action === Action.accept
  /** the codepoint and the flags let the packet be marked rather than dropped */
  val gentleWith = useEcn && !(certain && hardDrop)

  when(running) {
    // g is not cut off: κ + u·h < 2^37
    when(dut.stage.passed.pull()(5) && settled)(assert(!dut.t6.gExact.pull().msb))
    assert(verdict.valid === asked.valid)
    when(verdict.valid) {
      assert(evidence.probability <= one)
      when(outside)(assert(evidence.probability === 0 && evidence.count === 0))
      when(forced)(assert(evidence.probability === one))
      when(inBand) {
        val exact = (product >> exponent) +^ maxP
        assert(evidence.probability === ((exact >= one) ? U(one, 33 bits) | exact.resize(33)))
      }
      assert(evidence.average === average && evidence.idleSlots === idleSlots)

      // the cause
      assert(early || certain || verdict.cause === Cause.none)
      assert(certain === (forced && !few))
      when(early)(assert(inBand && !few && !exempt && evidence.probability =/= 0))

      // geometric, whatever the size: u < p, exactly; uniform: one is certain
      when(inBand && !few && !exempt && byteMode === 0) {
        when(spread === 0)(assert(early === (draw @@ U(0, 8 bits) < evidence.probability)))
        when(!spread(1) && evidence.probability === one)(assert(early))
      }

      // the action
      assert(accepted || marked || dropped)
      when(!early && !certain)(assert(accepted))
      when(early || certain) {
        when(ecn === Ecn.ect0 || ecn === Ecn.ect1)(assert(Mux(gentleWith, marked, dropped)))
        when(ecn === Ecn.ce)(assert(Mux(gentleWith, accepted, dropped)))
        when(ecn === Ecn.notEct)(assert(Mux(gentleWith && noDrop, accepted, dropped)))
      }

      cover(early && dropped && evidence.probability < one && spread === 1 && evidence.count === 3)
      cover(early && marked && byteMode === 1 && spread(1))
      cover(inBand && evidence.probability === one && early)
      cover(inBand && evidence.probability > 1 && evidence.probability < one && !few && accepted)
      cover(certain && marked)
      cover(certain && dropped && useEcn && ecn === Ecn.ect0)
      cover(early && accepted && ecn === Ecn.ce)
      cover(outside && Delay(verdict.valid && certain, 4))
      cover(exempt && inBand && evidence.probability === one)
    }
  }
}
