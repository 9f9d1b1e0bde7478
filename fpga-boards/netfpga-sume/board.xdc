# NetFPGA-SUME (XC7VX690T-3FFG1761C).
# Pins: github.com/corundum/corundum, fpga/mqnic/NetFPGA_SUME/fpga/fpga.xdc, commit 1ca0151b97af; its SFP cages 1 to 4 are ports 0 to 3 here.

set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS true [current_design]

# Oscillator, buttons, LEDs, I2C to the Si5324
set_property -dict {PACKAGE_PIN H19 IOSTANDARD LVDS} [get_ports clk200_p]
set_property -dict {PACKAGE_PIN G18 IOSTANDARD LVDS} [get_ports clk200_n]
set_property -dict {PACKAGE_PIN AR13 IOSTANDARD LVCMOS15} [get_ports {btn[0]}]
set_property -dict {PACKAGE_PIN BB12 IOSTANDARD LVCMOS15} [get_ports {btn[1]}]
set_property -dict {PACKAGE_PIN AR22 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN AR23 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {led[1]}]
set_property -dict {PACKAGE_PIN AK24 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 12 PULLUP true} [get_ports i2c_scl]
set_property -dict {PACKAGE_PIN AK25 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 12 PULLUP true} [get_ports i2c_sda]
set_property -dict {PACKAGE_PIN AM39 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports i2c_mux_reset]
set_property -dict {PACKAGE_PIN BA29 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 12} [get_ports sfp_clk_reset]

# Reference clocks: 156.25 MHz of the Si5324, 100 MHz of the slot
set_property -dict {PACKAGE_PIN E10} [get_ports sfp_refclk_p]
set_property -dict {PACKAGE_PIN E9} [get_ports sfp_refclk_n]
set_property -dict {PACKAGE_PIN AB8} [get_ports pcie_refclk_p]
set_property -dict {PACKAGE_PIN AB7} [get_ports pcie_refclk_n]
set_property -dict {PACKAGE_PIN AY35 IOSTANDARD LVCMOS18 PULLUP true} [get_ports pcie_reset_n]

# SFP+ cage 1
set_property -dict {PACKAGE_PIN A6} [get_ports sfp0_rx_p]
set_property -dict {PACKAGE_PIN A5} [get_ports sfp0_rx_n]
set_property -dict {PACKAGE_PIN B4} [get_ports sfp0_tx_p]
set_property -dict {PACKAGE_PIN B3} [get_ports sfp0_tx_n]
set_property -dict {PACKAGE_PIN N18 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp0_mod_detect]
set_property -dict {PACKAGE_PIN N19 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp0_rs[0]}]
set_property -dict {PACKAGE_PIN P18 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp0_rs[1]}]
set_property -dict {PACKAGE_PIN L17 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp0_los]
set_property -dict {PACKAGE_PIN M18 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports sfp0_tx_disable]
set_property -dict {PACKAGE_PIN M19 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp0_tx_fault]
set_property -dict {PACKAGE_PIN G13 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp0_led[0]}]
set_property -dict {PACKAGE_PIN L15 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp0_led[1]}]

# SFP+ cage 2
set_property -dict {PACKAGE_PIN B8} [get_ports sfp1_rx_p]
set_property -dict {PACKAGE_PIN B7} [get_ports sfp1_rx_n]
set_property -dict {PACKAGE_PIN C2} [get_ports sfp1_tx_p]
set_property -dict {PACKAGE_PIN C1} [get_ports sfp1_tx_n]
set_property -dict {PACKAGE_PIN L19 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp1_mod_detect]
set_property -dict {PACKAGE_PIN P20 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp1_rs[0]}]
set_property -dict {PACKAGE_PIN N20 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp1_rs[1]}]
set_property -dict {PACKAGE_PIN L20 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp1_los]
set_property -dict {PACKAGE_PIN B31 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports sfp1_tx_disable]
set_property -dict {PACKAGE_PIN C26 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp1_tx_fault]
set_property -dict {PACKAGE_PIN AL22 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp1_led[0]}]
set_property -dict {PACKAGE_PIN BA20 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp1_led[1]}]

# SFP+ cage 3
set_property -dict {PACKAGE_PIN C6} [get_ports sfp2_rx_p]
set_property -dict {PACKAGE_PIN C5} [get_ports sfp2_rx_n]
set_property -dict {PACKAGE_PIN D4} [get_ports sfp2_tx_p]
set_property -dict {PACKAGE_PIN D3} [get_ports sfp2_tx_n]
set_property -dict {PACKAGE_PIN J37 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp2_mod_detect]
set_property -dict {PACKAGE_PIN F39 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp2_rs[0]}]
set_property -dict {PACKAGE_PIN G36 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp2_rs[1]}]
set_property -dict {PACKAGE_PIN G37 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp2_los]
set_property -dict {PACKAGE_PIN J38 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports sfp2_tx_disable]
set_property -dict {PACKAGE_PIN E39 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp2_tx_fault]
set_property -dict {PACKAGE_PIN AY18 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp2_led[0]}]
set_property -dict {PACKAGE_PIN AY17 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp2_led[1]}]

