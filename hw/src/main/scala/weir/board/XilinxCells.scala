package weir.board
import spinal.core._
import weir.board.pcie.PcieBeat
import weir.mac.XgmiiWord

/** Cells of Xilinx's 7 series (UG953) and cores that come with Vivado without a fee; `fpga-boards/netfpga-sume/ip.tcl` makes the cores.
  *
  * The cores' ports are those of Vivado 2024.2 (ten_gig_eth_pcs_pma 6.0, pcie3_7x 4.3); outputs that nobody needs are left out. Models
  * for simulation are in `cocotb-tests/models/xilinx_cells.v`.
  */
object XilinxCells {
  /** A clock's pair of pins. */
  class Ibufds extends BlackBox {
    setDefinitionName("IBUFDS")
    val I, IB = in Bool ()
    val O = out Bool ()
  }

  /** The pair of pins of a transceiver's reference clock. */
  class IbufdsGte2 extends BlackBox {
    setDefinitionName("IBUFDS_GTE2")
    val I, IB, CEB = in Bool ()
    val O = out Bool ()
  }

  /** A clock net of the whole device. */
  class Bufg extends BlackBox {
    setDefinitionName("BUFG")
    val I = in Bool ()
    val O = out Bool ()
  }

  /** A pin in both directions; high `T` lets go of it. */
  class Iobuf extends BlackBox {
    setDefinitionName("IOBUF")
    val I, T = in Bool ()
    val O = out Bool ()
    val IO = inout(Analog(Bool()))
  }

  /** f(out) = f(in) · multiply / divide, f(VCO) = f(in) · multiply; limits of speed grade 3: DS183. */
  class Mmcme2(inputHz: Int, multiply: Int, divide: Int) extends BlackBox {
    private val vco = inputHz.toLong * multiply
    require(vco >= 600000000L && vco <= 1600000000L, s"Mmcme2.multiply=$multiply: the VCO would run at $vco Hz, allowed are 600 to 1600 MHz")
    require(divide >= 1 && divide <= 128, s"Mmcme2.divide=$divide must be 1 to 128; try 8")
    setDefinitionName("MMCME2_BASE")
    addGeneric("CLKIN1_PERIOD", 1e9 / inputHz)
    addGeneric("CLKFBOUT_MULT_F", multiply.toDouble)
    addGeneric("CLKOUT0_DIVIDE_F", divide.toDouble)
    val CLKIN1, CLKFBIN, RST, PWRDWN = in Bool ()
    val CLKOUT0, CLKFBOUT, LOCKED = out Bool ()
  }

  /** 10GBASE-R PCS/PMA (PG068) with 64-bit XGMII on `coreclk`, 156.25 MHz; received words come through its elastic buffer. Its DRP port is
    * closed in itself; of its configuration vector only the 125 µs timer is set: no loopback, no test.
    *
    * @param shared makes the clocks and resets for the others of the quad ("shared logic in core"), or takes them
    */
  class PcsPma(shared: Boolean) extends BlackBox {
    setDefinitionName(if (shared) "weir_pcs_pma_shared" else "weir_pcs_pma")
    val dclk, sim_speedup_control, rxp, rxn, signal_detect, tx_fault, drp_gnt = in Bool ()
    val xgmii_txd = in Bits (64 bits)
    val xgmii_txc = in Bits (8 bits)
    val xgmii_rxd = out Bits (64 bits)
    val xgmii_rxc = out Bits (8 bits)
    val txp, txn = out Bool ()
    val configuration_vector = in Bits (536 bits)
    /** bit 0: the PCS has locked onto blocks */
    val core_status = out Bits (8 bits)
    val pma_pmd_type = in Bits (3 bits)
    val drp_den_o, drp_dwe_o, drp_drdy_o = out Bool ()
    val drp_daddr_o, drp_di_o, drp_drpdo_o = out Bits (16 bits)
    val drp_den_i, drp_dwe_i, drp_drdy_i = in Bool ()
    val drp_daddr_i, drp_di_i, drp_drpdo_i = in Bits (16 bits)

    val refclk_p, refclk_n, reset = if (shared) in Bool () else null
    val coreclk_out, txusrclk_out, txusrclk2_out, qplllock_out, qplloutclk_out, qplloutrefclk_out, gttxreset_out, gtrxreset_out,
      txuserrdy_out, reset_counter_done_out, areset_datapathclk_out, resetdone_out = if (shared) out Bool () else null
    val coreclk, txusrclk, txusrclk2, qplllock, qplloutclk, qplloutrefclk, gttxreset, gtrxreset, txuserrdy, reset_counter_done,
      areset_coreclk, areset = if (shared) null else in Bool ()

    /** Ties what every one of them has. */
    def tie(transmit: XgmiiWord, management: Bool): Unit = {
      dclk := management
      xgmii_txd := transmit.data
      xgmii_txc := transmit.control
      sim_speedup_control := False
      configuration_vector := B(PcsPma.timer << 384, 536 bits)
      pma_pmd_type := PcsPma.shortRange
      drp_gnt := True
      drp_den_i := drp_den_o
      drp_dwe_i := drp_dwe_o
      drp_drdy_i := drp_drdy_o
      drp_daddr_i := drp_daddr_o
      drp_di_i := drp_di_o
      drp_drpdo_i := drp_drpdo_o
    }
  }

  object PcsPma {
    /** 10GBASE-SR; what a host would read, no behaviour of the core depends on it */
    val shortRange = 7
    /** 125 µs at 156.25 MHz, bits 399:384 of the vector, as the vendor's example sets them */
    val timer: BigInt = 0x4C4B
  }

