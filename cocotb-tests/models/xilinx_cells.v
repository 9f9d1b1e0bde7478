// Models of what fpga-boards/netfpga-sume and RgmiiMac7Series take from Xilinx, for simulation, lint and synthesis without the vendor's tools: cells
// of the 7 series (UG471, UG953), and the ports of two cores (PG068, PG023) behind which a bench stands. Clocks and received words are driven by the
// bench. Delays are not modelled.

module IBUFDS (input I, IB, output O);
  assign O = I;
endmodule

module IBUFDS_GTE2 (input I, IB, CEB, output O);
  assign O = I & ~CEB;
endmodule

module BUFG (input I, output O);
  assign O = I;
endmodule

module BUFIO (input I, output O);
  assign O = I;
endmodule

module BUFR #(parameter string BUFR_DIVIDE = "BYPASS") (input I, CE, CLR, output O);
  initial if (BUFR_DIVIDE != "BYPASS") $fatal(1, "BUFR: %s is not modelled", BUFR_DIVIDE);
  assign O = I;
endmodule

// Where each value is seen is what the modes differ in: with SAME_EDGE_PIPELINED both at the rising edge after the falling one, with SAME_EDGE the
// first one a cycle earlier, with OPPOSITE_EDGE each behind its own edge.
module IDDR #(parameter string DDR_CLK_EDGE = "OPPOSITE_EDGE", SRTYPE = "SYNC") (input C, CE, D, R, S, output Q1, Q2);
  reg rising, falling, first, second;
  always @(posedge C)
    if (R) {rising, first, second} <= 0;
    else if (S) {rising, first, second} <= 3'b111;
    else if (CE) begin
      rising <= D;
      first <= rising;
      second <= falling;
    end
  always @(negedge C)
    if (R) falling <= 0;
    else if (S) falling <= 1;
    else if (CE) falling <= D;
  assign Q1 = DDR_CLK_EDGE == "SAME_EDGE_PIPELINED" ? first : rising;
  assign Q2 = DDR_CLK_EDGE == "OPPOSITE_EDGE" ? falling : second;
endmodule

// With OPPOSITE_EDGE the second value is taken at the falling edge, half a cycle later.
module ODDR #(parameter string DDR_CLK_EDGE = "OPPOSITE_EDGE", SRTYPE = "SYNC") (input C, CE, D1, D2, R, S, output Q);
  reg high, low, late;
  always @(posedge C)
    if (R) {high, low} <= 0;
    else if (S) {high, low} <= 2'b11;
    else if (CE) {high, low} <= {D1, D2};
  always @(negedge C)
    if (R) late <= 0;
    else if (S) late <= 1;
    else if (CE) late <= D2;
  assign Q = C ? high : DDR_CLK_EDGE == "SAME_EDGE" ? low : late;
endmodule

module IDELAYE2 #(
  parameter string IDELAY_TYPE = "FIXED", DELAY_SRC = "IDATAIN", SIGNAL_PATTERN = "DATA", HIGH_PERFORMANCE_MODE = "FALSE",
  parameter IDELAY_VALUE = 0, parameter real REFCLK_FREQUENCY = 200.0
) (input IDATAIN, DATAIN, C, CE, INC, LD, LDPIPEEN, REGRST, CINVCTRL, input [4:0] CNTVALUEIN, output DATAOUT);
  initial if (IDELAY_TYPE != "FIXED") $fatal(1, "IDELAYE2: %s is not modelled", IDELAY_TYPE);
  assign DATAOUT = DELAY_SRC == "IDATAIN" ? IDATAIN : DATAIN;
endmodule

module IDELAYCTRL (input REFCLK, RST, output RDY);
  reg ready;
  always @(posedge REFCLK or posedge RST) ready <= ~RST;
  assign RDY = ready;
endmodule

// A pull-up is on the board; `other` is what the devices on the bus do, 0 if they pull.
module IOBUF (input I, T, output O, inout IO);
  reg other = 1;
  assign O = other & (T | I);
endmodule

