package weir.aqm

import spinal.core._
import spinal.lib._
import weir.{Policy, PolicyEngine, WeirConfig}
import weir.csr._
import weir.csr.Registers.{scaled => mantissaExponent, _}

/** RED and the policies that share its arithmetic. */
object RedFamily extends PolicyEngine("red") {
  def build(c: WeirConfig): PolicyUnit = new RedPolicy(c)
  /** The time at which a queue became empty counts from before it selects a policy of the family. */
  override def rests: Boolean = false
  override def afterwards: Int = IdleDecay.latency

  object Red extends Policy(1, "red", 10) {
    val engine: Option[PolicyEngine] = Some(RedFamily)
    val registers: Seq[Register] = Seq(
      shadow("RED_FLAGS", 0x014, 32, Value(0), "variant of RED",
        bits("SPREAD", 1, 0, "0 geometric, 1 uniform, 2 uniform-wait; 3 is taken as 2"),
        bits("BYTE_MODE", 3, 2, "0 off, 1 after spreading (ns-2), 2 before (Floyd 1993)"),
        flag("GENTLE", 4, "from max to 2 max the probability rises to 1"), flag("ECN", 5, "mark ECT packets"),
        flag("HARDDROP", 6, "forced is a drop also with ECN"), flag("NODROP", 7, "accept Not-ECT packets"),
        flag("EXEMPT_FIRST", 8, "the first packet in the band is never selected by chance")),
      shadow("RED_WEIGHT_LO", 0x018, 32, Value(0), "w * 2^36, low word"),
      shadow("RED_WEIGHT_HI", 0x01C, 5, Value(0), "w * 2^36, high bits; more than 2^36 is taken as 2^36"),
      shadow("RED_DECAY_LO", 0x020, 32, Value(0), "-log2(1 - w) UQ6.36, low word"),
      shadow("RED_DECAY_HI", 0x024, 10, Value(0), "-log2(1 - w) UQ6.36, high bits"),
      shadow("RED_IDLE_RATE", 0x028, 32, Value(0), "idle slots per ns", mantissaExponent: _*),
      shadow("RED_MIN", 0x02C, 32, Value(0), "lower threshold in the queue's unit, UQ21.11"),
      shadow("RED_MAX", 0x030, 32, Value(0), "upper threshold in the queue's unit, UQ21.11"),
      shadow("RED_SLOPE", 0x034, 32, Value(0), "max_p / (max - min) * 2^17", mantissaExponent: _*),
      shadow("RED_GENTLE_SLOPE", 0x038, 32, Value(0), "(1 - max_p) / max * 2^17", mantissaExponent: _*),
      shadow("RED_MAXP", 0x03C, 32, Value(0), "max_p, UQ0.32"),
      shadow("RED_MEAN", 0x040, 32, Value(0), "2^20 / mean packet size", mantissaExponent: _*)
    )
  }

  /** Input-sensitive RED: acts earlier while the average, or the queue, rises fast. */
  object Isred extends Policy(3, "isred", 10) {
    val engine: Option[PolicyEngine] = Some(RedFamily)
    override def needs: Set[Policy] = Set(Red)
    val registers: Seq[Register] = Seq(
      shadow("ISRED_CTRL", 0x044, 32, Value(0), "what a rapid rise does to an arrival between min and max",
        bits("MODE", 1, 0, "0 certain, 1 RED's p without the wait, 2 min(1, gain * p_b); 3 is taken as 2"),
        flag("SOURCE", 2, "0 the average rises, 1 the queue")),
      shadow("ISRED_SLOPE", 0x048, 32, Value(0), "rise in queue units per ns * 2^12 that is rapid", mantissaExponent: _*),
      shadow("ISRED_GAIN", 0x04C, 32, Value(0), "gain of mode 2; less than 2^16", mantissaExponent: _*)
    )
  }

  /** Adaptive RED: max_p follows the average. */
  object Ared extends Policy(5, "ared", 10) {
    val engine: Option[PolicyEngine] = Some(RedFamily)
    override def needs: Set[Policy] = Set(Red)
    val registers: Seq[Register] = Seq(
      shadow("ARED_INTERVAL", 0x050, 32, Value(0), s"ns from tick to tick; less than ${AdaptMaxP.leastNs} is taken as that"),
      shadow("ARED_LOW", 0x054, 32, Value(0), "below it max_p falls; queue unit UQ21.11"),
      shadow("ARED_HIGH", 0x058, 32, Value(0), "above it max_p rises; queue unit UQ21.11"),
      shadow("ARED_BOTTOM", 0x05C, 32, Value(0), "max_p falls to this and no further, UQ0.32"),
      shadow("ARED_TOP", 0x060, 32, Value(0), "max_p rises to this and no further, UQ0.32"),
      shadow("ARED_INCREASE", 0x064, 32, Value(0), "max_p += min(INCREASE, max_p / 4), UQ0.32"),
      shadow("ARED_DECREASE", 0x068, 32, Value(0), "max_p *= DECREASE, UQ0.32"),
      shadow("ARED_BAND", 0x06C, 32, Value(0), "2^17 / (max - min)", mantissaExponent: _*),
      shadow("ARED_GENTLE", 0x074, 32, Value(0), "2^17 / max", mantissaExponent: _*)
    )
  }

  /** The family's registers of these names. */
  def named(names: String*): Seq[Register] = {
    val all = Red.registers ++ Isred.registers ++ Ared.registers
    names.map(name => all.find(_.name == name).get)
  }

  /** A field of a register's word. */
  def field(word: Bits, register: String, name: String): Bits = {
    val f = named(register).head.field(name)
    word(f.high downto f.low)
  }

  def scaled(word: Bits): Scaled = {
    val number = Scaled()
    number.mantissa := word(17 downto 0).asUInt
    number.exponent := word(29 downto 24).asUInt
    number
  }
}

/** max_p and what follows from it. */
case class Slopes() extends Bundle {
  /** UQ0.32 */
  val maxP = Fixed.fraction()
  /** max_p / (max − min) · 2^17 */
  val slope = Scaled()
  /** (1 − max_p) / max · 2^17 */
  val gentleSlope = Scaled()
}