  /** Gen3 block for PCI Express (PG023) as eight lanes of 2.5 GT/s, 64 bits at 250 MHz, clocks made inside ("shared logic in core"). */
  class Pcie3 extends BlackBox {
    setDefinitionName("weir_pcie")
    val sys_clk, sys_reset = in Bool ()
    val pci_exp_rxp, pci_exp_rxn = in Bits (8 bits)
    val pci_exp_txp, pci_exp_txn = out Bits (8 bits)
    val int_pclk_sel_slave = in Bits (8 bits)
    val user_clk, user_reset, user_lnk_up = out Bool ()

    val m_axis_cq_tdata = out Bits (64 bits)
    val m_axis_cq_tkeep = out Bits (2 bits)
    val m_axis_cq_tlast, m_axis_cq_tvalid = out Bool ()
    val m_axis_cq_tuser = out Bits (PcieBeat.requestUser bits)
    val m_axis_cq_tready = in Bool ()
    val pcie_cq_np_req = in Bool ()

    val s_axis_cc_tdata = in Bits (64 bits)
    val s_axis_cc_tkeep = in Bits (2 bits)
    val s_axis_cc_tlast, s_axis_cc_tvalid = in Bool ()
    val s_axis_cc_tuser = in Bits (PcieBeat.completionUser bits)
    /** the same four times */
    val s_axis_cc_tready = out Bits (4 bits)

    /** what the device would ask of the host, which it never does */
    val s_axis_rq_tdata = in Bits (64 bits)
    val s_axis_rq_tkeep = in Bits (2 bits)
    val s_axis_rq_tlast, s_axis_rq_tvalid = in Bool ()
    val s_axis_rq_tuser = in Bits (60 bits)
    val m_axis_rc_tready = in Bool ()

    val cfg_interrupt_int = in Bits (4 bits)
    val cfg_interrupt_pending = in Bits (2 bits)
    val cfg_interrupt_msi_int = in Bits (32 bits)
    val cfg_interrupt_msi_pending_status = in Bits (64 bits)
    val cfg_interrupt_msi_select = in Bits (4 bits)
    val cfg_interrupt_msi_attr, cfg_interrupt_msi_function_number = in Bits (3 bits)
    val cfg_interrupt_msi_tph_present = in Bool ()
    val cfg_interrupt_msi_tph_type = in Bits (2 bits)
    val cfg_interrupt_msi_tph_st_tag = in Bits (9 bits)

    val cfg_mgmt_addr = in Bits (19 bits)
    val cfg_mgmt_write, cfg_mgmt_read, cfg_mgmt_type1_cfg_reg_access = in Bool ()
    val cfg_mgmt_write_data = in Bits (32 bits)
    val cfg_mgmt_byte_enable = in Bits (4 bits)
    val cfg_msg_transmit = in Bool ()
    val cfg_msg_transmit_type = in Bits (3 bits)
    val cfg_msg_transmit_data = in Bits (32 bits)
    val cfg_fc_sel = in Bits (3 bits)
    val cfg_per_func_status_control, cfg_per_function_number = in Bits (3 bits)
    val cfg_per_function_output_request = in Bool ()
    val cfg_subsys_vend_id = in Bits (16 bits)
    val cfg_dsn = in Bits (64 bits)
    val cfg_power_state_change_ack, cfg_err_cor_in, cfg_err_uncor_in, cfg_link_training_enable, cfg_config_space_enable,
      cfg_req_pm_transition_l23_ready, cfg_hot_reset_in = in Bool ()
    val cfg_flr_done = in Bits (2 bits)
    val cfg_vf_flr_done = in Bits (6 bits)
    val cfg_ds_port_number, cfg_ds_bus_number = in Bits (8 bits)
    val cfg_ds_device_number = in Bits (5 bits)
    val cfg_ds_function_number = in Bits (3 bits)

    /** Everything that is the same at all times. */
    def tie(): Unit = {
      for (signal <- Seq(pcie_cq_np_req, m_axis_rc_tready, cfg_power_state_change_ack, cfg_link_training_enable, cfg_config_space_enable))
        signal := True
      cfg_subsys_vend_id := XilinxCells.vendor
      for (signal <- Seq[BaseType](s_axis_rq_tdata, s_axis_rq_tkeep, s_axis_rq_tlast, s_axis_rq_tvalid, s_axis_rq_tuser, int_pclk_sel_slave,
          cfg_interrupt_int, cfg_interrupt_pending, cfg_interrupt_msi_int, cfg_interrupt_msi_pending_status, cfg_interrupt_msi_select,
          cfg_interrupt_msi_attr, cfg_interrupt_msi_function_number, cfg_interrupt_msi_tph_present, cfg_interrupt_msi_tph_type,
          cfg_interrupt_msi_tph_st_tag, cfg_mgmt_addr, cfg_mgmt_write, cfg_mgmt_read, cfg_mgmt_type1_cfg_reg_access, cfg_mgmt_write_data,
          cfg_mgmt_byte_enable, cfg_msg_transmit, cfg_msg_transmit_type, cfg_msg_transmit_data, cfg_fc_sel, cfg_per_func_status_control,
          cfg_per_function_number, cfg_per_function_output_request, cfg_dsn, cfg_err_cor_in, cfg_err_uncor_in,
          cfg_req_pm_transition_l23_ready, cfg_hot_reset_in, cfg_flr_done, cfg_vf_flr_done, cfg_ds_port_number, cfg_ds_bus_number,
          cfg_ds_device_number, cfg_ds_function_number)) signal match {
        case bit: Bool => bit := False
        case bits: Bits => bits := 0
      }
    }
  }

  /** Xilinx's, which the IP core uses too */
  val vendor = 0x10EE
}