module MMCME2_BASE #(
  parameter real CLKIN1_PERIOD = 0.0, CLKFBOUT_MULT_F = 5.0, CLKOUT0_DIVIDE_F = 1.0
) (input CLKIN1, CLKFBIN, RST, PWRDWN, output CLKOUT0, CLKFBOUT, LOCKED);
  reg clock = 0, lock = 0;
  assign CLKOUT0 = clock;
  assign CLKFBOUT = CLKIN1;
  assign LOCKED = lock & ~RST;
endmodule

module weir_pcs_pma_shared (
  input dclk, sim_speedup_control, rxp, rxn, signal_detect, tx_fault, drp_gnt, refclk_p, refclk_n, reset,
  input [63:0] xgmii_txd, input [7:0] xgmii_txc, output [63:0] xgmii_rxd, output [7:0] xgmii_rxc, output txp, txn,
  input [535:0] configuration_vector, output [7:0] core_status, input [2:0] pma_pmd_type,
  output drp_den_o, drp_dwe_o, drp_drdy_o, output [15:0] drp_daddr_o, drp_di_o, drp_drpdo_o,
  input drp_den_i, drp_dwe_i, drp_drdy_i, input [15:0] drp_daddr_i, drp_di_i, drp_drpdo_i,
  output coreclk_out, txusrclk_out, txusrclk2_out, qplllock_out, qplloutclk_out, qplloutrefclk_out, gttxreset_out, gtrxreset_out,
  output txuserrdy_out, reset_counter_done_out, areset_datapathclk_out, resetdone_out
);
  reg clock = 0, lock = 0;
  reg [63:0] rxd = 64'h0707070707070707;
  reg [7:0] rxc = 8'hFF;
  wire [63:0] txd = xgmii_txd;
  wire [7:0] txc = xgmii_txc;
  assign coreclk_out = clock;
  assign {txusrclk_out, txusrclk2_out} = {2{clock}};
  assign {qplllock_out, txuserrdy_out, reset_counter_done_out} = {3{~reset}};
  // the receiver's too: without a signal it is never done
  assign resetdone_out = ~reset & signal_detect;
  assign {qplloutclk_out, qplloutrefclk_out} = 0;
  assign {gttxreset_out, gtrxreset_out, areset_datapathclk_out} = {3{reset}};
  assign {xgmii_rxd, xgmii_rxc} = {rxd, rxc};
  assign core_status = {7'd0, lock & signal_detect};
  assign {txp, txn} = {xgmii_txd[0], ~xgmii_txd[0]};
  assign {drp_den_o, drp_dwe_o, drp_drdy_o, drp_daddr_o, drp_di_o, drp_drpdo_o} = 0;
endmodule

module weir_pcs_pma (
  input dclk, sim_speedup_control, rxp, rxn, signal_detect, tx_fault, drp_gnt,
  input [63:0] xgmii_txd, input [7:0] xgmii_txc, output [63:0] xgmii_rxd, output [7:0] xgmii_rxc, output txp, txn,
  input [535:0] configuration_vector, output [7:0] core_status, input [2:0] pma_pmd_type,
  output drp_den_o, drp_dwe_o, drp_drdy_o, output [15:0] drp_daddr_o, drp_di_o, drp_drpdo_o,
  input drp_den_i, drp_dwe_i, drp_drdy_i, input [15:0] drp_daddr_i, drp_di_i, drp_drpdo_i,
  input coreclk, txusrclk, txusrclk2, qplllock, qplloutclk, qplloutrefclk, gttxreset, gtrxreset, txuserrdy, reset_counter_done,
  input areset_coreclk, areset
);
  reg lock = 0;
  reg [63:0] rxd = 64'h0707070707070707;
  reg [7:0] rxc = 8'hFF;
  wire [63:0] txd = xgmii_txd;
  wire [7:0] txc = xgmii_txc;
  assign {xgmii_rxd, xgmii_rxc} = {rxd, rxc};
  assign core_status = {7'd0, lock & signal_detect};
  assign {txp, txn} = {xgmii_txd[0], ~xgmii_txd[0]};
  assign {drp_den_o, drp_dwe_o, drp_drdy_o, drp_daddr_o, drp_di_o, drp_drpdo_o} = 0;
endmodule

module weir_pcie (
  input sys_clk, sys_reset, input [7:0] pci_exp_rxp, pci_exp_rxn, output [7:0] pci_exp_txp, pci_exp_txn, input [7:0] int_pclk_sel_slave,
  output user_clk, user_reset, user_lnk_up,
  output [63:0] m_axis_cq_tdata, output [1:0] m_axis_cq_tkeep, output m_axis_cq_tlast, m_axis_cq_tvalid, output [84:0] m_axis_cq_tuser,
  input m_axis_cq_tready, pcie_cq_np_req,
  input [63:0] s_axis_cc_tdata, input [1:0] s_axis_cc_tkeep, input s_axis_cc_tlast, s_axis_cc_tvalid, input [32:0] s_axis_cc_tuser,
  output [3:0] s_axis_cc_tready,
  input [63:0] s_axis_rq_tdata, input [1:0] s_axis_rq_tkeep, input s_axis_rq_tlast, s_axis_rq_tvalid, input [59:0] s_axis_rq_tuser,
  input m_axis_rc_tready,
  input [3:0] cfg_interrupt_int, input [1:0] cfg_interrupt_pending, input [31:0] cfg_interrupt_msi_int,
  input [63:0] cfg_interrupt_msi_pending_status, input [3:0] cfg_interrupt_msi_select,
  input [2:0] cfg_interrupt_msi_attr, cfg_interrupt_msi_function_number, input cfg_interrupt_msi_tph_present,
  input [1:0] cfg_interrupt_msi_tph_type, input [8:0] cfg_interrupt_msi_tph_st_tag,
  input [18:0] cfg_mgmt_addr, input cfg_mgmt_write, cfg_mgmt_read, cfg_mgmt_type1_cfg_reg_access, input [31:0] cfg_mgmt_write_data,
  input [3:0] cfg_mgmt_byte_enable, input cfg_msg_transmit, input [2:0] cfg_msg_transmit_type, input [31:0] cfg_msg_transmit_data,
  input [2:0] cfg_fc_sel, cfg_per_func_status_control, cfg_per_function_number, input cfg_per_function_output_request,
  input [15:0] cfg_subsys_vend_id, input [63:0] cfg_dsn,
  input cfg_power_state_change_ack, cfg_err_cor_in, cfg_err_uncor_in, cfg_link_training_enable, cfg_config_space_enable,
  input cfg_req_pm_transition_l23_ready, cfg_hot_reset_in, input [1:0] cfg_flr_done, input [5:0] cfg_vf_flr_done,
  input [7:0] cfg_ds_port_number, cfg_ds_bus_number, input [4:0] cfg_ds_device_number, input [2:0] cfg_ds_function_number
);
  // named as a bench's model of the block wants them
  reg clock = 0, reset = 1, cq_tlast = 0, cq_tvalid = 0, cc_tready = 0;
  reg [63:0] cq_tdata = 0;
  reg [1:0] cq_tkeep = 0;
  reg [84:0] cq_tuser = 0;
  wire cq_tready = m_axis_cq_tready;
  wire [63:0] cc_tdata = s_axis_cc_tdata;
  wire [1:0] cc_tkeep = s_axis_cc_tkeep;
  wire [32:0] cc_tuser = s_axis_cc_tuser;
  wire cc_tlast = s_axis_cc_tlast, cc_tvalid = s_axis_cc_tvalid;
  assign {user_clk, user_reset, user_lnk_up} = {clock, reset, ~reset};
  assign {m_axis_cq_tdata, m_axis_cq_tkeep, m_axis_cq_tlast, m_axis_cq_tvalid, m_axis_cq_tuser} =
    {cq_tdata, cq_tkeep, cq_tlast, cq_tvalid, cq_tuser};
  assign s_axis_cc_tready = {4{cc_tready}};
  assign {pci_exp_txp, pci_exp_txn} = {16{sys_clk & 1'b0}};
endmodule
