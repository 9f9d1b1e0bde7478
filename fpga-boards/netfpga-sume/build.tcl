# Bitstream with Vivado, in the current directory; make bitstream BOARD=netfpga-sume calls it.
#
#   vivado -mode batch -source build.tcl -tclargs FOLDER PART VERILOG TOP PACK PIN MHZ ...
#
# FOLDER has board.xdc and ip.tcl. PACK 1 writes board.bit, 0 ends after routing. Each PIN's clock has to be MHZ or
# faster. Writes utilization.txt, timing.txt and clocks.txt (pin, MHz that it can run at). Ends with an error if a clock or a path is too slow.

lassign $argv folder part verilog top pack
set goals [lrange $argv 5 end]

create_project -force project project -part $part
add_files -norecurse $verilog
add_files -fileset constrs_1 -norecurse [file join $folder board.xdc]
set_property top $top [current_fileset]
source [file join $folder ip.tcl]
generate_target all [get_ips]

launch_runs synth_1 -jobs 2
wait_on_run synth_1
if {[get_property PROGRESS [get_runs synth_1]] ne "100%"} {
  error "synthesis failed; log: project/project.runs/synth_1/runme.log"
}
launch_runs impl_1 -to_step route_design -jobs 2
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} {
  error "placement or routing failed; log: project/project.runs/impl_1/runme.log"
}
open_run impl_1
report_utilization -hierarchical -file utilization.txt
report_timing_summary -file timing.txt

if {[llength [get_clocks -of_objects [get_ports sfp_refclk_p]]] == 0} {
  error "sfp_refclk_p has no clock: the constraints of weir_pcs_pma_shared were expected to make it"
}
set out [open clocks.txt w]
foreach {pin mhz} $goals {
  set clock [get_clocks -of_objects [get_pins $pin]]
  set period [get_property PERIOD $clock]
  set slack [get_property SLACK [get_timing_paths -setup -max_paths 1 -group $clock]]
  puts $out "$pin [format %.2f [expr {1000.0 / ($period - $slack)}]]"
  if {1000.0 / $period < $mhz - 0.01} {
    close $out
    error "$pin runs at [format %.2f [expr {1000.0 / $period}]] MHz, not $mhz"
  }
}
close $out

foreach {kind option} {setup -setup hold -hold} {
  set slack [get_property SLACK [get_timing_paths $option -max_paths 1]]
  if {$slack < 0} {
    error "timing is not met: $kind slack $slack ns; report: timing.txt"
  }
}
if {$pack} {
  write_bitstream -force board.bit
}
