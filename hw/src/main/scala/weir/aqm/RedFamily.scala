package weir.aqm

import spinal.core._
import spinal.lib._
import weir.{Policy, PolicyEngine, WeirConfig}
import weir.csr._
import weir.csr.Registers._

/** RED and the policies that share its arithmetic. */
object RedFamily extends PolicyEngine("red") {
  def build(c: WeirConfig): PolicyUnit = new RedUnit(c)

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
      shadow("RED_IDLE_RATE", 0x028, 32, Value(0), "idle slots per ns", scaled: _*),
      shadow("RED_MIN", 0x02C, 32, Value(0), "lower threshold in the queue's unit, UQ21.11"),
      shadow("RED_MAX", 0x030, 32, Value(0), "upper threshold in the queue's unit, UQ21.11"),
      shadow("RED_SLOPE", 0x034, 32, Value(0), "max_p / (max - min) * 2^17", scaled: _*),
      shadow("RED_GENTLE_SLOPE", 0x038, 32, Value(0), "(1 - max_p) / max * 2^17", scaled: _*),
      shadow("RED_MAXP", 0x03C, 32, Value(0), "max_p, UQ0.32"),
      shadow("RED_MEAN", 0x040, 32, Value(0), "2^20 / mean packet size", scaled: _*)
    )
  }
}

/** [[RedPolicy]] behind the policy ports. */
class RedUnit(c: WeirConfig) extends PolicyUnit(c) {
  private val red = new RedPolicy(c)

  /** live words of each queue */
  private val words = for (q <- 0 until c.queues) yield RedFamily.Red.registers.map { r =>
    val word = Reg(Bits(32 bits)).setName(s"queue${q}_${r.name}")
    when(io.config.valid && io.config.queue === q && io.config.word === r.word)(word := io.config.data & B(r.mask, 32 bits))
    r.name -> word
  }.toMap
  for (q <- 0 until c.queues) red.io.config(q) := RedUnit.read(words(q))
  red.io.unit := io.unit
  red.io.clear := io.clear
  red.io.hint << io.hint
  red.io.emptied << io.emptied
  red.io.request << io.request
  red.io.commit << io.commit
  io.stall := red.io.stall
  io.verdict << red.io.verdict
  io.live := red.io.live
}

object RedUnit {
  private def pick(word: String => Bits, register: String, field: String): Bits = {
    val f = RedFamily.Red.registers.find(_.name == register).get.field(field)
    word(register)(f.high downto f.low)
  }

  /** The parameters of a queue from its words. Values that hardware could not use are replaced. */
  def read(word: String => Bits): RedConfig = {
    val red = RedConfig()
    def bits(register: String, field: String) = pick(word, register, field)
    def scaled(to: Scaled, register: String): Unit = {
      to.mantissa := bits(register, "MANTISSA").asUInt
      to.exponent := bits(register, "EXPONENT").asUInt
    }
    val one = word("RED_WEIGHT_HI")(4)
    val spread = bits("RED_FLAGS", "SPREAD").asUInt
    red.weight(36) := one
    red.weight(35 downto 0) :=
      Mux(one, U(0, 36 bits), (word("RED_WEIGHT_HI")(3 downto 0) ## word("RED_WEIGHT_LO")).asUInt)
    red.decay := (word("RED_DECAY_HI")(9 downto 0) ## word("RED_DECAY_LO")).asUInt
    scaled(red.idleRate, "RED_IDLE_RATE")
    red.minimum := word("RED_MIN").asUInt
    red.maximum := word("RED_MAX").asUInt
    scaled(red.slope, "RED_SLOPE")
    scaled(red.gentleSlope, "RED_GENTLE_SLOPE")
    red.maxP := word("RED_MAXP").asUInt
    scaled(red.meanReciprocal, "RED_MEAN")
    red.spread := Mux(spread === 3, U(2, 2 bits), spread)
    red.byteMode := bits("RED_FLAGS", "BYTE_MODE").asUInt
    red.gentle := bits("RED_FLAGS", "GENTLE").lsb
    red.ecn := bits("RED_FLAGS", "ECN").lsb
    red.hardDrop := bits("RED_FLAGS", "HARDDROP").lsb
    red.noDrop := bits("RED_FLAGS", "NODROP").lsb
    red.exemptFirst := bits("RED_FLAGS", "EXEMPT_FIRST").lsb
    red
  }
}
