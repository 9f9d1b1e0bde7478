package weir.common
import spinal.core._

/** A product of up to 36 × 36 bits from one 18 × 18 multiplier, for work that has time.
  *
  * Latency: `done` and `product` come 7 cycles after `start`; the operands must hold until then. `product` holds until
  * the next start. A start while it works begins anew.
  */
case class SerialMultiplier() extends Component {
  val io = new Bundle {
    val start = in Bool ()
    val a, b = in(UInt(36 bits))
    val done = out Bool ()
    val product = out(UInt(72 bits))
  }
  noIoPrefix()
  private val limb = PartialProducts.limb

  /** pass n multiplies limb n[1] of a by limb n[0] of b */
  val choose = new Area {
    val pass = Reg(UInt(3 bits)) init 4
    when(!pass.msb)(pass := pass + 1)
    when(io.start)(pass := 0)
    val valid = !pass.msb
    val a = RegNextWhen(Mux(pass(1), io.a(35 downto limb), io.a(limb - 1 downto 0)), valid)
    val b = RegNextWhen(Mux(pass(0), io.b(35 downto limb), io.b(limb - 1 downto 0)), valid)
  }

  val multiply = new Area {
    val valid = RegNext(choose.valid && !io.start) init False
    val pass = RegNextWhen(choose.pass, choose.valid)
    val product = Multiply(choose.a, choose.b)
  }

  /** The first product starts the sum, the middle ones count 2^18, the last 2^36. */
  val accumulate = new Area {
    val valid = RegNext(multiply.valid && !io.start) init False
    val pass = RegNextWhen(multiply.pass, multiply.valid)
    val low = Reg(UInt(limb bits))
    val high = Reg(UInt(72 - limb bits))
    val last = pass === 3
    val shifted = Mux(last, multiply.product << limb, multiply.product.resize(2 * limb + limb))
    when(valid) {
      high := high + shifted
      when(pass === 0) {
        low := multiply.product(limb - 1 downto 0)
        high := (multiply.product >> limb).resize(72 - limb)
      }
    }
    val done = RegNext(valid && last && !io.start) init False
  }
  io.done := accumulate.done
  io.product := accumulate.high @@ accumulate.low
}
