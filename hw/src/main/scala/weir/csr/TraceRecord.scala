package weir.csr

import spinal.core._
import weir.WeirConfig
import weir.aqm.Action
import weir.buffer.{Descriptor, Fill}

/** A trace record: 12 words of 32 bits, word 0 in the lowest bits (docs/modules/trace.md). */
object TraceRecord {
  val words = 12
  val width: Int = 32 * words
  val kindArrival = 0
  val kindDeparture = 1
  val kindTick = 2
}

/** What the record of a departure is made of: a third of its words are 0, and are not kept. */
case class DepartureRecord(c: WeirConfig) extends Bundle {
  val time, sojournNs = c.time
  val queue = c.queueId
  val discard = Bool()
  val cause = UInt(3 bits)
  /** of the packet */
  val ecn = UInt(2 bits)
  val exempt, mark = Bool()
  val length = c.length
  val sequence = UInt(32 bits)
  /** of its queue afterwards */
  val bytes = c.quantity
  val packets, frames = c.count

  def packet(descriptor: Descriptor): Unit = {
    ecn := descriptor.ecn
    exempt := descriptor.exempt
    mark := descriptor.mark
    length := descriptor.length
    sequence := descriptor.sequence
  }

  def fill(after: Fill): Unit = {
    bytes := after.bytes
    packets := after.packets
    frames := after.frames
  }

  def words: Bits = {
    val action = Mux(discard, U(Action.drop, 2 bits), Mux(mark, U(Action.mark, 2 bits), U(Action.accept, 2 bits)))
    Vec(
      time(31 downto 0).asBits,
      B(0, 1 bit) ## exempt ## ecn ## cause.resize(4) ## action ##
        U(TraceRecord.kindDeparture, 2 bits) ## queue.resize(4) ## time(47 downto 32),
      (mark ## length).resize(32),
      bytes.asBits.resize(32),
      frames ## packets,
      sojournNs(31 downto 0).asBits,
      sojournNs(47 downto 32).asBits.resize(32),
      B(0, 32 bits), B(0, 32 bits), B(0, 32 bits), B(0, 32 bits),
      sequence.asBits
    ).asBits
  }
}
