package weir.board
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.board.netfpga.AxiLiteDemux
import weir.board.pcie.{AccessCrossing, PcieCompleter}
import weir.mac.TenGigabitMac

/** Pins of an SFP+ cage: the lanes, the module's signals (without a module they are pulled high), two LEDs. */
case class SfpPins() extends Bundle {
  val rx_p, rx_n = in Bool ()
  val tx_p, tx_n = out Bool ()
  val mod_detect, los, tx_fault = in Bool ()
  val tx_disable = out Bool ()
  val rs, led = out Bits (2 bits)
}

/** NetFPGA-SUME (XC7VX690T-3FFG1761): four 10 Gb/s ports as two bumps in the wire, ports 0 and 1, and 2 and 3; registers over PCI Express.
  *
  * The vendor's PCS/PMA brings XGMII of all ports on one clock of 156.25 MHz, which is the cores' too. Its reference comes from the
  * Si5324, which is set up over I2C first. BAR 0 is 512 KiB: core n at n · 0x10000 (what is sent to port n xor 1 comes out of core n),
  * [[SumeRegisters]] at 0x40000. Button 0 is a reset, button 1 switches the bypass. LEDs: heartbeat (fast until the reference is set up), bypass; at each cage
  * link and traffic.
  *
  * @param startCycles, settleCycles of [[Si5324Setup]], at 125 MHz
  */
class NetFpgaSume(c: WeirConfig, startCycles: Int = 2500000, settleCycles: Int = 31250000) extends Component {
  private val ports = 4
  val clk200_p, clk200_n = in Bool ()
  val sfp_refclk_p, sfp_refclk_n = in Bool ()
  val pcie_refclk_p, pcie_refclk_n, pcie_reset_n = in Bool ()
  val pcie_rx_p, pcie_rx_n = in Bits (8 bits)
  val pcie_tx_p, pcie_tx_n = out Bits (8 bits)
  val sfp = Vec(SfpPins(), ports)
  val i2c_scl, i2c_sda = inout(Analog(Bool()))
  val i2c_mux_reset, sfp_clk_reset = out Bool ()
  val btn = in Bits (2 bits)
  val led = out Bits (2 bits)
  for ((cage, n) <- sfp.zipWithIndex; (name, pin) <- cage.elements) pin.setName(s"sfp${n}_$name")

  /** 125 MHz for what has to run before the ports' clock does. */
  val oscillator = new Area {
    val pins = new XilinxCells.Ibufds
    pins.I := clk200_p
    pins.IB := clk200_n
    val generator = new XilinxCells.Mmcme2(NetFpgaSume.oscillatorHz, multiply = 5, divide = 8)
    generator.CLKIN1 := pins.O
    generator.CLKFBIN := generator.CLKFBOUT
    generator.RST := False
    generator.PWRDWN := False
    val buffer = new XilinxCells.Bufg
    buffer.I := generator.CLKOUT0
  }
  val management: ClockDomain = BoardClocks.domain(oscillator.buffer.O, !oscillator.generator.LOCKED || btn(0), "management")

  val start = new ClockingArea(management) {
    val setup = new Si5324Setup(NetFpgaSume.managementHz, bitHz = 50000, startCycles, settleCycles)
    for ((pin, low, level) <- Seq((i2c_scl, setup.io.scl_low, setup.io.scl), (i2c_sda, setup.io.sda_low, setup.io.sda))) {
      val buffer = new XilinxCells.Iobuf
      buffer.I := False
      buffer.T := !low
      level := buffer.O
      buffer.IO <> pin
    }
    /** the PCS/PMA, whose reference is not there before */
    val hold = RegNext(!setup.io.done) init True
    val heart = Reg(UInt(27 bits)) init 0
    heart := heart + 1
    /** resets of the devices on I2C: 1 ms */
    val early = RegInit(True)
    when(heart(17))(early := False)
    val light = setup.io.done ? heart.msb | heart(23)
  }
  i2c_mux_reset := start.early
  sfp_clk_reset := start.early
  led(0) := start.light

  /** The ports' lanes. The first one makes what the others share. */
  val lanes = for (n <- 0 until ports) yield {
    val lane = new XilinxCells.PcsPma(shared = n == 0)
    lane.rxp := sfp(n).rx_p
    lane.rxn := sfp(n).rx_n
    lane.signal_detect := !sfp(n).los
    lane.tx_fault := sfp(n).tx_fault
    sfp(n).tx_p := lane.txp
    sfp(n).tx_n := lane.txn
    sfp(n).tx_disable := False
    sfp(n).rs := 3
    lane.setName(s"lane_$n")
  }
  private val first = lanes.head
  first.refclk_p := sfp_refclk_p
  first.refclk_n := sfp_refclk_n
  first.reset := start.hold
  for (lane <- lanes.tail) {
    lane.coreclk := first.coreclk_out
    lane.txusrclk := first.txusrclk_out
    lane.txusrclk2 := first.txusrclk2_out
    lane.qplllock := first.qplllock_out
    lane.qplloutclk := first.qplloutclk_out
    lane.qplloutrefclk := first.qplloutrefclk_out
    lane.gttxreset := first.gttxreset_out
    lane.gtrxreset := first.gtrxreset_out
    lane.txuserrdy := first.txuserrdy_out
    lane.reset_counter_done := first.reset_counter_done_out
    lane.areset_coreclk := first.areset_datapathclk_out
    lane.areset := start.hold
  }
  /** Not from the first lane's `resetdone_out`: that falls when nothing is plugged in there, and is of no concern to the others. */
  val core: ClockDomain = BoardClocks.domain(first.coreclk_out, first.areset_datapathclk_out, "core")

