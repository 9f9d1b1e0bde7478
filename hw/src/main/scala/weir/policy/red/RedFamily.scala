package weir.policy.red
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.common.Fixed
import weir.control.registers.{Register, Scaled, Value}
import weir.control.registers.Registers.{scaled => mantissaExponent, _}
import weir.control.trace.{TraceField, TracePart}
import weir.policy.{Parameter, Parameters, Plot, Policy, PolicyEngine, PolicyUnit}

/** RED and the policies that share its arithmetic. */
object RedFamily extends PolicyEngine("red") {
  def build(c: WeirConfig): PolicyUnit = new RedPolicy(c)
  /** The time at which a queue became empty counts from before it selects a policy of the family. */
  override def rests: Boolean = false
  override def afterwards: Int = IdleDecay.latency

  object Red extends Policy(1, "red", 10) {
    import Parameters._

    val help = "random early detection: drops or marks by the average queue"
    val source = "Floyd & Jacobson 1993; tc-red(8); ns-2.35 red.cc"
    val acts = "arrival, average"
    override val plot: Plot = Plot.Average
    override val bench = "min 50KB max 150KB probability 0.1 ecn on"
    override val parameters: Seq[Parameter] = Seq(
      amount("min", 0, "max/3", "tc-red min, ns-2 thresh_", "average above which packets are selected by chance",
        "it is not above max"),
      amount("max", 1, "3*min, or limit/4", "tc-red max, ns-2 maxthresh_",
        "average at which the chance is `probability`; above it, certain or gentle",
        "the buffer holds no more; without a max it is 3*min"),
      number("probability", "", BigDecimal("1e-6"), 1, "0.02", "tc-red probability, ns-2 1/linterm_",
        "max_p, the chance at max",
        "it is the chance at max, e.g. 0.02"),
      length("avpkt", 16, "1000", "tc-red avpkt, ns-2 mean_pktsize_", "typical packet: idle slots, burst, byte mode",
        "give the length of a typical packet"),
      count("burst", "packets", 1, 1000000, "(2*min+max)/(3*avpkt)", "tc-red burst",
        "burst that is let through; gives the weight", "or give weight instead").copy(optional = true),
      number("weight", "", BigDecimal(1) / 65536, 1, "from burst", "Floyd & Jacobson 1993, ns-2 q_weight_",
        "weight w of the moving average; over burst", "or give burst and let it be derived"),
      rate("bandwidth", "the link's rate", "tc-red bandwidth",
        "rate by which an idle queue's average decays: a slot is avpkt*8/bandwidth",
        "give the rate at which the queue empties"),
      switch("gentle", "off", "ns-2 gentle_", "between max and 2*max the chance rises to 1"),
      switch("ecn", "off", "tc-red ecn, ns-2 setbit_", "mark ECT packets instead of dropping them"),
      switch("harddrop", "off", "tc-red harddrop", "drop above max also what could be marked"),
      switch("nodrop", "off", "tc-red nodrop", "never drop by chance what cannot be marked; needs ecn"),
      choice("spread", Seq("geometric", "uniform", "uniform-wait"), "uniform",
        "Floyd & Jacobson 1993 section 7, ns-2 wait_", "how selected packets are spread"),
      choice("bytemode", Seq("off", "after", "before"), "off",
        "ns-2 bytes_ (after), Floyd & Jacobson 1993 (before); RFC 7141 advises off",
        "scale the chance by length/avpkt, after or before spreading"),
      switch("exempt_first", "on; off with geometric", "ns-2 red.cc; Linux",
        "the first packet in the band counts and is never selected by chance"),
      switch("adaptive", "off; on with ared", "tc-red adaptive, adaptative",
        "adapt max_p to the average: the policy becomes ared, or red with off").copy(optional = true))
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
    import Parameters._

    val help = "input-sensitive RED: acts earlier while the average rises fast"
    val source = "ISRED; its edrop() is ours"
    val acts = "arrival, average and its slope"
    override val plot: Plot = Plot.Average
    override val demo: Option[(String, String)] = Some((
      "limit 100KB min 10KB max 30KB probability 0.1 avpkt 1000 burst 20 ecn on slope 20000",
      "RED that acts earlier while the average rises fast."))
    override val bench = "min 50KB max 150KB probability 0.1 ecn on"
    override val parameters: Seq[Parameter] = Seq(
      number("slope", "queue unit/s", BigDecimal("0.001"), BigDecimal(10000000000L), "0.8*limit", "ISRED",
        "rise a second from which arrivals between min and max are treated by `mode`",
        "give queue units a second, e.g. 0.8 times the limit"),
      choice("mode", Seq("certain", "chance", "gain"), "certain", "Weir (edrop of ISRED)",
        "what a rapid rise does: drop or mark; RED's chance without the wait; min(1, gain*p_b)"),
      number("gain", "", BigDecimal("0.001"), 1000, "2", "Weir (edrop of ISRED)", "factor of RED's chance in mode gain",
        "it is a factor of RED's chance, e.g. 2"),
      choice("source", Seq("avg", "q"), "avg", "Weir", "whose rise is taken: the average's or the queue's"))
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
    import Parameters._

    val help = "adaptive RED: max_p follows the average; also red with adaptive"
    val source = "Floyd, Gummadi, Shenker 2001; tc-red(8) adaptive"
    val acts = "arrival; tick adapts max_p"
    override val plot: Plot = Plot.Average
    override val demo: Option[(String, String)] = Some((
      "limit 100KB min 10KB max 30KB probability 0.1 avpkt 1000 burst 20 ecn on interval 1ms",
      "RED whose max_p follows the average, every millisecond."))
    override val bench = "min 50KB max 150KB probability 0.1 interval 100us ecn on"
    override val parameters: Seq[Parameter] = Seq(
      time("interval", 100, "500ms", "Floyd 2001 interval, tc-red", "time from one change of max_p to the next",
        "Floyd's is 500ms"),
      amount("low", 0, "min+0.4*(max-min)", "Floyd 2001 target", "average below which max_p falls",
        "it is between min and high"),
      amount("high", 0, "min+0.6*(max-min)", "Floyd 2001 target", "average above which max_p rises",
        "it is between low and max"),
      number("bottom", "", BigDecimal("1e-6"), 1, "0.01", "ns-2 bottom_", "least max_p", "Floyd's is 0.01"),
      number("top", "", BigDecimal("1e-6"), 1, "0.5", "ns-2 top_", "largest max_p", "Floyd's is 0.5"),
      number("alpha", "", 0, 1, "0.01", "Floyd 2001 alpha, ns-2 alpha_",
        "max_p rises by this, or by max_p/4 if that is less",
        "Floyd's is 0.01"),
      number("beta", "", 0, 1, "0.9", "Floyd 2001 beta, ns-2 beta_", "max_p falls to this share of itself",
        "Floyd's is 0.9"))
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
    override val tickState: Seq[TraceField] = Seq(
      tick("max_p", "max_p after the tick, UQ0.32", fraction = 32)(TracePart(3, 31, 0)),
      tick("average", "the average it used, UQ21.11", fraction = 11)(TracePart(4, 31, 0)),
      tick("slope", "slope, as RED_SLOPE holds it")(TracePart(5, 31, 0)),
      tick("gentle_slope", "gentle slope, as RED_GENTLE_SLOPE holds it")(TracePart(6, 31, 0)))
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
