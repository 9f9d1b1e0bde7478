package weir.formal
import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.WeirConfig
import weir.transmit.Shaper

/** The bucket is GCRA's: all time that passes counts once, TAT stands still but for charges, and a charge adds its
  * price, that of max(0, max(length, mpu) + overhead) bytes. No frame is allowed in debt, nor for four cycles after a
  * charge; the price of charges that were allowed never saturates, so no debt is forgotten. `wake` is the first
  * nanosecond without debt.
  *
  * The environment charges only what is allowed, four or more cycles apart. Cost and burst change at any time, `applied`
  * comes with the change or a cycle after it, and at any other time. Time, overhead and mpu are anything in every cycle.
  *
  * @param leak a sample is taken while a charge is under way, and its time is lost
  */
class ShaperProperties(c: WeirConfig, leak: Boolean) extends Properties {
  val dut: Shaper = if (leak) new Shaper(c) { when(step.charge2)(time.sample := time.now) } else new Shaper(c)
  private val fraction = 19

  val parameters = new Area {
    val applied = any(Bool())
    val cost = any(UInt(36 bits))
    val burst = any(UInt(32 bits))
    val changes = settled && (cost =/= RegNext(cost) || burst =/= RegNext(burst))
    val owed = RegNext(changes && !applied) init False
    assume(!owed || applied)
    val changing = changes || applied
    /** cost and burst are those of the three cycles before */
    val still = !History(changing, 0 to 3, init = True).orR
  }
  import parameters._
  dut.io.now := any(c.time)
  dut.io.cost := cost
  dut.io.burst := burst
  dut.io.overhead := any(SInt(16 bits))
  dut.io.mpu := any(c.length)
  dut.io.applied := applied

  val charge = any(Flow(c.length))
  /** charges one to five cycles ago */
  val charged = History(charge.valid, 1 to 5, init = False)
  assume(!charge.valid || (dut.io.allowed && !charged.take(3).orR))
  dut.io.charge << charge
  val priced = charged(2)

  val ahead = dut.bucket.ahead.pull()
  val price = dut.price.total.pull()
  val reference = dut.time.reference.pull()
  val passed = dut.time.passed.pull()
  val off = dut.off.pull()
  private def full(ns: UInt): UInt = (ns @@ U(0, fraction bits)).resize(54)
  val inDebt = ahead.resize(54) > full(burst)

  /** The time that the bucket was told of. */
  val credited = Reg(c.time) init 0
  when(!priced)(credited := credited + passed)

  /** What a frame that was charged in the cycle before is charged for; below 0 for nothing. */
  val sized = new Area {
    val bytes = dut.price.bytes.pull()
    val none = dut.price.none.pull()
    val length = before(charge.payload)
    val mpu = before(dut.io.mpu)
    val sum = ((length > mpu) ? length | mpu).resize(18).asSInt + before(dut.io.overhead).resize(18)
  }

  /** What `wake` was computed from. */
  val source = new Area {
    val reference = Delay(ShaperProperties.this.reference, 2)
    val ahead = Delay(ShaperProperties.this.ahead, 2)
    val pause = dut.io.wake - reference
  }

  when(running) {
    // time counts once
    when(settled)(assert(reference === credited))
    // TAT = reference + ahead stands still, or has passed, but for charges
    when(settled && before(applied))(assert(ahead === 0))
    when(settled && !before(applied)) {
      when(before(priced)) {
        assert(ahead.resize(54) === before(ahead) +^ before(price) && reference === before(reference))
      } elsewhen (ahead =/= 0) {
        assert(ahead.resize(54) === before(ahead).resize(54) - full(before(passed).resize(34)))
        assert((before(passed) >> 34) === 0)
      } otherwise (assert(before(ahead).resize(67) <= before(passed) @@ U(0, fraction bits)))
    }
    // a frame counts as mpu bytes at least, and overhead comes on top
    when(settled && charged(0)) {
      assert(sized.none === (sized.sum < 0))
      when(!sized.none)(assert(sized.bytes.resize(17).asSInt === sized.sum))
    }
    // bounded: what is allowed never saturates
    when(!changing)(assert(ahead.resize(54) <= full(burst) + (BigInt(1) << 52)))
    when(priced && !off && !changing)(assert(!inDebt))
    // the verdict
    when(settled && dut.io.allowed && !before(off))(assert(!before(inDebt) && !charged.take(4).orR))
    when(settled && !dut.io.allowed && !before(off) && !charged.take(4).orR)(assert(before(inDebt)))
    assert(dut.io.settled === !charged.orR)
    when(settled && still && dut.io.settled && !dut.io.allowed && !off) {
      assert(source.pause =/= 0 && (source.pause >> 34) === 0)
      assert(source.ahead.resize(54) <= full(burst) + full(source.pause.resize(34)))
      assert(source.ahead.resize(54) > full(burst) + full((source.pause - 1).resize(34)))
    }

    cover(dut.io.settled && still && !dut.io.allowed && !off)
    cover(charge.valid && !off && ahead =/= 0 && still)
    cover(priced && inDebt && applied)
    cover(dut.io.allowed && !off && Delay(!dut.io.allowed && still, 2) && before(dut.io.settled) && still)
    cover(priced && price > (BigInt(1) << 51))
  }
}
