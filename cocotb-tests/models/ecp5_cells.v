// Models of the ECP5 cells that the boards' tops use, for simulation and lint; written from Lattice's FPGA-TN-02032
// (sysIO) and FPGA-TN-02200 (sysCLOCK). Delays are not modelled.

// The clocks are driven by the bench, which knows the periods.
module EHXPLLL #(
  parameter PLLRST_ENA = "DISABLED", INTFB_WAKE = "DISABLED", STDBY_ENABLE = "DISABLED", DPHASE_SOURCE = "DISABLED",
  parameter OUTDIVIDER_MUXA = "DIVA", OUTDIVIDER_MUXB = "DIVB", CLKI_DIV = 1, CLKFB_DIV = 1,
  parameter CLKOP_ENABLE = "ENABLED", CLKOP_DIV = 8, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0,
  parameter CLKOS_ENABLE = "DISABLED", CLKOS_DIV = 8, CLKOS_CPHASE = 0, CLKOS_FPHASE = 0, FEEDBK_PATH = "CLKOP"
) (
  input CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP, ENCLKOS,
  output CLKOP, CLKOS, LOCK
);
  reg op = 0, os = 0, lock = 0;
  assign CLKOP = op;
  assign CLKOS = os;
  assign LOCK = lock;
endmodule

// Both samples appear at the rising edge after them.
module IDDRX1F (input D, SCLK, RST, output reg Q0, Q1);
  reg rising, falling;
  always @(posedge SCLK) begin
    rising <= D;
    Q0 <= rising;
    Q1 <= falling;
  end
  always @(negedge SCLK) falling <= D;
endmodule

module ODDRX1F (input D0, D1, SCLK, RST, output Q);
  reg high, low;
  always @(posedge SCLK) begin
    high <= D0;
    low <= D1;
  end
  assign Q = SCLK ? high : low;
endmodule

module DELAYG #(parameter DEL_MODE = "USER_DEFINED", DEL_VALUE = 0) (input A, output Z);
  assign Z = A;
endmodule