  val path = new ClockingArea(core) {
    val macs = for ((lane, n) <- lanes.zipWithIndex) yield {
      val mac = new TenGigabitMac
      for (clock <- Seq(mac.clocks.rx_clk, mac.clocks.tx_clk)) clock := core.readClockWire
      for (reset <- Seq(mac.clocks.rx_rst, mac.clocks.tx_rst)) reset := core.readResetWire
      mac.xgmiiRx.data := lane.xgmii_rxd
      mac.xgmiiRx.control := lane.xgmii_rxc
      lane.tie(mac.xgmiiTx, management.readClockWire)
      mac.setName(s"mac_$n")
      mac
    }
    private val states = for ((lane, n) <- lanes.zipWithIndex) yield {
      val state = PortState()
      state.locked := BufferCC(lane.core_status(0), init = False)
      state.present := BufferCC(!sfp(n).mod_detect, init = False)
      state.signal := BufferCC(!sfp(n).los, init = False)
      state.fault := BufferCC(sfp(n).tx_fault, init = False)
      state
    }

    val registers = new SumeRegisters(ports)
    registers.io.state := Vec(states)
    registers.io.clockRefused := BufferCC(start.setup.io.refused)
    for (n <- 0 until ports) registers.io.statistics(n) <> macs(n).statistics
    val bumps = for (pair <- 0 until ports / 2) yield {
      val bump = new BumpInTheWire(c).setName(s"bump_$pair")
      bump.io.bypass := registers.io.bypass(pair)
      for (side <- 0 until 2) {
        val n = 2 * pair + side
        bump.io.rx(side) << macs(n).m_axis
        macs(n).s_axis << bump.io.tx(side)
        bump.io.up(side) := states(n).locked
      }
      bump
    }

    val switch = new Debouncer(btn(1))
    registers.io.toggle := switch.press

    /** traffic is seen for about 0.1 s */
    for (n <- 0 until ports) {
      val traffic = Lights.lasting(Seq(macs(n).m_axis, macs(n).s_axis).map(stream => stream.fire && stream.tlast).orR, width = 24)
      sfp(n).led := traffic ## states(n).locked
    }
    led(1) := registers.io.bypass.orR

    val demux = new AxiLiteDemux(blocks = ports + 1, own = 0)
    for (n <- 0 until ports) bumps(n / 2).io.csr(n % 2) <> demux.io.down(n)
    registers.io.csr <> demux.io.down(ports)
  }

  /** The host's side. */
  val pcie = new Area {
    val pins = new XilinxCells.IbufdsGte2
    pins.I := pcie_refclk_p
    pins.IB := pcie_refclk_n
    pins.CEB := False
    val block = new XilinxCells.Pcie3
    block.tie()
    block.sys_clk := pins.O
    block.sys_reset := !pcie_reset_n
    block.pci_exp_rxp := pcie_rx_p
    block.pci_exp_rxn := pcie_rx_n
    pcie_tx_p := block.pci_exp_txp
    pcie_tx_n := block.pci_exp_txn

    val clock = ClockDomain(block.user_clk, block.user_reset,
      config = ClockDomainConfig(resetKind = SYNC, resetActiveLevel = HIGH))
    val host = new ClockingArea(clock) {
      private val width = AxiLiteDemux.addressWidth(ports + 1)
      val completer = new PcieCompleter(width)
      completer.cq.valid := block.m_axis_cq_tvalid
      completer.cq.tdata := block.m_axis_cq_tdata
      completer.cq.tkeep := block.m_axis_cq_tkeep
      completer.cq.tlast := block.m_axis_cq_tlast
      completer.cq.tuser := block.m_axis_cq_tuser
      block.m_axis_cq_tready := completer.cq.ready
      block.s_axis_cc_tvalid := completer.cc.valid
      block.s_axis_cc_tdata := completer.cc.tdata
      block.s_axis_cc_tkeep := completer.cc.tkeep
      block.s_axis_cc_tlast := completer.cc.tlast
      block.s_axis_cc_tuser := completer.cc.tuser
      completer.cc.ready := block.s_axis_cc_tready(0)
      /** 16 µs: the host waits for 50 µs or more */
      val crossing = new AccessCrossing(width, patienceWidth = 12, core)
      crossing.access <> completer.access
      path.demux.io.up <> crossing.axi
    }
  }
}

object NetFpgaSume {
  val oscillatorHz = 200000000
  val managementHz = 125000000
  /** of the ports and cores */
  val coreHz = 156250000
}
