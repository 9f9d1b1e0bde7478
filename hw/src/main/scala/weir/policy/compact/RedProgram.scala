package weir.policy.compact
import Condition._
import weir.policy.red.RedFamily

/** RED's average and decision (docs/modules/ewma.md, docs/modules/red.md; names and formats are theirs). */
class RedProgram extends PolicyProgram(RedFamily.Red) {
  import RedProgram._

  entry(policy.name)
  step("the flags of the queue", flags = flags, when = Empty, goto = "empty")
  step("rounding of the average, 2^35", acc = half)

  label("average") // avg' = (A·avg + W36·q·2^22 + 2^35) >> 36
  step("w is 1 or 0?", x = retained, when = extreme, goto = "extreme")
  step(p = average(0))
  step(p = average(1), acc = Acc + P)
  step(acc = (Acc >> 18) + P, x = weight)
  step("q·2^22 has nothing in limb 0", p = Input.quantity(1))
  step(p = Input.quantity(2), acc = Acc + P)
  step(acc = (Acc >> 18) + P, x = retained)
  step(p = average(2))
  step(acc = Acc + P)

  label("averaged") // the region
  step("avg - min", store = average, tell = Evidence.Average, acc = Acc - minimum)
  step("avg - max; X1 = (avg - min) >> 7", x = Acc >> 7, acc = Acc - width, when = Negative, goto = "outside")
  step(p = slope(0), when = !Negative, goto = "upper")
  step(p = slope(1), acc = P0, when = Negative)
  step("(m1·X1) >> k1", acc = (Acc >> 18) + P)
  step(acc = Sum.shift, when = slope0)
  step(acc = Sum.shift, when = slope1)

  label("bounded") // p, count, countBytes
  step("p = min(2^32, …)", acc = one32, when = Over32)
  step(store = probability, tell = Evidence.Probability, acc = count)
  step("count + 1", acc = Acc + countOne)
  step("no more than 2^16 - 1", acc = count, when = Over36)
  step(acc = first, when = Fresh)
  step(store = count, tell = Evidence.Count, acc = countBytes)
  step(acc = Sum.clear, when = Fresh)
  step("countBytes + L", acc = Acc + Input.length, when = !Restarts)
  step("no more than 2^24 - 1", acc = Const((1 << 24) - 1), when = Over24)
  step(store = countBytes, x = Input.draw12, when = bytes, goto = "bytes")
  step("U·count·2^14", p = count(1))
  step(acc = P0)
  step("g = 1 + U·count", acc = (Acc >> 18) + one20)
  step(acc = one20, when = geometric)

  label("weighed") // U·ω·2^28 < p·g, as U·ω·2^10 <= (p·g - 1) >> 18
  step(acc = all36, when = Over36)
  step(x = Acc, acc = Const(-1))
  step(p = probability(0))
  step(p = probability(1), acc = Acc + P)
  step(acc = (Acc >> 18) + P)
  step(acc = Acc - Input.draw10, when = waits, goto = "wait")
  step("ω = 2", acc = Acc - Input.draw10, when = waits)
  step(effect = Effect.Select, when = !Negative)

  label("told")
  step("not the exempt first packet, nor one packet alone", effect = Effect.Spare, when = Spared)
  step(effect = Effect.Verdict)
  step(effect = Effect.ClearFresh)

  label("committed") // a selection or a drop restarts the counts
  step(acc = Sum.clear)
  step(effect = Effect.Done, when = !Acts)
  step(store = count)
  step(store = countBytes, effect = Effect.Done)

  label("wait") // also p·h >= 2^52
  step(effect = Effect.Select, when = !Negative)
  step(x = probability, when = bytes, goto = "waitBytes")
  step("p·count·2^2", p = count(1))
  step(acc = P0)
  step(acc = Acc - two34, goto = "told")
  step(effect = Effect.Spare, when = Negative)

  label("waitBytes")
  step(p = spread(0))
  step(p = spread(1), acc = P0)
  step("(p·h) >> 18", acc = (Acc >> 18) + P)
  step(acc = Acc - two34, goto = "told")
  step(effect = Effect.Spare, when = Negative)

  label("outside")
  step(effect = Effect.Verdict, goto = "committed")
  step(effect = Effect.SetFresh)

  label("upper") // acc = avg - max
  step("avg - 2·max; X2", x = Acc >> 7, acc = Acc - gentleWidth)
  step(p = gentle(0), when = !Negative, goto = "forced")
  step(p = gentle(1), acc = P0)
  step("(m2·X2) >> k2", acc = (Acc >> 18) + P)
  step(acc = Sum.shift, when = gentle0)
  step(acc = Sum.shift, when = gentle1)
  step(goto = "bounded")
  step(acc = Acc + maxP)

