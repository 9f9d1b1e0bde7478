package weir.board

/** [[RgmiiMac]] at the pins of an ECP5. */
class RgmiiMacEcp5(rxTaps: Int, txTaps: Int) extends RgmiiMac {
  val parts = join(Ecp5Rgmii(rxTaps, txTaps), sampling = rgmii.rxc, receiving = rgmii.rxc)
}