# SFP+ cage 4
set_property -dict {PACKAGE_PIN D8} [get_ports sfp3_rx_p]
set_property -dict {PACKAGE_PIN D7} [get_ports sfp3_rx_n]
set_property -dict {PACKAGE_PIN E2} [get_ports sfp3_tx_p]
set_property -dict {PACKAGE_PIN E1} [get_ports sfp3_tx_n]
set_property -dict {PACKAGE_PIN H36 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp3_mod_detect]
set_property -dict {PACKAGE_PIN H38 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp3_rs[0]}]
set_property -dict {PACKAGE_PIN G38 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp3_rs[1]}]
set_property -dict {PACKAGE_PIN J36 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp3_los]
set_property -dict {PACKAGE_PIN L21 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports sfp3_tx_disable]
set_property -dict {PACKAGE_PIN J26 IOSTANDARD LVCMOS15 PULLUP true} [get_ports sfp3_tx_fault]
set_property -dict {PACKAGE_PIN P31 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp3_led[0]}]
set_property -dict {PACKAGE_PIN K32 IOSTANDARD LVCMOS15 SLEW SLOW DRIVE 12} [get_ports {sfp3_led[1]}]

# PCI Express, eight lanes
set_property -dict {PACKAGE_PIN Y4} [get_ports {pcie_rx_p[0]}]
set_property -dict {PACKAGE_PIN Y3} [get_ports {pcie_rx_n[0]}]
set_property -dict {PACKAGE_PIN W2} [get_ports {pcie_tx_p[0]}]
set_property -dict {PACKAGE_PIN W1} [get_ports {pcie_tx_n[0]}]
set_property -dict {PACKAGE_PIN AA6} [get_ports {pcie_rx_p[1]}]
set_property -dict {PACKAGE_PIN AA5} [get_ports {pcie_rx_n[1]}]
set_property -dict {PACKAGE_PIN AA2} [get_ports {pcie_tx_p[1]}]
set_property -dict {PACKAGE_PIN AA1} [get_ports {pcie_tx_n[1]}]
set_property -dict {PACKAGE_PIN AB4} [get_ports {pcie_rx_p[2]}]
set_property -dict {PACKAGE_PIN AB3} [get_ports {pcie_rx_n[2]}]
set_property -dict {PACKAGE_PIN AC2} [get_ports {pcie_tx_p[2]}]
set_property -dict {PACKAGE_PIN AC1} [get_ports {pcie_tx_n[2]}]
set_property -dict {PACKAGE_PIN AC6} [get_ports {pcie_rx_p[3]}]
set_property -dict {PACKAGE_PIN AC5} [get_ports {pcie_rx_n[3]}]
set_property -dict {PACKAGE_PIN AE2} [get_ports {pcie_tx_p[3]}]
set_property -dict {PACKAGE_PIN AE1} [get_ports {pcie_tx_n[3]}]
set_property -dict {PACKAGE_PIN AD4} [get_ports {pcie_rx_p[4]}]
set_property -dict {PACKAGE_PIN AD3} [get_ports {pcie_rx_n[4]}]
set_property -dict {PACKAGE_PIN AG2} [get_ports {pcie_tx_p[4]}]
set_property -dict {PACKAGE_PIN AG1} [get_ports {pcie_tx_n[4]}]
set_property -dict {PACKAGE_PIN AE6} [get_ports {pcie_rx_p[5]}]
set_property -dict {PACKAGE_PIN AE5} [get_ports {pcie_rx_n[5]}]
set_property -dict {PACKAGE_PIN AH4} [get_ports {pcie_tx_p[5]}]
set_property -dict {PACKAGE_PIN AH3} [get_ports {pcie_tx_n[5]}]
set_property -dict {PACKAGE_PIN AF4} [get_ports {pcie_rx_p[6]}]
set_property -dict {PACKAGE_PIN AF3} [get_ports {pcie_rx_n[6]}]
set_property -dict {PACKAGE_PIN AJ2} [get_ports {pcie_tx_p[6]}]
set_property -dict {PACKAGE_PIN AJ1} [get_ports {pcie_tx_n[6]}]
set_property -dict {PACKAGE_PIN AG6} [get_ports {pcie_rx_p[7]}]
set_property -dict {PACKAGE_PIN AG5} [get_ports {pcie_rx_n[7]}]
set_property -dict {PACKAGE_PIN AK4} [get_ports {pcie_tx_p[7]}]
set_property -dict {PACKAGE_PIN AK3} [get_ports {pcie_tx_n[7]}]

# Clocks. The constraints of the PCS/PMA make that of sfp_refclk_p, from which coreclk comes.
create_clock -name clk200 -period 5.000 [get_ports clk200_p]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]

# Whatever goes from one of these to another goes through synchronisers, and words that cross stand still meanwhile.
set_clock_groups -asynchronous \
  -group [get_clocks -of_objects [get_pins oscillator_buffer/O]] \
  -group [get_clocks -of_objects [get_pins lane_0/coreclk_out]] \
  -group [get_clocks -of_objects [get_pins pcie_block/user_clk]]

# Slow pins
set_false_path -from [get_ports {btn[*] i2c_scl i2c_sda pcie_reset_n sfp*_mod_detect sfp*_los sfp*_tx_fault}]
set_false_path -to [get_ports {led[*] i2c_scl i2c_sda i2c_mux_reset sfp_clk_reset sfp*_led[*] sfp*_rs[*] sfp*_tx_disable}]
