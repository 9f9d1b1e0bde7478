# The vendor's cores, which come with Vivado without a fee. Ports: hw/src/main/scala/weir/board/XilinxCells.scala.

# 10GBASE-R PCS/PMA (PG068): the first makes the clocks and resets of the quad, the others take them.
foreach {name level} {weir_pcs_pma_shared 1 weir_pcs_pma 0} {
  create_ip -name ten_gig_eth_pcs_pma -vendor xilinx.com -library ip -module_name $name
  set_property -dict [list \
    CONFIG.MDIO_Management false \
    CONFIG.base_kr BASE-R \
    CONFIG.SupportLevel $level \
    CONFIG.DClkRate 125 \
  ] [get_ips $name]
}

# Gen3 block for PCI Express (PG023): eight lanes of 2.5 GT/s, 64 bits at 250 MHz, BAR 0 of 512 KiB, no bus master.
create_ip -name pcie3_7x -vendor xilinx.com -library ip -module_name weir_pcie
set_property -dict [list \
  CONFIG.mode_selection Advanced \
  CONFIG.pcie_blk_locn X0Y1 \
  CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH X8 \
  CONFIG.PL_LINK_CAP_MAX_LINK_SPEED 2.5_GT/s \
  CONFIG.axisten_if_width 64_bit \
  CONFIG.axisten_freq 250 \
  CONFIG.AXISTEN_IF_RC_STRADDLE false \
  CONFIG.shared_logic_in_core true \
  CONFIG.en_ext_clk false \
  CONFIG.cfg_ext_if false \
  CONFIG.aspm_support No_ASPM \
  CONFIG.pf0_msi_enabled true \
  CONFIG.pf0_msix_enabled false \
  CONFIG.vendor_id 10EE \
  CONFIG.PF0_DEVICE_ID 7028 \
  CONFIG.PF0_Use_Class_Code_Lookup_Assistant false \
  CONFIG.pf0_class_code_base 05 \
  CONFIG.pf0_class_code_sub 80 \
  CONFIG.pf0_class_code_interface 00 \
  CONFIG.pf0_bar0_64bit false \
  CONFIG.pf0_bar0_prefetchable false \
  CONFIG.pf0_bar0_scale Kilobytes \
  CONFIG.pf0_bar0_size 512 \
] [get_ips weir_pcie]