  label("forced")
  step(acc = one32, effect = Effect.Force)
  step(tell = Evidence.Probability, acc = count)
  step("count + 1", acc = Acc + countOne)
  step(acc = count, when = Over36)
  step(store = count, tell = Evidence.Count, acc = countBytes)
  step("countBytes + L", acc = Acc + Input.length)
  step(acc = Const((1 << 24) - 1), when = Over24)
  step(store = countBytes)
  step("not one packet alone", effect = Effect.Spare, when = Few)
  step(effect = Effect.Verdict, goto = "committed")
  step()

  label("bytes") // κ = (L·rm) >> re
  step(x = mean)
  step(p = Input.length(0))
  step(acc = P0)
  step(acc = Sum.shift)
  step(acc = Sum.shift, when = mean0)
  step(acc = Sum.shift, when = mean1)
  step(store = size, x = Acc, when = before, goto = "before")
  step("κ·count", p = count(0))
  step("h = sat36((countBytes·rm) >> re)", x = mean)
  step(p = countBytes(0))
  step(p = countBytes(1), acc = P0)
  step(acc = (Acc >> 18) + P)
  step(acc = Sum.shift, when = mean0)
  step(acc = Sum.shift, when = mean1)
  step(goto = "spread")
  step(acc = all36, when = Over36)

  label("before") // h = count·κ, all ones from 3/4 of the range on
  step(acc = P0)
  step(store = spread, acc = size)
  step(acc = Sum.shift)
  step(x = Acc)
  step("count·(κ >> 18)", p = count(0))
  step(acc = P0)
  step(acc = Acc - Const(3 << 16))
  step(acc = all36, when = !Negative)
  step(acc = spread, when = Negative)

  label("spread") // g = κ + (U·h) >> 24
  step(store = spread, x = Acc)
  step(p = Input.draw12(0))
  step(p = Input.draw12(1), acc = P0)
  step(acc = (Acc >> 18) + P)
  step(acc = (Acc >> 18) + size, goto = "weighed")
  step(acc = size, when = geometric)

  label("extreme") // w = 1: avg' = q; w = 0: avg' = avg
  step(acc = Input.quantity, goto = "averaged")
  step(acc = average, when = !weightOne)

  label("empty") // i = now - idleSince, m = (i·Rm) >> Re
  step(acc = Input.now)
  step(acc = Acc - Startup.idleSince)
  step(store = idle, acc = Input.now)
  step(store = Startup.idleSince, x = rate)
  step(p = idle(0))
  step(p = idle(1), acc = P0)
  step("Re < 18: a shift by 18 alone", p = idle(2), acc = (Acc >> 18) + P, when = !rate0, goto = "quick")
  step("(i·R) >> 36", acc = (Acc >> 18) + P, when = rate0)
  step(acc = Sum.shift, when = rate1)
  step(acc = Sum.shift, when = rate2)

  label("slots")
  step("m - 1", acc = Acc - Const(1))
  step("m - most; m = 0?", acc = Acc - Const(slotsMax - 1), when = Negative, goto = "still")
  step()
  step(acc = Sum.clear, when = !Negative)
  step(acc = Acc + Const(slotsMax))
  step("m + 1", tell = Evidence.Slots, acc = Acc + Const(1))
  step("y = (m + 1)·C", x = Acc)
  step(p = decayLow(0))
  step(p = decayLow(1), acc = P0)
  step(p = decayHigh(0), store = low, acc = (Acc >> 18) + P)
  step("y >> 27", store = middle, acc = (Acc >> 18) + P)
  step("I >= 40?", index = Index.Low, acc = Acc - Const(40 << 9))
  step(x = ln2, when = !Negative, goto = "gone")
  step("T", acc = Tables.exp2, index = Index.High)
  step("z = (f_lo·ln 2) >> 15", store = power, p = low(0))
  step(p = middle(0), acc = P0)
  step(acc = (Acc >> 18) + P)
  step(acc = Sum.shift)
  step(store = z, acc = Sum.shift)
  step("zz = ((z >> 18)^2) >> 10", x = Acc)
  step(p = z(1))
  step(acc = P0)
  step(x = Acc)
  step(p = Const(1 << 8)(0))
  step(acc = P0)
  step(acc = Sum.shift)
  step(store = square, acc = z)
  step()
  step("h = z - zz", acc = Acc - square)
  step("(T·h) >> 45", x = Acc)
  step(p = power(0))
  step(p = power(1), acc = P0)
  step(acc = (Acc >> 18) + P)
  step(acc = Sum.shift)
  step(x = Acc)
  step(p = Const(1 << 9)(0))
  step(acc = P0)
  step(acc = Sum.shift)
  step(store = square, acc = power)
  step()
  step("T - (T·h >> 45)", acc = Acc - square)
  step("A = … >> I", x = Acc)
  step(p = Tables.power(0))
  step(p = Tables.power(1), acc = P0)
  step(p = Tables.power(2), acc = (Acc >> 18) + P)
  step(acc = (Acc >> 18) + P)
  step("avg' = (A·avg + 2^35) >> 36", x = Acc, acc = half)
  step(p = average(0))
  step(p = average(1), acc = Acc + P)
  step(p = average(2), acc = (Acc >> 18) + P, goto = "averaged")
  step(acc = (Acc >> 18) + P)

