package weir.policy.compact
import Condition._
import weir.control.registers.RegisterMap

/** Programs with one fault each; `cocotb-tests/compact/test_assembler.py` holds the messages against its own.
  *
  * {{{ java … weir.policy.compact.Faults }}} prints a line `fault <name>: <message>` for each.
  */
object Faults {
  private val average = State("avg")
  private val count = State("count")
  private val kept = Scratch("kept")
  private val zeros = Table("zeros", 1, Seq.fill(64)(BigInt(0)))

  private class Faulty(override val decides: Boolean, body: Program => Unit) extends Program("faulty") {
    entry("faulty")
    body(this)
    step(effect = Effect.Done)
  }

  private def program(body: Program => Unit): () => Image = () => new Image(Seq(new Faulty(false, body)))
  private def request(body: Program => Unit): () => Image = () => new Image(Seq(new Faulty(true, body)))

  val all: Seq[(String, () => Image)] = Seq(
    "rom" -> program(p => for (_ <- 0 until 512) p.step()),
    "states" -> program(p => for (n <- 0 to 32) p.step(acc = State(s"s$n"))),
    "shared" -> program(p => for (n <- 0 to 59) p.step(acc = Const(n))),
    "constant" -> program(p => p.step(acc = Const(BigInt(1) << 47))),
    "limb" -> program(p => p.step(p = average(3))),
    "flag" -> program(p => p.step(effect = Effect.Select, when = Flag("far", 16))),
    "register" -> program(p => p.step(acc = Raw(RegisterMap.queue("MERGE_MAX_COUNT")))),
    "table size" -> program(p => p.step(acc = Table("short", 1, Seq(1)))),
    "table place" -> program(p => p.step(acc = Table("none", 5, zeros.entries))),
    "table entry" -> program(p => p.step(acc = Table("wide", 1, Seq.fill(64)(BigInt(1) << 48)))),
    "table twice" -> program { p =>
      p.step(acc = zeros)
      p.step(acc = Table("ones", 1, Seq.fill(64)(BigInt(1))))
    },
    "two words" -> program(p => p.step(acc = average, p = count(0))),
    "shift" -> program(p => p.step(acc = (Acc >> 17) + P)),
    "x shift" -> program(p => p.step(x = Acc >> 18)),
    "store" -> program(p => p.step(store = Const(1))),
    "two effects" -> program(p => p.step(flags = average, effect = Effect.Select)),
    "store, then read" -> program { p =>
      p.step(store = kept)
      p.step(acc = kept)
    },
    "index, then table" -> program { p =>
      p.step(index = Index.Low)
      p.step(acc = zeros)
    },
    "no product" -> program { p =>
      p.step(p = average(0))
      p.step()
      p.step(acc = Acc + P)
    },
    "no product at an entry" -> program(p => p.step(acc = Acc + P)),
    "early" -> request(p => p.step(acc = Input.length)),
    "stores early" -> request { p =>
      p.step()
      p.step()
      p.step(store = average)
    },
    "stores in a row" -> program(p => for (n <- 0 until 4) p.step(store = State(s"s$n"))),
    "loop" -> program { p =>
      p.label("again")
      p.step(goto = "again", when = Negative)
      p.step()
    },
    "branch in a slot" -> program { p =>
      p.step(goto = "on")
      p.step(goto = "on", when = Negative)
      p.label("on")
    },
    "label" -> program(p => p.step(goto = "nowhere")),
    "label twice" -> program { p =>
      p.label("here")
      p.step()
      p.label("here")
    },
    "end" -> (() => new Image(Seq(new Program("endless") {
      entry("endless")
      step()
    }))),
    "end and branch" -> program(p => p.step(effect = Effect.Done, when = Negative, goto = "faulty")),
    "unreachable" -> program { p =>
      p.step(effect = Effect.Done)
    },
    "entry" -> (() => {
      val image = new Image(Seq(new Faulty(false, _.step())))
      image.entry("other")
      image
    }),
    "entry twice" -> (() => new Image(Seq(new Faulty(false, _.step()), new Faulty(false, _.step()))))
  )

  def main(arguments: Array[String]): Unit = for ((name, make) <- all) println(s"fault $name: " + (
    try {
      make()
      "none"
    } catch { case e: ProgramError => e.getMessage }))
}
