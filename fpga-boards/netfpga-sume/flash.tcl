# Configures the device over the board's USB (JTAG), if it is the right one; make flash BOARD=netfpga-sume calls it.
#
#   vivado -mode batch -source flash.tcl -tclargs PART BITSTREAM

lassign $argv part bitstream
open_hw_manager
connect_hw_server
if {[catch {open_hw_target} why]} {
  error "no board answers: is it connected, and powered? ($why)"
}
set device [lindex [get_hw_devices] 0]
set found [get_property PART $device]
# xc7vx690t of xc7vx690tffg1761-3
regexp {^xc7vx[0-9]+t} $part wanted
if {$found ne $wanted} {
  error "the device is $found, the bitstream is for $wanted: nothing written"
}
set_property PROGRAM.FILE $bitstream $device
program_hw_devices $device
puts "configured; it stays until power goes off"