  label("gone")
  step(goto = "averaged")
  step(acc = Sum.clear)

  label("still") // no idle slot: the average as ever
  step(goto = "average")
  step(acc = half)

  label("quick") // m = ((i mod 2^36)·R >> 18) + (i >> 36)·R·2^18; each part that is past the most is cut
  step(acc = Const(BigInt(1) << 36), when = Over36)
  step(store = low, p = idle(2))
  step(acc = P0)
  step(acc = Const(1 << 24), when = Over24)
  step("times 2^18, as twice 2^17", x = Acc)
  step(p = Const(1 << 17)(0))
  step(p = Const(1 << 17)(0), acc = P0)
  step(acc = Acc + P)
  step(goto = "slots")
  step(acc = Acc + low)

  override def clear(s: Program): Unit = {
    s.step("RED: avg, count, countBytes = 0", acc = Sum.clear, effect = Effect.SetFresh)
    s.step(store = average, tell = Evidence.Average)
    s.step(store = count)
    s.step(store = countBytes)
  }

  override def prepare(s: Program): Unit = {
    prepareFlags(s)
    prepareWeight(s)
    prepareThresholds(s)
    prepareScaled(s, "RED_SLOPE", Tables.narrow, slope, slope0)
    prepareScaled(s, "RED_GENTLE_SLOPE", Tables.narrow, gentle, gentle0)
    prepareScaled(s, "RED_MEAN", Tables.narrow, mean, mean0)
    prepareScaled(s, "RED_IDLE_RATE", Tables.scale, rate, rate0)
  }

  /** From the register's flags to those of the decision. */
  private def prepareFlags(s: Program): Unit = {
    def written(field: String, bit: Int = 0): Flag =
      Flag(s"$field$bit".toLowerCase, RedFamily.named("RED_FLAGS").head.field(field).low + bit)
    s.step("RED: flags as written", flags = raw("RED_FLAGS"))
    s.step(acc = mask(geometric))
    s.step(acc = Sum.clear, when = written("SPREAD"))
    s.step(acc = mask(waits), when = written("SPREAD", 1))
    s.step(store = flags, acc = Sum.clear)
    s.step(acc = mask(bytes), when = written("BYTE_MODE"))
    s.step(acc = Const(mask(bytes).value + mask(before).value), when = written("BYTE_MODE", 1))
    s.step(acc = Acc + flags)
    s.step(acc = Acc + mask(exempt), when = written("EXEMPT_FIRST"))
    s.step(acc = Acc + Const(1 << Flag.ecn), when = written("ECN"))
    s.step(acc = Acc + Const(1 << Flag.hardDrop), when = written("HARDDROP"))
    s.step(acc = Acc + Const(1 << Flag.noDrop), when = written("NODROP"))
    s.step(store = flags, acc = Sum.clear)
    s.step("count of the first packet in the band", acc = countOne, when = written("EXEMPT_FIRST"))
    s.step(store = first, x = raw("RED_MAX"))
    s.step("max·2^11, times gentle", p = Const(1 << 11)(0))
    s.step(acc = P0)
    s.step(store = width)
    s.step(acc = Sum.clear, when = !written("GENTLE"))
    s.step(store = gentleWidth)
  }

  /** W36, A = 2^36 - W36, and the decay. */
  private def prepareWeight(s: Program): Unit = {
    s.step("W36 from its two words", x = raw("RED_WEIGHT_HI"))
    s.step(p = Const(1 << 17)(0))
    s.step(acc = P0)
    s.step(x = Acc)
    s.step(p = Const(1 << 15)(0))
    s.step(acc = P0)
    s.step(acc = Acc + raw("RED_WEIGHT_LO"))
    s.step("more is 2^36", acc = one36, when = Over36)
    s.step(store = weight, acc = one36)
    s.step()
    s.step(acc = Acc - weight)
    s.step(store = retained, acc = Acc - Const(1))
    prepareExtreme(s, mask(extreme).value + mask(weightOne).value, "w = 1")
    s.step(acc = weight)
    s.step(acc = Acc - Const(1))
    prepareExtreme(s, mask(extreme).value, "w = 0")
    s.step("C from its two words: the lower 27 bits, times 2^9", x = raw("RED_DECAY_LO"))
    s.step(p = Const(1 << 9)(0))
    s.step(acc = P0)
    s.step(store = decayLow, acc = Sum.shift)
    s.step(acc = Sum.shift)
    s.step(store = decayHigh, x = raw("RED_DECAY_HI"))
    s.step("the upper 15", p = Const(1 << 5)(0))
    s.step(acc = P0, flags = flags)
    s.step(acc = Acc + decayHigh)
    s.step("w = 1: all ones", acc = Const((1 << 15) - 1), when = weightOne)
    s.step(store = decayHigh)
  }

