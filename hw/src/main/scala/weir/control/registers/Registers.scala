package weir.control.registers

/** Short forms in which registers are declared. */
object Registers {
  import Access._
  import Kind._

  def flag(name: String, bit: Int, description: String) = Field(name, bit, bit, description)
  def bits(name: String, high: Int, low: Int, description: String) = Field(name, high, low, description)

  def constant(name: String, offset: Int, value: Value, description: String, fields: Field*) =
    Register(name, offset, ReadOnly, Constant, value, fields = fields, description = description)
  def live(name: String, offset: Int, bits: Int, description: String, fields: Field*) =
    Register(name, offset, ReadOnly, Live, bits = bits, fields = fields, description = description)
  def trigger(name: String, offset: Int, description: String, fields: Field*) =
    Register(name, offset, WriteOnly, Trigger, bits = 1, fields = fields, description = description)
  def shadow(name: String, offset: Int, bits: Int, reset: Value, description: String, fields: Field*) =
    Register(name, offset, ReadWrite, Shadow, reset, bits, fields, description)

  /** The fields of a [[Scaled]] number. */
  def scaled: Seq[Field] =
    Seq(bits("MANTISSA", 17, 0, ""), bits("EXPONENT", 29, 24, "value = MANTISSA * 2^-EXPONENT"))
}