  /** Adds `bits` to the flags if the accumulator, less than 2^36, is negative. */
  private def prepareExtreme(s: Program, bits: BigInt, note: String): Unit = {
    s.step(note, acc = Sum.shift)
    s.step(acc = Sum.shift)
    s.step(acc = Const(bits), when = Negative)
    s.step(acc = Acc + flags)
    s.step(store = flags)
  }

  private def prepareThresholds(s: Program): Unit = {
    s.step("min·2^11", x = raw("RED_MIN"))
    s.step(p = Const(1 << 11)(0))
    s.step(acc = P0)
    s.step(store = minimum, acc = width)
    s.step("(max - min)·2^11")
    s.step(acc = Acc - minimum)
    s.step(store = width)
  }

  /** mantissa·2^(18-b) to `to`, and a, one flag a shift, from the flag `from` on; exponent = 18a + b. */
  private def prepareScaled(s: Program, register: String, table: Table, to: State, from: Flag): Unit = {
    s.step(register, acc = raw(register))
    s.step(index = Index.Exponent)
    s.step(x = mask(from))
    s.step(p = table(2))
    s.step(x = table, acc = P0)
    s.step(acc = Acc + flags)
    s.step(store = flags, p = raw(register)(0))
    s.step(acc = P0)
    s.step(store = to)
  }
}

object RedProgram {
  private def raw(name: String): Raw = Raw(RedFamily.named(name).head)
  private val P0 = Sum(Zero, minus = false, P)
  private def mask(flag: Flag): Const = Const(BigInt(1) << flag.bit)

  private val half = Const(BigInt(1) << 35)
  private val one20 = Const(1 << 20)
  private val one32 = Const(BigInt(1) << 32)
  private val two34 = Const(BigInt(1) << 34)
  private val one36 = Const(BigInt(1) << 36)
  private val all36 = Const((BigInt(1) << 36) - 1)
  /** the count, and the count times 2^20 */
  private val countOne = Const((1 << 20) + 1)
  /** round(ln 2 · 2^24) · 2^12 */
  private val ln2 = Const(BigInt(11629080) << 12)
  private val slotsMax = (1 << 22) - 2

  private val geometric = Flag("geometric", 0)
  private val waits = Flag("waits", 1)
  private val bytes = Flag("bytes", 2)
  private val before = Flag("before", 3)
  val exempt: Flag = Flag("exempt", 4)
  private val slope0 = Flag("slope0", 5)
  private val slope1 = Flag("slope1", 6)
  private val gentle0 = Flag("gentle0", 7)
  private val gentle1 = Flag("gentle1", 8)
  private val mean0 = Flag("mean0", 9)
  private val mean1 = Flag("mean1", 10)
  private val rate0 = Flag("rate0", 11)
  private val rate1 = Flag("rate1", 12)
  private val rate2 = Flag("rate2", 13)
  private val extreme = Flag("extreme", 14)
  private val weightOne = Flag("weightOne", 15)

  private val flags = State("flags")
  private val retained = State("A")
  private val weight = State("W36")
  private val minimum = State("min")
  /** max - min */
  private val width = State("max-min")
  /** max with gentle, else 0 */
  private val gentleWidth = State("gentle")
  private val slope = State("slope")
  private val gentle = State("gentleSlope")
  private val maxP = raw("RED_MAXP")
  private val mean = State("1/mean")
  private val first = State("first")
  private val rate = State("idleRate")
  private val decayLow = State("Clow")
  private val decayHigh = State("Chigh")
  private val average = State("avg")
  private val count = State("count")
  private val countBytes = State("countBytes")

  private val probability = Scratch("p_b")
  private val size = Scratch("κ")
  private val spread = Scratch("h")
  private val idle = Scratch("i")
  private val low = Scratch("low")
  private val middle = Scratch("middle")
  private val power = Scratch("T")
  private val z = Scratch("z")
  private val square = Scratch("zz")
}
