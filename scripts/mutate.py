"""Puts one error at a time into the Verilog; the bench of the unit, or of the core, has to fail.

    .venv/bin/python scripts/mutate.py [--units Admit,Queues] [--only NAME] [--list] [--limit SECONDS]

Needs what `make test` needs: build/rtl and libweir. Works on copies below build/mutants/. Every error of a file is
compiled into one model and chosen by a plusarg, so that a file is built once; without a choice the copy has to pass.

A mutant is *caught* if its bench fails or hangs, *survived* if all passes: then the bench is too weak. A pattern that
no longer is in exactly one line of its module says so and has to be written anew. Both end with status 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RTL = ROOT / "build" / "rtl"
WORK = ROOT / "build" / "mutants"
CHOICE = "weir_mutant"

#: the shape of a line: what comes before its expression, the expression, what follows
LINE = re.compile(
    r"^(?P<head>\s*(?:\S+ : )?(?:assign )?[^\s=(]+ (?:<=|=) |\s*if\()(?P<expression>.*?)(?P<tail>;|\) begin)$"
)


@dataclass(frozen=True)
class Unit:
    """Where a unit's Verilog is, and the tests that have to notice, in the order in which they are tried."""

    file: str
    tests: tuple[str, ...]
    module: str = ""


@dataclass(frozen=True)
class Mutant:
    """An error: `old` becomes `new` in the one line of the module that has it. `case`: the core's bench to try first."""

    unit: str
    name: str
    old: str
    new: str
    case: str = ""
    module: str = ""


def _core(*cases: str) -> tuple[str, ...]:
    return tuple(f"cocotb-tests/core/test_core.py::test_core[{case}]" for case in cases)


def _red_family(*first: str) -> tuple[str, ...]:
    """All cases of the family's bench, these before the others."""
    bench = "cocotb-tests/aqm/test_red_family.py"
    return *(f"{bench}::test_red_family[{case}]" for case in first), bench


CORE = ("drops", "frames", "cells", "egress", "policy", "reset", "trace")

UNITS = {
    "Admit": Unit("small/weir_small.v", _core(*CORE)),
    "Queues": Unit("units/Queues.v", ("cocotb-tests/queues",)),
    "Schedule": Unit("units/Schedule.v", ("cocotb-tests/schedule",)),
    "Backlog": Unit("units/Backlog.v", ("cocotb-tests/backlog",)),
    "Trim": Unit("units/Trim.v", ("cocotb-tests/trim",)),
    "Egress": Unit("small/weir_small.v", _core(*CORE)),
    "Store": Unit("units/Store.v", ("cocotb-tests/store",)),
    "Batch": Unit("units/Batch.v", ("cocotb-tests/batch",)),
    "Spacing": Unit("units/Spacing.v", ("cocotb-tests/spacing",)),
    "FlowTable": Unit("units/FlowTable.v", ("cocotb-tests/merge/test_merge_units.py::test_flow_table",)),
    "FlowGroups": Unit("units/FlowGroups.v", ("cocotb-tests/merge/test_merge_units.py::test_flow_groups",)),
    "Parking": Unit("units/Parking.v", ("cocotb-tests/merge/test_merge_units.py::test_parking",)),
    "Sums": Unit("units/Sums.v", ("cocotb-tests/merge/test_merge_units.py::test_sums",)),
    "Unpack": Unit(
        "units/Unpack.v",
        tuple(
            f"cocotb-tests/unpack/test_unpack.py::{test}"
            for test in ("test_splits_jumbo_frames", "test_unpack_under_pressure")
        ),
    ),
    "Pack": Unit("units/Pack.v", ("cocotb-tests/pack",)),
    "Partial": Unit("units/Partial.v", ("cocotb-tests/transit/test_transit_units.py::test_partial",)),
    "TransitPatch": Unit("units/TransitPatch.v", ("cocotb-tests/transit/test_transit_units.py::test_patch",)),
    "JumboList": Unit("units/JumboList.v", ("cocotb-tests/transit/test_transit_units.py::test_list",)),
    "MarkWords": Unit("units/MarkWords.v", ("cocotb-tests/merge/test_merge_units.py::test_mark_words",)),
    "FreeList": Unit("units/FreeList.v", ("cocotb-tests/free_list",)),
    "Rewrite": Unit("units/Rewrite.v", ("cocotb-tests/rewrite",)),
    "RedCount": Unit("units/RedPolicy.v", ("cocotb-tests/aqm/test_red_policy.py",)),
    "RedFamily": Unit("units/RedFamily.v", ("cocotb-tests/aqm/test_red_family.py",)),
    "Ewma": Unit("units/Ewma.v", ("cocotb-tests/aqm/test_ewma.py",)),
    "Fn": Unit("units/Fn.v", ("cocotb-tests/aqm/test_fn_rtl.py",)),
    "IdleDecay": Unit(
        "units/Ewma.v",
        tuple(
            f"cocotb-tests/aqm/test_ewma.py::test_ewma[{case}]"
            for case in ("applies_and_frames_that_do_not_come", "an_apply_counts_for_a_frame_that_is_coming_in")
        ),
    ),
    "Codel": Unit("units/Codel.v", ("cocotb-tests/aqm/test_codel.py::test_codel_rtl",), "CodelUnit"),
    "Pie": Unit("units/Pie.v", ("cocotb-tests/aqm/test_pie.py",), "PieUnit"),
    "PiController": Unit("units/Pie.v", ("cocotb-tests/aqm/test_pie.py",)),
    "TickTimer": Unit("units/Pie.v", ("cocotb-tests/aqm/test_pie.py",)),
    "Pi2": Unit("units/Pi2.v", ("cocotb-tests/aqm/test_pi2.py",), "Pi2Unit"),
    "DtEcn": Unit("units/DtEcn.v", ("cocotb-tests/aqm/test_dt_ecn.py::test_dt_ecn_rtl",), "DtEcnUnit"),
    "Resting": Unit("units/DtEcn.v", ("cocotb-tests/aqm/test_dt_ecn.py::test_dt_ecn_rtl",), "DtEcn"),
    "RateTest": Unit("units/RedFamily.v", _red_family("times_and_slopes_have_ends", "isred_every_4_cycles")),
    "AdaptMaxP": Unit(
        "units/RedFamily.v",
        _red_family(
            "ared_random_gaps",
            "max_p_stays_in_silence",
            "queues_have_intervals_of_their_own_where_time_wraps",
            "a_queue_that_is_not_selected_does_not_tick",
        ),
    ),
    "Lfsr": Unit("units/Lfsr.v", ("cocotb-tests/aqm/test_lfsr.py",)),
    "FrameCloser": Unit("units/FrameCloser.v", ("cocotb-tests/frame_closer",)),
    "DescriptorPool": Unit("units/DescriptorPool.v", ("cocotb-tests/descriptor_pool",)),
    "Ingress": Unit("units/Ingress.v", ("cocotb-tests/ingress",)),
    "Hints": Unit("small/weir_small.v", _core("policy"), "weir_small"),
    "Reset": Unit("small/weir_small.v", _core("reset", "frames"), "weir_small"),
    "TraceMerge": Unit("units/TraceMerge.v", ("cocotb-tests/trace_merge",)),
    "TraceFifo": Unit("units/TraceFifo.v", ("cocotb-tests/trace_fifo",)),
    "Shape": Unit("units/Shape.v", ("cocotb-tests/shape",)),
    "CounterBank": Unit("units/Counters.v", ("cocotb-tests/counters",)),
    "Totals": Unit("units/Counters.v", ("cocotb-tests/counters",)),
    "RegisterFile": Unit(
        "units/CsrUnit.v",
        tuple(
            f"cocotb-tests/csr/test_csr.py::test_csr[CsrUnit-{bench}-0]"
            for bench in ("csr_apply", "csr_access", "csr_bus")
        ),
    ),
    "TenGigabitMac": Unit("units/TenGigabitMac.v", ("cocotb-tests/mac/test_mac.py::test_ten_gigabit_mac",)),
    "GigabitMac": Unit("units/GigabitMac.v", ("cocotb-tests/mac/test_mac.py::test_gigabit_mac",)),
    "RgmiiMacEcp5": Unit("units/RgmiiMacEcp5.v", ("cocotb-tests/mac/test_mac.py::test_rgmii_mac[RgmiiMacEcp5]",)),
    "RgmiiMac7Series": Unit(
        "units/RgmiiMac7Series.v", ("cocotb-tests/mac/test_mac.py::test_rgmii_mac[RgmiiMac7Series]",)
    ),
    "UartBridge": Unit(
        "units/UartBridgeFast.v",
        tuple(
            f"cocotb-tests/uart/test_uart.py::test_uart_bridge[{bench}]" for bench in ("bench_rules", "bench_faults")
        ),
    ),
    "PcieCompleter": Unit("units/PcieCompleter.v", ("cocotb-tests/pcie/test_pcie.py::test_pcie_completer",)),
    "AccessCrossing": Unit("units/AccessCrossingUnit.v", ("cocotb-tests/pcie/test_pcie.py::test_access_crossing",)),
    "Si5324Setup": Unit("units/Si5324Setup.v", ("cocotb-tests/sume/test_sume.py::test_si5324_setup",)),
    "SumeRegisters": Unit("units/NetFpgaSume.v", ("cocotb-tests/sume/test_sume.py::test_netfpga_sume",)),
    "Board": Unit(
        "boards/colorlight-5a-75b/colorlight_5a_75b.v", ("cocotb-tests/board/test_board.py::test_colorlight_5a_75b",)
    ),
}

MUTANTS = (
    Mutant("PcieCompleter", "a locked read is not marked", "(request_kind == 4'b0111)},completion_bytes", "1'b0},completion_bytes"),
    Mutant("PcieCompleter", "the last enables are forgotten", "? request_lastBe : 4'b1111));", "? 4'b1111 : 4'b1111));"),
    Mutant("PcieCompleter", "a completion crosses 64 bytes", "_zz_completion_words_difference_1 = request_address[3 : 0]",
           "_zz_completion_words_difference_1 = 4'b0000"),
    Mutant("PcieCompleter", "the byte count is of whole words", "<= (_zz_completion_bytes - _zz_completion_bytes_2)",
           "<= _zz_completion_bytes"),
    Mutant("PcieCompleter", "a later completion starts inside a word", "assign completion_lower_choice = (request_first ?",
           "assign completion_lower_choice = (1'b1 ?"),
    Mutant("PcieCompleter", "messages are answered", "<= (s_axis_cq_tdata[14 : 11] < 4'b1100)", "<= 1'b1"),
    Mutant("PcieCompleter", "class and attributes are lost", "request_descriptor[126 : 121]", "6'h0"),
    Mutant("PcieCompleter", "the first enables are forgotten", "((request_first ? request_firstBe : 4'b1111)", "(4'b1111"),
    Mutant("AccessCrossing", "a reset of the bus repeats a request", "assign when_AccessCrossing_l43 = (side_fresh != 3'b000)",
           "assign when_AccessCrossing_l43 = 1'b0"),
    Mutant("AccessCrossing", "what is given up is forgotten", "assign when_AccessCrossing_l83 = (access_valid && host_outstanding)",
           "assign when_AccessCrossing_l83 = 1'b0"),
    Mutant("AccessCrossing", "no end of patience", "((! host_outstanding) || (&host_patience))", "(! host_outstanding)"),
    Mutant("AccessCrossing", "what is refused reads as it is", "(axi_rvalid && (! axi_rresp[1]))", "axi_rvalid"),
    Mutant("AccessCrossing", "an answer that is not there is believed", "assign when_AccessCrossing_l94 = (! host_outstanding)",
           "assign when_AccessCrossing_l94 = 1'b1"),
    Mutant("Si5324Setup", "a held clock is not waited for", "assign timer_held = (((timer_quarter == 2'b10)",
           "assign timer_held = (((timer_quarter == 2'b10) && 1'b0"),
    Mutant("Si5324Setup", "a refusal is not noticed", "assign when_Si5324_l128 = (failed || entry[9])", "assign when_Si5324_l128 = entry[9]"),
    Mutant("Si5324Setup", "the count of refusals wraps", "(! (&refused_1))", "1'b1"),
    Mutant("Si5324Setup", "it does not wait at first", "(waited == 9'h190)", "(waited == 9'h010)"),
    Mutant("SumeRegisters", "a register that is not there answers", "(! (front_io_bus_write ? writable : known))", "1'b0"),
    Mutant("SumeRegisters", "a snapshot is not taken", "snapshot <= (written &&", "snapshot <= (1'b0 &&"),
    Mutant("SumeRegisters", "the button toggles one pair", "(|bypass_1)", "bypass_1[0]"),
    Mutant("Admit", "limit in bytes is exclusive", "limits_overBytes <= _zz_limits_overBytes[22]",
           "limits_overBytes <= (_zz_limits_overBytes[22] || (_zz_limits_overBytes == 23'h0))", "drops"),
    Mutant("Admit", "limit in packets is one more", "limits_overPackets <= _zz_limits_overPackets[17]",
           "limits_overPackets <= (_zz_limits_overPackets[17] && (! (&_zz_limits_overPackets)))", "drops"),
    Mutant("Admit", "what a limit refuses enters", "((limits_asks && (! limits_refuses)) ?", "(limits_asks ?", "drops"),
    Mutant("Admit", "a drop is not refunded", "(commit_turnsAway && (! commit_spares))", "1'b0", "drops"),
    Mutant("Admit", "a drop keeps its cells", "free_valid = outcome_rejected", "free_valid = 1'b0", "drops"),
    Mutant("Admit", "a drop keeps its descriptor", "(outcome_rejected && (! outcome_refused))", "1'b0", "drops"),
    Mutant("Admit", "share of cells is exclusive", "_zz_limits_overShared[17])",
           "(_zz_limits_overShared[17] || (_zz_limits_overShared == 18'h0)))", "cells"),
    Mutant("Admit", "a reserve does not help", "(limits_excess[15] ?", "(1'b0 ?", "cells"),
    Mutant("Admit", "group addresses are dropped", "= (! known_exempt);", "= 1'b1;", "drops"),
    Mutant("Admit", "configuration changes under a decision", "(hold | (stall &", "((hold & {2{1'b0}}) | (stall &",
           "policy"),
    Mutant("Admit", "a queue on hold holds all", "((issue_waits & oldest_of) == 2'b00)", "(! (|issue_waits))",
           "policy"),
    Mutant("Admit", "a limit's drop does not restart", "(fast_exceeded || ((! known_exempt) && ((commit_verdict_cause",
           "(((! known_exempt) && ((commit_verdict_cause", "policy"),
    Mutant("Queues", "an emptied queue is not alone", "(lists_1_empty || ((lists_1_left && lists_1_one) && (! lists_1_adds)))", "lists_1_empty"),
    Mutant("Queues", "the next head goes to another queue", "(granted_loads_passed[1] && (granted_queue_2 == 2'b01))",
           "(granted_loads_passed[1] && (granted_queue_2 == 2'b10))"),
    Mutant("Queues", "a packet that joins as its group is granted is left behind",
           "(followed_late_joined && (followed_late_head == granted_id_1))", "1'b0"),
    Mutant("Queues", "a second group that is added as the first is read is lost", "reading_follower <= (reading_overtaken ?", "reading_follower <= (1'b0 ?"),
    Mutant("Queues", "a group does not wait for hold", "((walk_active && walk_known) && (! hold))", "(walk_active && walk_known)"),
    Mutant("Queues", "a group that is parked is in the list already", "(append_valid && (append_payload_queue == 2'b01))", "(append_valid && (link_payload_queue == 2'b01))"),
    Mutant("Queues", "a group ends a packet early", "(walk_left == 9'h001)", "(walk_left <= 9'h002)"),
    Mutant("FlowTable", "the last word of a key is not compared", "((comparing_missed && (! comparing_first)) || (comparing_found != comparing_key))",
           "(comparing_missed && (! comparing_first))"),
    Mutant("FlowTable", "an IPv6 key ends a word early", "(asking_index == ((asking_job_v6 && (! asking_job_classed)) ? 2'b10 : 2'b01))", "(asking_index == 2'b01)"),
    Mutant("FlowTable", "a flow keeps the number of the one before", "(comparing_missed ? result_newest : (result_again ? result_lastNumber : result_number))",
           "(result_again ? result_lastNumber : result_number)"),
    Mutant("FlowTable", "a packet that is broken off goes on in the next", "aligned_number = (word_payload_first ? 3'b000 : aligned_counter)",
           "aligned_number = aligned_counter", module="FlowKeys"),
    Mutant("FlowTable", "options are none", "fields_plain <= (_zz_fields_plain[3 : 0] == 4'b0101)", "fields_plain <= 1'b1", module="FlowKeys"),
    Mutant("FlowTable", "two tags are one", "aligned_found = (aligned_one ? (aligned_both ? 2'b10 : 2'b01) : 2'b00)",
           "aligned_found = (aligned_one ? 2'b01 : 2'b00)", module="FlowKeys"),
    Mutant("FlowGroups", "a group is joined as it is granted", "(judging_matches && (! deciding_granted))", "(judging_matches && 1'b1)"),
    Mutant("FlowGroups", "a group is joined that was granted in the cycle before",
           "(! ((looking_entry_number[11 : 0] == judging_waitsNow_reg_1[11 : 0]) && _zz_judging_waitsNow_2))", "1'b1"),
    Mutant("FlowGroups", "only the first queue's head is granted", "(|(judging_headOf & {", "(|(judging_headOf & 4'b0001 & {"),
    Mutant("FlowGroups", "an entry that is written as it is read is not taken over", "looking_overtaken1_reg <= (writing_writes &&", "looking_overtaken1_reg <= (1'b0 &&"),
    Mutant("FlowGroups", "a number like that of the granted group is its", "(order_0_first[11 : 0] == order_0_granted[11 : 0])", "(order_0_first[1 : 0] == order_0_granted[1 : 0])"),
    Mutant("FlowGroups", "a packet that joins counts as a group", "(judging_fate_counts[0] && (! deciding_joins))", "judging_fate_counts[0]"),
    Mutant("FlowGroups", "any spacing", "&& judging_sameFlowNow) && judging_inTime) && (! judging_renewsNow))", "&& judging_sameFlowNow) && 1'b1) && (! judging_renewsNow))"),
    Mutant("FlowGroups", "one byte too many", "($signed(looking_withEntry) <= $signed(looking_entry_roomBytes))",
           "($signed(looking_withEntry) <= ($signed(looking_entry_roomBytes) + 16'sd1))"),
    Mutant("FlowGroups", "one packet too many", "(looking_entry_count < looking_maxCount)", "(looking_entry_count <= looking_maxCount)"),
    Mutant("FlowGroups", "what was just written counts as read", "(((|judging_recent_ages_passed) && judging_known) && (judging_slot == looking_tag_slot))", "1'b0"),
    Mutant("FlowGroups", "a fragment closes nothing", "((judging_closesAll[1] || applied[1]) || deciding_changed)",
           "(applied[1] || deciding_changed)"),
    Mutant("FlowGroups", "a class's timer never ends", "judging_takes <= (judging_fits && (! judging_late));", "judging_takes <= judging_fits;"),
    Mutant("FlowTable", "a class is that of the packet before", "comparing_hits <= {", "comparing_hits <= 16'h1 ^ {", module="Match"),
    Mutant("FlowTable", "IPv4 rules have a lower half", "(comparing_lower[0] || (! config_actions_rules_0_v6))", "comparing_lower[0]", module="Match"),
    Mutant("FlowTable", "a bypass is a class", "(choosing_answer[4] || changes)", "1'b0", module="Match"),
    Mutant("FlowTable", "a change begins no epoch", "epoch = (changes ? _zz_epoch : settled)", "epoch = settled", module="Match"),
    Mutant("Parking", "a link is not told of what leaves late", "leaves_valid = (leaving_late || leaving_timely)", "leaves_valid = leaving_timely"),
    Mutant("Parking", "a timer ends early", "queues_1_oldest_early2 <=", "queues_1_oldest_early2 <= 1'b0 &&"),
    Mutant("Parking", "a group that was parked again is still the oldest",
           "((before_valid && (before_payload_place_queue == 2'b01)) && (before_payload_place_klass == queues_1_oldest_class1))", "1'b0"),
    Mutant("Parking", "a group that was parked again is looked at too early",
           "((came_valid && (came_payload_place_queue == 2'b01)) && (came_payload_place_klass == queues_1_oldest_class1))", "1'b0"),
    Mutant("Parking", "what is on its way out is closed again", "(close_valid && (! stale[{close_payload_queue,close_payload_klass}]))", "close_valid"),
    Mutant("Parking", "a group that leaves keeps its place in the order", "(! queues_1_adds)) ? queues_1_fewer :", "(! queues_1_adds)) ? queues_1_filled :"),
    Mutant("Parking", "closeAll does not see what was just parked", "queues_1_some <= ((park_valid &&", "queues_1_some <= ((1'b0 &&"),
    Mutant("Parking", "a queue whose last group leaves has some", "queues_1_fills[1] : queues_1_fills[0]", "queues_1_fills[0] : queues_1_fills[0]"),
    Mutant("Parking", "one of those that wait is all", "some_next = (some_count != 7'h01)", "some_next = 1'b0"),
    Mutant("Parking", "what is on its way to those that wait is passed by", "&& (! some_next)) && (! pushing_now))", "&& (! some_next)) && 1'b1)"),
    Mutant("Parking", "a group that is closed as it is found leaves all the same", "((! closed) || leaving_same)", "(! closed)"),
    Mutant("Parking", "a group that leaves is found once more", "((! closed) || leaving_same)", "(closed && leaving_same)"),
    Mutant("Parking", "behind a closed group only its four move up", "(queues_1_near_5 || queues_1_far_1)", "queues_1_near_5"),
    Mutant("Parking", "closeAll holds nothing back", "assign passes = (free && (!", "assign passes = (free || (!"),
    Mutant("Spacing", "a packet goes before it is due", "looking_becomesDue = (!", "looking_becomesDue = (1'b1 || !"),
    Mutant("Spacing", "a lane is looked at while its head goes", "(looking_stages_0_mask | looking_stages_1_mask) | looking_stages_2_mask", "looking_stages_0_mask | looking_stages_1_mask"),
    Mutant("Spacing", "a lane loses its turn", "looking_stalls = (looking_may && (! goes))", "looking_stalls = 1'b0"),
    Mutant("Spacing", "what stalls goes early when nothing hurries it any more", "(looking_due || hurries)", "1'b1"),
    Mutant("Spacing", "what stalls is hurried no more", "(looking_due || hurries)", "looking_due"),
    Mutant("Spacing", "a lane's head is never hurried", "(looking_becomesDue || hurries)", "looking_becomesDue"),
    Mutant("Spacing", "two go in two cycles", "((! goes) && (! looking_gone))", "(! goes)"),
    Mutant("Spacing", "every packet begins a jumbo frame", "coming_begins = (coming_entry3_inner && coming_entry3_first)",
           "coming_begins = coming_entry3_inner"),
    Mutant("Sums", "a dropped packet counts", "sums_packets <= ((departure_payload_first ? 9'h0 : sums_packets) + _zz_sums_packets)",
           "sums_packets <= ((departure_payload_first ? 9'h0 : sums_packets) + 9'h001)"),
    Mutant("Sums", "Not-ECT is forgotten", "(((! departure_payload_first) && sums_notEct) ||", "(1'b0 ||"),
    Mutant("Sums", "a spacing that does not fit wraps", "spacing_entry_spacing <= 16'hffff", "spacing_entry_spacing <= spacing_difference[15 : 0]"),
    Mutant("Sums", "an entry has no bytes", "(present ? _zz_sums_beside : 14'h0004)", "(present ? _zz_sums_beside : 14'h0)"),
    Mutant("MarkWords", "Not-ECT is marked", "((word_payload_info_ecn == 2'b10) || (word_payload_info_ecn == 2'b01))", "1'b1"),
    Mutant("MarkWords", "words are not counted", "(word_payload_first ? 2'b00 : place_next)", "place_next"),
    Mutant("MarkWords", "one tag is none", "when_MarkWords_l52_1 = (word_payload_info_ipOffset == 2'b01)", "when_MarkWords_l52_1 = 1'b0"),
    Mutant("Queues", "link and grant in a cycle count up", "(lists_1_adds && (! lists_1_left))", "lists_1_adds"),
    Mutant("Queues", "a departure's mark is its exemption", "reading_read_length_word[47]",
           "reading_read_length_word[46]"),
    Mutant("Schedule", "a deficit of nothing goes on", "_zz_choice_stays = deficit_1[21]",
           "_zz_choice_stays = (deficit_1[21] && (deficit_1 != 22'h3fffff))"),
    Mutant("Schedule", "grants against the shaper", "(allowed && room)", "room"),
    Mutant("Schedule", "grants against the egress", "(allowed && room)", "allowed"),
    Mutant("Schedule", "discards before the line is kept busy", "((! trim_sendable) || covered)", "1'b1"),
    Mutant("Schedule", "discards never come first", "(&trim_streak)", "1'b0"),
    Mutant("Schedule", "an empty queue keeps its deficit", "(account_ends && empty[1])", "1'b0"),
    Mutant("Schedule", "a strict queue takes the turn", "(given_sends && (! given_strictly))", "given_sends"),
    Mutant("Schedule", "a quantum for every packet", "((! choice_strictly) && (! choice_stays))", "(! choice_strictly)"),
    Mutant("Schedule", "queue 2 follows itself", "(turn < 2'b10)", "(turn <= 2'b10)"),
    Mutant("Backlog", "a refund is not taken off", "(refunds[1] ? refund_payload_length : 14'h0)", "14'h0"),
    Mutant("Backlog", "empty with one packet left", "queues_1_empty <= queues_1_empties",
           "queues_1_empty <= (queues_1_packetsHeld_after == 16'h1)"),
    Mutant("Backlog", "emptied with one packet left", "(queues_1_left && queues_1_empties)",
           "(queues_1_left && (queues_1_packetsHeld_after == 16'h1))"),
    Mutant("Backlog", "what joins is a frame of its own", "($signed(_zz_grouped_change) - $signed(_zz_grouped_change_8))",
           "$signed(_zz_grouped_change)"),
    Mutant("Backlog", "a refund empties in silence", "(queues_1_refunded || queues_1_leaving)", "queues_1_leaving"),
    Mutant("Trim", "a departure is another queue's", "(leaving_payload == 2'b01)", "(leaving_payload == 2'b10)"),
    Mutant("Queues", "a header that leaves counts", "leavesCounts = (! reading_read_header)", "leavesCounts = 1'b1"),
    Mutant("Queues", "a queue that is barred may be granted", "(lists_1_headNext && (! barred[1]))", "lists_1_headNext"),
    Mutant("Trim", "a link is another queue's", "(linking_payload == 2'b10)", "(linking_payload == 2'b11)"),
    Mutant("Trim", "no limit of packets", "(queues_0_bytes_after[22] || queues_0_packets_after[17])", "queues_0_bytes_after[22]"),
    Mutant("Backlog", "within its reserve below zero", "(queues_2_beyond[15] ? 15'h0 : _zz_queues_2_excess)",
           "_zz_queues_2_excess"),
    Mutant("Backlog", "no peak of packets", "(queues_3_peakPackets < queues_3_packets)", "1'b0"),
    Mutant("Egress", "eight bytes in the last word take two beats",
           "(beats_word_payload_label_lastBytes <= 4'b1000)", "(beats_word_payload_label_lastBytes < 4'b1000)", "frames"),
    Mutant("Egress", "reads without credit", "(credit_used != 5'h10)", "1'b1", "frames"),
    Mutant("Egress", "one word is many", "(jobs_pop_payload_full == 10'h0)", "1'b0", "drops"),
    Mutant("Egress", "a discarded packet keeps its cells", "(departure_valid && departure_payload_discard)", "1'b0",
           "drops"),
    Mutant("Egress", "a free that waits is lost", "free_valid = streamArbiter_io_output_valid",
           "free_valid = (streamArbiter_io_output_valid && (! reader_finished))", "drops"),
    Mutant("Egress", "the next cell before it is known", "((! reader_cellEnd) || reader_lastWord) || reader_known",
           "1'b1", "frames"),
    Mutant("Egress", "a frame that leaves as one is granted is two", "(gone ? (pending_came ? pending_one", "(gone ? (pending_came ? pending_less1"),
    Mutant("Egress", "a discarded packet is awaited", "(grant_valid && (! grant_payload_discard))", "grant_valid",
           "drops"),
    Mutant("Store", "accepts without room", "((good && room) && (! (", "(good && (! ("),
    Mutant("Store", "accepts a frame that lacks a cell", "failed = (frame_failed || word_lacking)", "failed = frame_failed"),
    Mutant("Store", "the last cell is not counted", "(taking ? frame_more : frame_counted)", "frame_counted"),
    Mutant("Store", "a frame has the cells of the one before", "(frame_none ? 8'h0 : frame_cells)", "frame_cells"),
    Mutant("Store", "gives nothing back", "((refused || word_lacking) && (! frame_none))", "1'b0"),
    Mutant("Store", "a bad frame's last cell is taken", "(! (packet_payload_last && (! keepable)))", "1'b1"),
    Mutant("Store", "a broken packet keeps its cells", "(jumbo_cells + _zz_rollback_payload_cells)", "jumbo_cells"),
    Mutant("Store", "a lost packet does not fail its jumbo frame", "jumbo_failed <= 1'b1", "jumbo_failed <= 1'b0"),
    Mutant("Store", "every jumbo frame is good", "jumbo_commits <= (jumbo_closes && jumbo_good)", "jumbo_commits <= jumbo_closes"),
    Mutant("Store", "does not wait for a cell", "((! word_waits) && (! jumbo_ending))", "(! jumbo_ending)"),
    Mutant("Store", "all words wait for a cell", "(! word_inside))", "1'b1)"),
    Mutant("Store", "a frame has one cell", "(packet_payload_index != 2'b11)", "1'b1"),
    Mutant("Store", "no word waits behind a whole cell", "(! word_inside))", "packet_payload_first)"),
    Mutant("TransitPatch", "places come round after 4096 bytes", "(! place_quad[9])", "1'b1"),
    Mutant("TransitPatch", "one packet more is cleared", "place_one = (place_left != 9'h0)", "place_one = 1'b1"),
    Mutant("TransitPatch", "what a total length loses is added", "(place_totals[0] ? 16'hffff : 16'h0)", "16'h0"),
    Mutant("TransitPatch", "a beat clears one entry at most", "place_two = (9'h001 < place_left)", "place_two = 1'b0"),
    Mutant("TransitPatch", "entries that have been cleared count as left", "place_left <= (((_zz_place_left &",
           "place_left <= ((1'b1 ? place_left : (_zz_place_left &"),
    Mutant("JumboList", "a removed frame's follower is another's", "popping_from = (departs_valid ? departs_payload_queue : remove_payload)",
           "popping_from = departs_payload_queue"),
    Mutant("JumboList", "a list stays without any", "lists_1_any <= 1'b1", "lists_1_any <= lists_1_any"),
    Mutant("JumboList", "a list has always one more", "lists_1_any <= (! lists_1_one)", "lists_1_any <= 1'b1"),
    Mutant("JumboList", "the first of a list is not its one", "lists_1_one <= (! lists_1_any)", "lists_1_one <= 1'b0"),
    Mutant("JumboList", "what stays of two is not the one", "lists_1_one <= (lists_1_count == 12'h002)", "lists_1_one <= 1'b0"),
    Mutant("JumboList", "a frame that leaves as one comes counts twice", "((! lists_1_appended) && lists_1_left)", "lists_1_left"),
    Mutant("JumboList", "what is behind the first is forgotten", "((popping_valid && popping_more) && (popping_queue == 2'b01))", "1'b0"),
    Mutant("Batch", "packets go before their frame is good", "(ring_taken != ring_committed)",
           "(ring_taken != ring_written)"),
    Mutant("Batch", "a rollback keeps the packets", "ring_written <= ring_committed", "ring_written <= ring_written"),
    Mutant("Batch", "a frame passes those before it",
           "((push_valid && (! pushInner)) && coming_alone)", "(push_valid && (! pushInner))"),
    Mutant("Batch", "what waits for Admit is forgotten", "(! (leaving_valid && (! ready)))", "1'b1"),
    Mutant("Batch", "a rollback leaves the way free to the next frame", "== 11'h001) : (ring_taken == ring_committed))", "== 11'h001) : 1'b1)"),
    Mutant("Batch", "the last frame has not gone", "(((ring_taken ^ ring_written) ^ _zz_coming_empties_1) == 11'h001)", "1'b0"),
    Mutant("FreeList", "reads behind the sentinel", "(allocate_last != tail)) && allocate_linked)", "1'b1) && allocate_linked)"),
    Mutant("FreeList", "the sentinel is handed out", "((! allocate_reading) && (allocate_last != tail))", "(! allocate_reading)"),
    Mutant("FreeList", "a cell counts as compared as soon as it is known", "((! allocate_reading) && (allocate_last != tail))", "(allocate_last != tail)"),
    Mutant("FreeList", "a cell that is on its way is not waited for", "change_told <= (rollback_valid ||", "change_told <= (1'b1 ||"),
    Mutant("Unpack", "449 entries are a table", "(16'h01c0 < table_count)", "(16'h01c1 < table_count)", module="Contents"),
    Mutant("Unpack", "a third packet may have 19 bytes", "(table_raw_2 < 16'h0014)", "(table_raw_2 < 16'h0013)", module="Contents"),
    Mutant("Unpack", "69 bytes are padding", "(total_bytes <= 14'h0044)", "(total_bytes <= 14'h0045)", module="Contents"),
    Mutant("Unpack", "an outer total length may lie", "(total_end == table_totalEnd)", "1'b1", module="Contents"),
    Mutant("Unpack", "the fragment with MF is none", "(_zz_header_fragment[13 : 0] != 14'h0)", "(_zz_header_fragment[12 : 0] != 13'h0)",
           module="Contents"),
    Mutant("Unpack", "spacings go on from the frame before", "(row_here ? 25'h0 : row_spacedBefore)", "row_spacedBefore", module="Contents"),
    Mutant("Unpack", "a wait comes round", "((|(choice_output_m2sPipe_payload_spacing & _zz_choice_output_m2sPipe_translated_payload_waitNs)) ?", "(1'b0 ?", module="Lengths"),
    Mutant("Unpack", "the last length of a row has others behind it", "(choice_fresh ? choice_rowSingle : choice_leftSingle)", "choice_rowSingle",
           module="Lengths"),
    Mutant("Unpack", "what is flushed takes the next frame's lengths", "(choice_verdicts == 3'b000)", "1'b1", module="Lengths"),
    Mutant("Unpack", "tables come until no row is left", "(10'h180 < fifo_io_occupancy)", "(10'h1f8 < fifo_io_occupancy)", module="Lengths"),
    Mutant("Unpack", "rows do not count for the words that wait", "({1'b0,_zz_stored_low_1} + _zz_stored_low_2)",
           "({1'b0,_zz_stored_low_1} + 12'h0)", module="Waiting"),
    Mutant("Unpack", "a byte of the second tag is its neighbour's", "aligned_outer_19 : coarse_word_3", "aligned_outer_18 : coarse_word_3",
           module="Realign"),
    Mutant("Unpack", "the versions of packets may differ", "(look_isV4 != look_now_isV4)", "1'b0", module="Realign"),
    Mutant("Unpack", "ECT(1) to CE at a checksum of 1", "(marked_atLow ? 3'b101 : 3'b110)", "((marked_atLow && (! marked_checksum[0])) ? 3'b101 : 3'b110)",
           module="Realign"),
    Mutant("Unpack", "jumbo frames in jumbo frames pass", "|| marked_nested))", "|| 1'b0))", module="Realign"),
    Mutant("Unpack", "an end alone is a word", "(word_valid && push_payload_loose)", "push_payload_loose", module="Recognise"),
    Mutant("Unpack", "a frame of one word is no jumbo frame", "(end_valid && (! first_isJumbo))", "end_valid", module="Recognise"),
    Mutant("Unpack", "the header in transit is a packet that counts", "&& (! realign_word_payload_header));", "&& 1'b1);"),
    Mutant("Unpack", "the header in transit loses its last byte", "packet_lastByte <= (packet_length_value - 14'h0001)",
           "packet_lastByte <= (packet_length_value - 14'h0002)", module="Split"),
    Mutant("Unpack", "a table in transit does not wait", "&& (! frame_transit)) && word_valid)", "&& 1'b1) && word_valid)", module="Recognise"),
    Mutant("Unpack", "packets in transit are marked", "(frame_l3 && (packet_header || (! frame_transit)))", "frame_l3", module="Split"),
    Mutant("Pack", "a short FIFO takes a word too many", "(push_valid && (count == 5'h0f))", "(push_valid && (count == 5'h10))", module="ShortFifo"),
    Mutant("Pack", "room for 447 entries", "(_zz_room_reg <= 11'h23c)", "(_zz_room_reg <= 11'h23d)", module="PackTable"),
    Mutant("Pack", "a checksum's last carry is lost", "_zz_sum_value_checksum_2 = sum_value_folded[16]", "_zz_sum_value_checksum_2 = 1'b0",
           module="PackHeader"),
    Mutant("Pack", "the outer ECN is the first packet's", "tos = {tos_bits[7 : 2],outer_group_ecn}", "tos = tos_bits", module="PackHeader"),
    Mutant("Pack", "identifications have 8 bits", "outer_identification <= (outer_identification + 16'h0001)",
           "outer_identification <= {8'h0,(outer_identification[7 : 0] + 8'h01)}", module="PackHeader"),
    Mutant("Pack", "an identification for frames of the L2 form", "(((beat_fire && header_active) && header_last) && outer_group_l3)",
           "((beat_fire && header_active) && header_last)", module="PackHeader"),
    Mutant("Pack", "a last word of 8 bytes has two beats", "beats_ends <= (waiting_pop_payload_half && (! waiting_pop_payload_jumbo))", "beats_ends <= 1'b0"),
    Mutant("Pack", "a group's last word has two beats", "(stage_last && ((stage_lastBytes != 4'b0000) && (stage_lastBytes <= 4'b1000)))", "1'b0", module="PackRealign"),
    Mutant("Pack", "the second beat of any word is a frame's last", "beats_finishes <= (beats_next && beats_word_payload_last)", "beats_finishes <= beats_next"),
    Mutant("Pack", "a jumbo frame does without its header", "beats_prefixing <= waiting_pop_payload_jumbo", "beats_prefixing <= 1'b0"),
    Mutant("Pack", "a frame in transit does not wait for its words", "beats_starts <= waiting_pop_payload_transit", "beats_starts <= 1'b0"),
    Mutant("Pack", "27 bytes behind two tags run dry", "(group_payload_tags == 2'b10)", "1'b0", module="PackRealign"),
    Mutant("Pack", "a last word of 16 bytes is empty", "{(word_payload_lastBytes == 4'b0000),word_payload_lastBytes}",
           "{1'b0,word_payload_lastBytes}", module="PackRealign"),
    Mutant("Pack", "an eighth byte too many", "(4'b1110 < beats_word", "(4'b1101 < beats_word"),
    Mutant("Pack", "half a beat is empty behind an odd table", "beat_payload_joint = (table_active && table_one)", "beat_payload_joint = 1'b0",
           module="PackHeader"),
    Mutant("Pack", "a merged frame takes a patch", "((group_fire && group_payload_grouped) && group_payload_transit)",
           "(group_fire && group_payload_grouped)"),
    Mutant("Pack", "nine frames in transit are one", "(beats_ready == 7'h01)", "(beats_ready[2 : 0] == 3'b001)"),
    Mutant("Pack", "a frame in transit begins a word early", "(_zz_packet_needed_2 + 8'h04)", "(_zz_packet_needed_2 + 8'h03)", module="PackRealign"),
    Mutant("Pack", "the header in transit loses its Ethernet header", "packet_whole = (frame_transit && packet_isFirst)", "packet_whole = 1'b0",
           module="PackRealign"),
    Mutant("Partial", "a share is rounded down", "(share_multiplier_product[31 : 0] != 32'h0)", "1'b0"),
    Mutant("Partial", "a share may be no packet", "(share_partly || (share_whole == 9'h0))", "share_partly"),
    Mutant("Partial", "the high share is no limit", "(share_limited ? share_high : share_sum[31 : 0])", "share_sum[31 : 0]"),
    Mutant("Partial", "an average below min is far above it", "(share_below ? 36'h0 : _zz_a_1)", "_zz_a_1"),
    Mutant("Partial", "packets that were marked count", "(victim_marks ? victim_group_front : 9'h0)", "9'h0"),
    Mutant("Partial", "forced with harddrop marks", "(! (selection_payload_forced_1 &&", "(! (1'b0 &&"),
    Mutant("Partial", "a frame that lost packets is marked", "((found_payload_group_front != 9'h0) ? (found_payload_group_removed == 14'h0) :", "(1'b0 ? 1'b0 :"),
    Mutant("Partial", "tags are removed with a packet", "_zz_victim_removed_2 = {victim_tags,2'b00}", "_zz_victim_removed_2 = 4'b0000"),
    Mutant("Partial", "a dead group pays on", "list_remove_valid = ((victim_spends &&", "list_remove_valid = ((1'b0 &&"),
    Mutant("Partial", "a frame of which all is dropped pays on", "victim_spends <= (dropsLast && (victim_group_packets == 9'h001))", "victim_spends <= 1'b0"),
    Mutant("Partial", "a frame of which all is marked pays on", "(share_partly && (share_whole == victim_others))", "1'b0"),
    Mutant("Partial", "a frame with one packet to be marked pays on", "((victim_others == 9'h0) || (share_partly", "(1'b0 || (share_partly"),
    Mutant("Partial", "a frame with one packet not to be marked pays no more", "(share_partly && (share_whole == victim_others))",
           "(share_whole == victim_others)"),
    Mutant("Partial", "the last packet does not kill", "step_payload_dies = (victim_group_packets == 9'h001)", "step_payload_dies = 1'b0"),
    Mutant("Partial", "a group that comes to the head is granted", "victim_headNext = ((loaded_payload_id == victim_id) ? own : 4'b0000)", "victim_headNext = victim_atHead"),
    Mutant("Partial", "a packet more than its share", "dropsLast = (left == _zz_dropsLast)", "dropsLast = (left == 9'h000)"),
    Mutant("Partial", "a place that is not there", "(5'h04 < waiting_io_availability)", "(5'h03 < waiting_io_availability)"),
    Mutant("FreeList", "a rollback keeps what was read ahead", "allocate_last <= rollback_payload_first",
           "allocate_last <= allocate_last"),
    Mutant("Rewrite", "no borrow from ECT(0)", "(find_correction_fromEct1 || (! find_checksum[0]))", "find_correction_fromEct1"),
    Mutant("Rewrite", "ECT(1) subtracts one", "(find_correction_fromEct1 ? 2'b10 : 2'b01)", "2'b01"),
    Mutant("Rewrite", "tags do not move the checksum", "(find_noTag ? 3'b011 : 3'b100)", "3'b011"),
    Mutant("Rewrite", "IPv6 is marked as IPv4", "(planned_payload_v6 ? 8'h30 : 8'h03)", "8'h03"),
    Mutant("Rewrite", "Not-ECT is marked",
           "((input_payload_info_ecn == 2'b10) || (input_payload_info_ecn == 2'b01))", "1'b1"),
    Mutant("RedCount", "a restart of any queue", "(commit_payload_acts && committed_arriving)",
           "commit_payload_acts"),
    Mutant("RedCount", "a pending arrival is forgotten",
           "((stage_passed[4] || stage_passed[5]) || stage_passed[6])", "(stage_passed[4] || stage_passed[5])"),
    Mutant("RedCount", "a restart forgets a pending arrival", "younger_of <= younger_of_decoded;", "younger_of <= 4'b0000;"),
    Mutant("RedCount", "no commit is of a queue", "committed_of <= committed_of_decoded;", "committed_of <= 4'b0000;"),
    Mutant("RedCount", "counts outside the band", "(outside ? 16'h0 : t4_used_packets)", "t4_used_packets"),
    Mutant("RedCount", "count times size saturates at the end of its range", "|| (&spreading_keptSizes_terms_1[17 : 16]))", "|| 1'b0)",
           module="Red"),
    Mutant("RedCount", "g does not saturate", "(t6_gSaturated ? 36'hfffffffff : t6_g)", "t6_g", module="Red"),
    Mutant("RedCount", "a slope far above one counts as what is left of it",
           "((((1'b0 || t6_slope_above_0) || t6_slope_above_1) || t6_slope_above_2) || t6_slope_above_3)", "1'b0", module="Red"),
    Mutant("RedCount", "a certain decision does nothing", "((t9_early || late_forced) ? 2'b11", "(t9_early ? 2'b11", module="Red"),
    Mutant("RedCount", "a decision is not compared with the draw's bits", "(late_scaledDraw < t9_scaled)", "1'b0", module="Red"),
    Mutant("RedCount", "a reset of the data path stops an apply", "assign told_valid = config_valid_regNext;",
           "assign told_valid = (config_valid_regNext && (! rst));", module="RedPolicy"),
    Mutant("RedCount", "the first is never exempt", "(exemptFirst ? _zz_t1_first_bytes : 15'h0)", "15'h0"),
    Mutant("RedFamily", "mode 2 has RED's g", "t7_g = rate_g;", "t7_g = t6_g;", module="Red"),
    Mutant("RedFamily", "what falls rises rapidly", "(t4_eligible && (! t4_rise[43]))", "t4_eligible", module="RateTest"),
    Mutant("RedFamily", "a rapid rise waits", "(middle_waits && (! rate_rapid))", "middle_waits", module="Red"),
    Mutant("Ewma", "an average that is being stored is told a cycle later", "(storing[0] ? average : averages_0)", "averages_0"),
    Mutant("Ewma", "below twice the maximum is below the maximum", "belowDouble = t4_results_3", "belowDouble = t4_results_2"),
    Mutant("Ewma", "an average is stored in the cycle of a clear", "(storing_decoded & (~ clear))", "storing_decoded"),
    Mutant("Fn", "the draw counts half", "({14'd0,comparison_leftSum} <<< 4'd14)", "({14'd0,comparison_leftSum} <<< 4'd13)", module="FnDecision"),
    Mutant("Fn", "a shared multiplier keeps kappa", "multipliers_t15t17_0_a = comparison_right_pairs_0_1;",
           "multipliers_t15t17_0_a = weight_scaled_pairs_0_1;", module="FnDecision"),
    Mutant("Fn", "a shared multiplier keeps the window's time", "multiplier_a = floats_bytes8_mantissa;", "multiplier_a = products_a;",
           module="FnUnit"),
    Mutant("Fn", "a numerator of 0 is positive", "(balance_sums + balance_carries)", "(balance_sums + balance_carries + 39'd1)", module="FnUnit"),
    Mutant("Fn", "nothing is always in the band", "((entered && full) && (! quadratic))", "1'b0", module="FnDecision"),
    Mutant("IdleDecay", "a stale hint is waited for", "((moving & (~ outdated)) & without)", "((moving & (~ applied)) & without)"),
    Mutant("IdleDecay", "a hint that makes a result stale is not waited for", "(newest & (without | outdated))", "(newest & without)"),
    Mutant("IdleDecay", "an apply loses what a hint began", "((applied & (~ stale)) & (last_others | again_alone))", "4'b0"),
    Mutant("IdleDecay", "an old result outlives an apply", "((stale[1] || applied[1]) ||", "(stale[1] ||"),
    Mutant("IdleDecay", "nobody waits for an apply", "(again_of | pending)", "pending"),
    Mutant("IdleDecay", "an apply's hint is lost behind another queue's", "again_of <= (again_still &", "again_of <= (4'b0 &"),
    Mutant("IdleDecay", "an apply's hint goes although it is stale", "((again_of & (~ stale)) &", "(again_of &"),
    Mutant("IdleDecay", "a result that is held is not withdrawn", "(last_held[1] || held_1_storesLast)",
           "held_1_storesLast"),
    Mutant("IdleDecay", "a result that comes is not withdrawn", "(last_held[2] || held_2_storesLast)", "last_held[2]"),
    Mutant("IdleDecay", "what stands for all is withdrawn", "(newer && (! again_joined))", "newer"),
    Mutant("IdleDecay", "an apply's hint is always the last", "again_standsAlone = (! last_others[1])", "again_standsAlone = 1'b1"),
    Mutant("Codel", "a sojourn that is the target is below it",
           "d0_below = (departure_payload_sojournNs < ", "d0_below = (departure_payload_sojournNs <= "),
    Mutant("Codel", "a queue of one MTU is more than that",
           "d0_few = (departure_payload_bytes <= ", "d0_few = (departure_payload_bytes < "),
    Mutant("Codel", "a threshold that is off marks", "&& (! (&d0_threshold)))", "&& 1'b1)"),
    Mutant("Codel", "a first_above_time of long ago lies ahead",
           "|| state_firstAbove_old[departure_payload_queue])", "|| 1'b0)"),
    Mutant("Codel", "drop_next is old or not of the queue before",
           "d1_dropOld <= state_dropNext_old[departure_payload_queue]", "d1_dropOld <= state_dropNext_old[d1_queue]"),
    Mutant("Codel", "drop_next that lies ahead is not recent",
           "d1_recent = ((! d1_dropOld) && (d1_age[47] ||", "d1_recent = ((! d1_dropOld) && (1'b0 ||"),
    Mutant("Codel", "16 intervals are 8", "({4'd0,d1_interval} <<< 3'd4)", "({4'd0,d1_interval} <<< 3'd3)"),
    Mutant("Codel", "the count wraps", "(! d1_full)", "1'b1"),
    Mutant("Codel", "n of the next drop wraps", "((&d1_count[15 : 1]) ? 16'hffff :", "(1'b0 ? 16'hffff :"),
    Mutant("Codel", "count less lastcount grows on beside a count that is full",
           "(d1_full ? d1_delta : d1_deltaUp)", "d1_deltaUp"),
    Mutant("Codel", "a count of 1 is taken up again", "(16'h0001 < d1_delta)", "(16'h0000 < d1_delta)"),
    Mutant("Codel", "the root for a count that is taken up again is that of the count before",
           "d2_n = (d2_dropping ? d2_countUp : d1_delta)", "d2_n = d2_countUp"),
    Mutant("Codel", "a drop in the loop that does not come moves drop_next", "((d1_phase == 2'b10) && (! d1_ok))", "1'b0"),
    Mutant("Codel", "drop_next that is taken back is young again", "state_dropBefore_old[d1_queue] : (", "1'b0 : ("),
    Mutant("Codel", "drop_next of a new dropping state is as old as the last",
           "(d1_dropOld && (! d2_enters))", "d1_dropOld"),
    Mutant("Codel", "the packet behind the first drop may be dropped", "(_zz_d1_eligible != 2'b01)", "1'b1"),
    Mutant("Codel", "the packet behind the first drop may end the dropping state",
           "(d1_dropping && (d1_ok || (d1_phase == 2'b01)))", "(d1_dropping && d1_ok)"),
    Mutant("Codel", "what is CE is marked", "&& (! d1_ce))", "&& 1'b1)"),
    Mutant("Codel", "exempt packets are marked at the threshold",
           "d1_markable <= ((! departure_payload_exempt) && d1_isEct)", "d1_markable <= d1_isEct"),
    Mutant("Codel", "nobody has to see the epochs of first_above_time", "(! (&state_firstAbove_old))", "1'b0"),
    Mutant("Pie", "half the target is a short delay",
           "tick_short <= (_zz_tick_short < ", "tick_short <= (_zz_tick_short <= "),
    Mutant("Pie", "an allowance shorter than an interval wraps",
           "(tick_left[32] ? 32'h0 : tick_left[31 : 0])", "tick_left[31 : 0]"),
    Mutant("Pie", "the allowance returns before p is 0",
           "((tick_none && tick_short) && tick_wasShort)", "(tick_short && tick_wasShort)"),
    Mutant("Pie", "the allowance returns after one short delay",
           "((tick_none && tick_short) && tick_wasShort)", "(tick_none && tick_short)"),
    Mutant("Pie", "a short delay is enough to drop nothing", "(tick_short && tick_small)", "tick_short"),
    Mutant("Pie", "packets are dropped within the allowance", "((! t1_first) && (! t1_state_allowed))", "(! t1_first)"),
    Mutant("Pie", "a queue of PIE_BYPASS bytes is more than few", "(t1_bytes <= t1_bypass)", "(t1_bytes < t1_bypass)"),
    Mutant("Pie", "a p of PIE_ECN_MAX drops", "(t1_probability <= t1_ecnMax)", "(t1_probability < t1_ecnMax)"),
    Mutant("Pie", "a cleared queue has its old delay",
           "(tick_first ? 32'h0 : tick_fromTick_oldDelay)", "tick_fromTick_oldDelay"),
    Mutant("Pie", "a word that comes with a tick's last cycle makes it not void",
           "((tick_t3 && (! tick_abandoned)) && (! tick_disturbed))", "(tick_t3 && (! tick_abandoned))"),
    Mutant("Pie", "an apply in the cycle a tick is due is missed",
           "(_zz_tick_abandoned[timer_due_payload_queue] ||", "(1'b0 ||"),
    Mutant("Pie", "words of any queue make a tick void",
           "((config_valid && (config_payload_queue == tick_queue)) ||", "(config_valid ||"),
    Mutant("Pie", "a queue falls asleep with a delay that has just come",
           "((tick_takes && tick_rests) && (! _zz_tick_sleeping[tick_queue]))", "(tick_takes && tick_rests)"),
    Mutant("Pie", "a queue falls asleep while its allowance still changes",
           "((tick_none && tick_still) && tick_controller_undelayed)", "(tick_none && tick_controller_undelayed)"),
    Mutant("Pie", "a sojourn of more than 32 bits wraps",
           "(delay_left_long ? 32'hffffffff : delay_left_sojourn)", "delay_left_sojourn"),
    Mutant("Pie", "the last packet leaves its delay",
           "(departure_valid && (departure_payload_packets != 16'h0))", "departure_valid"),
    Mutant("Pie", "a delay of queues that have left does not keep it awake",
           "|| unit_attentive)", "|| 1'b0)", module="Pie"),
    Mutant("PiController", "increments are not capped", "(tuning_above && (! change_sum[60]))", "1'b0"),
    Mutant("PiController", "250 ms are more than 250 ms",
           "(32'h0ee6b280 < operands_delay)", "(32'h0ee6b280 <= operands_delay)"),
    Mutant("PiController", "p wraps above 1", "(change_sum[60] || change_above)", "change_sum[60]"),
    Mutant("PiController", "p below 1 millionth has the gains of 10 millionths",
           "(tuning_index != 3'b110)", "(tuning_index != 3'b101)"),
    Mutant("PiController", "p decays beside an old delay",
           "((operands_delay == 32'h0) && (operands_oldDelay == 32'h0))", "(operands_delay == 32'h0)"),
    Mutant("PiController", "a negative term is its complement",
           "&& (! change_isProbability)) && term_negative)", "&& (! change_isProbability)) && 1'b0)"),
    Mutant("PiController", "the second term is that of the target", "(second ? operands_oldDelay : word)", "word"),
    Mutant("TickTimer", "ticks that were missed are made up for",
           "((writes || far) ? stamp : deadline)", "(writes ? stamp : deadline)"),
    Mutant("TickTimer", "late by one interval is not late", "(interval_1 <= late[31 : 0])", "(interval_1 < late[31 : 0])"),
    Mutant("TickTimer", "late by more than 2^32 ns is what is left of it", "((late[46 : 32] != 15'h0) ||", "(1'b0 ||"),
    Mutant("TickTimer", "a start while a queue is looked at is not seen",
           "((live && (! killed)) && _zz_current)", "(live && _zz_current)"),
    Mutant("TickTimer", "a queue is looked at before its start is written", "(restart | started)", "restart"),
    Mutant("TickTimer", "a delay starts the deadlines of a queue that is awake",
           "(rouse & (~ {awake_3,{awake_2,{awake_1,awake_0}}}))", "rouse"),
    Mutant("TickTimer", "wake is told after a round in which something changed",
           "rounds_stale <= rounds_disturbed", "rounds_stale <= 1'b0"),
    Mutant("TickTimer", "the last deadline that is found is the earliest", "((! found) || gap[47])", "1'b1"),
    Mutant("TickTimer", "a start in the cycle before a tick takes its deadline",
           "((phase == 3'b011) && (writes || (|starting)))", "((phase == 3'b011) && writes)"),
    Mutant("TickTimer", "intervals shorter than 4096 ns", "(interval[31 : 12] == 20'h0)", "1'b0"),
    Mutant("Pi2", "the pair's delay is the classic queue's",
           "((tick_own < tick_others) ? tick_others : tick_own)", "tick_own"),
    Mutant("Pi2", "an L queue meets its own probabilities",
           "roles_source_1 <= (roles_queues_1_low ?", "roles_source_1 <= (1'b0 ?"),
    Mutant("Pi2", "an L queue without a partner meets what its pair left",
           "(t2_none_reg[t1_source] || t1_alone)", "t2_none_reg[t1_source]"),
    Mutant("Pi2", "an overloaded L queue drops nothing that is ECT",
           "(t3_classic && (t2_overCoupled || (! t1_capable)))", "(t3_classic && (! t1_capable))"),
    Mutant("Pi2", "an overloaded L queue marks by p_CL alone",
           "((t2_overCoupled ? t3_either : t3_coupled) && t1_capable)", "(t3_coupled && t1_capable)"),
    Mutant("Pi2", "an overloaded classic queue marks", "&& (! t2_overClassic)) && t1_capable)", "&& 1'b1) && t1_capable)"),
    Mutant("Pi2", "p_CL wraps above 1", "(tick_multiplier_product[51 : 48] != 4'b0000)", "1'b0"),
    Mutant("Pi2", "either of two is the sum of both", "(tick_sum - _zz_tick_either)", "tick_sum"),
    Mutant("Pi2", "p_Cmax itself is no overload",
           "(tick_words_word <= tick_state_classic)", "(tick_words_word < tick_state_classic)"),
    Mutant("Pi2", "an overload of one pair is that of all",
           "tick_state_overCoupled <= tick_full", "tick_state_overCoupled <= (tick_state_overCoupled || tick_full)"),
    Mutant("Pi2", "a sojourn of PI2_STEP is longer",
           "(leaving_step < departure_payload_sojournNs[31 : 0])", "(leaving_step <= departure_payload_sojournNs[31 : 0])"),
    Mutant("Pi2", "a sojourn of more than 32 bits wraps at the step", "(leaving_long ||", "(1'b0 ||"),
    Mutant("Pi2", "the last packet of an L queue is marked",
           "(roles_low[departure_payload_queue] && (departure_payload_packets != 16'h0))",
           "roles_low[departure_payload_queue]"),
    Mutant("Pi2", "a pair sleeps while its L queue has a delay",
           "&& ((_zz_tick_sleeping & tick_delayed) == 4'b0000))", "&& 1'b1)"),
    Mutant("Pi2", "a delay of the L queue does not awake the pair",
           "(delay_appears[3] || (|(roles_matrix_3 & delay_appears)))", "delay_appears[3]"),
    Mutant("Pi2", "a request sees what a tick leaves a cycle early",
           "if(tick_takes_regNext) begin", "if(tick_takes) begin"),
    Mutant("DtEcn", "bytes wrap",
           "({1'b0,request_payload_bytes} + {1'b0,_zz_t0_held_6})", "{1'b0,(request_payload_bytes + _zz_t0_held_6)}"),
    Mutant("DtEcn", "frames wrap",
           "({1'b0,request_payload_frames} + _zz_t0_held_4)", "{1'b0,(request_payload_frames + 16'h0001)}"),
    Mutant("DtEcn", "the threshold itself is not above", "(t1_threshold <= t1_held)", "(t1_threshold < t1_held)"),
    Mutant("DtEcn", "ECT(1) is not marked",
           "((request_payload_ecn == 2'b10) || (request_payload_ecn == 2'b01))", "(request_payload_ecn == 2'b10)"),
    Mutant("DtEcn", "the codepoint is that of the request behind",
           "answer_ect <= t1_ect_delay_8", "answer_ect <= t1_ect_delay_7"),
    Mutant("DtEcn", "the word of any register is the threshold",
           "(config_valid_regNext && (config_payload_regNextWhen_word == 7'h1c))", "config_valid_regNext"),
    Mutant("Resting", "a unit that is selected rests", "(copying || (|selected))", "copying"),
    Mutant("Resting", "one queue does not keep it awake", "(|selected)", "(&selected)"),
    Mutant("Resting", "an apply does not awake it", "(copying || (|selected))", "(|selected)"),
    Mutant("Resting", "a disturbance does not begin the count anew", "(restarts ? 10'h0 : counted)", "counted"),
    Mutant("Resting", "it rests after half the time", "(! count[9])", "(! count[8])"),
    Mutant("Resting", "at rest it shows what it does", "= (! awake)", "= 1'b0"),
    Mutant("Lfsr", "0 is a seed", "(none ? 64'h9e3779b97f4a7c15 : seed)", "seed"),
    Mutant("Lfsr", "of seeds in successive cycles the first counts", "if(seed_valid) begin",
           "if((seed_valid && (! loading_passed[0]))) begin"),
    Mutant("Lfsr", "after a seed of 0 every seed is one", "none <= (seed == 64'h0)",
           "none <= (none || (seed == 64'h0))"),
    Mutant("Lfsr", "the seed itself is the first draw", "(next_1 || seeded)", "next_1"),
    Mutant("Lfsr", "a fixed value holds the state", "(next_1 || seeded)", "((next_1 && (! fixed)) || seeded)"),
    Mutant("Lfsr", "a step has a tap less", "state_xor[17] = ((((state[18] ^", "state_xor[17] = ((((1'b0 ^"),
    Mutant("Lfsr", "a draw has bits of the one before", "drawn = state[31 : 8]", "drawn = state[39 : 16]"),
    Mutant("Lfsr", "a draw that is fixed is taken when it goes",
           "(fixed ? fixedDraw : drawn)", "((fixed || next_1) ? fixedDraw : drawn)"),
    Mutant("FrameCloser", "a frame that has ended is open", "(! m_axis_tlast)", "1'b1"),
    Mutant("FrameCloser", "a beat that is shown is taken", "(m_axis_tvalid && m_axis_tready)", "m_axis_tvalid"),
    Mutant("FrameCloser", "the first beat after a reset is lost", "(chosen_ready && (! fresh))", "chosen_ready"),
    Mutant("FrameCloser", "a beat that waits is forgotten", "(s_axis_tvalid || (! s_axis_rValidN))", "s_axis_tvalid"),
    Mutant("FrameCloser", "a frame that has to be closed is nothing to do", "(fresh && receiving)", "1'b0"),
    Mutant("FrameCloser", "a beat behind the output is nothing to do", "(m_axis_tvalid || source_valid)", "m_axis_tvalid"),
    Mutant("FrameCloser", "a last beat that is held is none",
           "(s_axis_rValidN ? s_axis_tlast : s_axis_rData_tlast)", "s_axis_tlast"),
    Mutant("DescriptorPool", "the ring is read while it is empty", "&& (stored != 12'h0))", "&& 1'b1)"),
    Mutant("DescriptorPool", "one that comes as another is read counts twice",
           "(give_valid && (! offer_read))", "give_valid"),
    Mutant("DescriptorPool", "one that comes as another is read does not count",
           "((! give_valid) && offer_read)", "offer_read"),
    Mutant("DescriptorPool", "one that comes as another goes is counted off", "((! give_valid) && take_fire)", "take_fire"),
    Mutant("DescriptorPool", "one that comes as another goes is counted", "(give_valid && (! take_fire))", "give_valid"),
    Mutant("DescriptorPool", "a second one is read behind the first",
           "((! offer_valid) && (! offer_reading))", "(! offer_valid)"),
    Mutant("DescriptorPool", "the last of the first round is left out", "(! fresh[11])", "(fresh < 12'h7ff)"),
    Mutant("DescriptorPool", "what is shown is taken", "(take_valid && take_ready)", "take_valid"),
    Mutant("Ingress", "the rest of a torn frame is a frame", "(gate_first || (! gate_skip))", "1'b1"),
    Mutant("Ingress", "a third beat tells of any frame", "(beat_isThird && parse_tagged)", "beat_isThird"),
    Mutant("Ingress", "options behind a tag are none",
           "(beat_low_six ? 4'b1010 : beat_low_ihl)", "(beat_low_six ? 4'b1010 : 4'b0101)"),
    Mutant("Ingress", "a header that lacks a byte is one",
           "(parse_headerEnd[0] ? 3'b110 : 3'b010)", "(parse_headerEnd[0] ? 3'b101 : 3'b010)"),
    Mutant("Ingress", "a header of four words is one", "(4'b0101 <= beat_high_ihl)", "(4'b0100 <= beat_high_ihl)"),
    Mutant("Ingress", "a frame of the limit is longer", "(beat_ones <= _zz_word_fits)", "(beat_ones < _zz_word_fits)"),
    Mutant("Ingress", "a last beat without bytes fits", "&& (beat_ones != 4'b0000))", "&& 1'b1)"),
    Mutant("Ingress", "a frame behind a bad one is bad",
           "(beat_broken || (end_broken && (! beat_isFirst)))", "(beat_broken || end_broken)"),
    Mutant("Ingress", "room comes back in an endless frame", "(place_spent || place_noRoom)", "place_noRoom"),
    Mutant("Ingress", "the count of beats runs round", "(place_beat != 4'b1111)", "1'b1"),
    Mutant("Ingress", "one group address of sixteen", "(beat_bytes_5[7 : 4] == 4'b0000)", "(beat_bytes_5 == 8'h00)"),
    Mutant("Ingress", "a short IP frame has two hints",
           "((hint_decided && parse_isIpSoFar) && (! hint_tooShort))", "(hint_decided && parse_isIpSoFar)"),
    Mutant("RateTest", "a rate over more than 2^36 ns", "(t1_elapsed[47 : 36] == 12'h0)", "1'b1"),
    Mutant("RateTest", "the first arrival has a rate", "(t1_hasLast && (t1", "(1'b1 && (t1"),
    Mutant("RateTest", "the rise is always the average's", "(t1_ofQueue ? _zz_t4_rise : t4_ofAverage)", "t4_ofAverage"),
    Mutant("RateTest", "a limit beyond its range is what is left of it", "&& (! t4_beyond))", "&& 1'b1)"),
    Mutant("RateTest", "a rise at the limit is rapid", "t5_steep <= (t4_limit < ", "t5_steep <= (t4_limit <= "),
    Mutant("RateTest", "the last arrival is of the queue before",
           "memory_spinal_port0 = memory[request_payload_queue]", "memory_spinal_port0 = memory[t1_queue]"),
    Mutant("RateTest", "packets of RED are tested", "((t1_mine && t2_measured) && between)", "(t2_measured && between)"),
    Mutant("RateTest", "mode 3 is none", "(t6_rapid && t5_mode[1])", "(t6_rapid && (t5_mode == 2'b10))"),
    Mutant("RateTest", "above the maximum a rate counts",
           "((t1_mine && t2_measured) && between)", "(t1_mine && t2_measured)"),
    Mutant("AdaptMaxP", "max_p falls below the bottom",
           "(tickSteps_passed[2] || tickSteps_passed[15])", "tickSteps_passed[2]"),
    Mutant("AdaptMaxP", "an average at ARED_HIGH is above it",
           "(tickSteps_passed[2] || tickSteps_passed[15])", "tickSteps_passed[15]"),
    Mutant("AdaptMaxP", "max_p wraps as it rises",
           "({1'b0,adapt_maxP} + {1'b0,adapt_change})", "{1'b0,(adapt_maxP + adapt_change)}"),
    Mutant("AdaptMaxP", "max_p above the top comes down to it", "adapt_canRise <= adapt_less", "adapt_canRise <= 1'b1"),
    Mutant("AdaptMaxP", "what is configured in a tick is overwritten",
           "finish_void = state_renewed[queue_1]", "finish_void = 1'b0"),
    Mutant("AdaptMaxP", "a tick does not begin an interval", "(look_restarts || tickSteps_passed[0])", "look_restarts"),
    Mutant("AdaptMaxP", "the first arrival after an apply brings a tick",
           "(lookSteps_passed[2] && state_renewed[queue_1])", "1'b0"),
    Mutant("AdaptMaxP", "a silence of 2^32 ns and more counts modulo that", "(look_since[47 : 32] != 16'h0)", "1'b0"),
    Mutant("AdaptMaxP", "intervals shorter than 16384 ns", "((! adapt_less) && (|look_since[47 : 14]))", "(! adapt_less)"),
    Mutant("AdaptMaxP", "an exponent wraps as a slope is normalised", "(product_exponent <= 6'h37)", "1'b1"),
    Mutant("AdaptMaxP", "a queue that has not selected it ticks", "(state_adaptive & selected)", "state_adaptive"),
    Mutant("AdaptMaxP", "slopes are those of the queue that ticks",
           "slopes_valid = state_adapted[queue]", "slopes_valid = state_adapted[queue_1]"),
    Mutant("Fn", "a gap of more than 32 bits wraps",
           "((t2_gap[47 : 32] != 16'h0) ? 32'hffffffff : t2_gap[31 : 0])", "t2_gap[31 : 0]", module="FnWindow"),
    Mutant("Fn", "a short window is measured more often than every 128 packets",
           "((t1_used[12 : 7] == 6'h0) ? 13'h0080 : t1_used)", "t1_used", module="FnWindow"),
    Mutant("Fn", "a window that starts anew loses what it held before",
           "t2_full <= (t1_full && (! t1_first))", "t2_full <= t1_full", module="FnWindow"),
    Mutant("Fn", "the sums of a window outlive a restart",
           "t2_empty <= (t1_first || (t1_state_fill == 13'h0))", "t2_empty <= (t1_state_fill == 13'h0)", module="FnWindow"),
    Mutant("Fn", "the time between measurements is never begun anew",
           "((t1_first || t1_ends) ? 12'h0 :", "(t1_first ? 12'h0 :", module="FnWindow"),
    Mutant("Fn", "a restart does not cancel the job that it meets",
           "((phase_1 == Phase_store) && (! cancelled))", "(phase_1 == Phase_store)", module="FnAcceleration"),
    Mutant("Fn", "bytes in no time have a rate",
           "rated[queue_1] <= (! job_timeless)", "rated[queue_1] <= 1'b1", module="FnAcceleration"),
    Mutant("Fn", "rates far apart are as near as the remainder",
           "(aligned_distance[9 : 5] != 5'h0)", "1'b0", module="FnAcceleration"),
    Mutant("Fn", "a packet larger than the mean counts more than one",
           "(_zz_size_least != 16'h0)", "1'b0", module="FnDecision"),
    Mutant("Fn", "the first packet of a queue that is full is judged", "t13_always <= ((entered && full) && (! quadratic))",
           "t13_always <= (full && (! quadratic))", module="FnDecision"),
    Mutant("Fn", "a commit of another queue restarts the count",
           "((commit_payload_acts && (count_committed_queue == arrival_queue)) || count_anew_cleared)",
           "(commit_payload_acts || count_anew_cleared)", module="FnDecision"),
    Mutant("Fn", "a younger packet outside the band counts behind a restart", "(count_committed_counted && t13_inBand14)",
           "count_committed_counted", module="FnDecision"),
    Mutant("Fn", "outside the band the count goes on",
           "(t13_inBand ? (count_restarted ?", "(1'b1 ? (count_restarted ?", module="FnDecision"),
    Mutant("Fn", "what is certain is early", "(t13_certain17 ? 3'b010 : 3'b001)", "3'b001", module="FnDecision"),
    Mutant("RedFamily", "above the maximum gentle is not asked for",
           "((! belowDouble[44]) || (t4_upper && (! parameters_gentle)))", "(! belowDouble[44])", module="Red"),
    Mutant("RedFamily", "HARDDROP drops early too",
           "(! (t4_forced && parameters_hardDrop))", "(! parameters_hardDrop)", module="Red"),
    Mutant("RedFamily", "p above the maximum begins at 0",
           "(middle_upper ? parameters_maxP : 32'h0)", "32'h0", module="Red"),
    Mutant("RedFamily", "the upper slope has the lower one's exponent",
           "(t4_upper ? parameters_gentleSlope_exponent : parameters_slope_exponent)",
           "parameters_slope_exponent", module="Red"),
    Mutant("RedFamily", "the first packet is exempt from a rapid rise",
           "((! middle_exempt) || rate_rapid)", "(! middle_exempt)", module="Red"),
    Mutant("RedFamily", "one packet in the queue may be dropped for certain",
           "((rate_certain && middle_inBand) && (! middle_few))", "(rate_certain && middle_inBand)", module="Red"),
    Mutant("RedFamily", "one packet in the queue is dropped above the maximum",
           "(middle_forced && (! middle_few))", "middle_forced", module="Red"),
    Mutant("Ewma", "the average is rounded down", "t3_rounding <= t2_low[35]", "t3_rounding <= 1'b0"),
    Mutant("Ewma", "any arrival decays", "(request_payload_empty && decay_factor_decays)", "decay_factor_decays"),
    Mutant("Ewma", "with w = 1 idle time leaves the queue",
           "((t1_unity && (! t1_idle)) ? t1_quantity : 21'h0)", "(t1_unity ? t1_quantity : 21'h0)"),
    Mutant("Ewma", "with w = 1 idle time leaves the average",
           "((t0_unity || t0_idle) ? 36'h0 : t0_weight)", "(t0_unity ? 36'h0 : t0_weight)"),
    Mutant("Ewma", "the lower halves have no carry", "t3_carry <= t2_low[36]", "t3_carry <= 1'b0"),
    Mutant("Ewma", "a clear as a request comes is overtaken by it",
           "(request_valid && (! clear[request_payload_queue]))", "request_valid"),
    Mutant("Pi2", "queues of other policies tick", "(selected & (~ roles_low))", "(~ roles_low)"),
    Mutant("Pi2", "a queue of another policy is a partner",
           "roles_matrix_1 <= {(((((roles_queues_1_coupled == 4'b0011) && (roles_queues_3_coupled == 4'b0001)) && (roles_queues_1_low != roles_queues_3_low)) && selected[1]) && selected[3])",
           "roles_matrix_1 <= {(((((roles_queues_1_coupled == 4'b0011) && (roles_queues_3_coupled == 4'b0001)) && (roles_queues_1_low != roles_queues_3_low)) && selected[1]) && 1'b1)"),
    Mutant("Codel", "drop_next has the epoch of the one before",
           "state_dropNext_epochs_1 <= d5_dropNext[47 : 46]", "state_dropNext_epochs_1 <= d1_dropNext[47 : 46]"),
    Mutant("Hints", "a bad frame keeps its hint", "((! path_store_arrival_valid) || hints_differs)", "hints_differs"),
    Mutant("Hints", "a frame of another queue keeps its hint", "((! path_store_arrival_valid) || hints_differs)",
           "(! path_store_arrival_valid)"),
    Mutant("Hints", "a runt withdraws its predecessor's hint", "(! (path_ingress_hint_valid && hints_stillborn))", "1'b1"),
    Mutant("Reset", "a beat of the data path leaves at a reset", "(form_rewrite_m_axis_tvalid && (! domains_pathReset))",
           "form_rewrite_m_axis_tvalid"),
    Mutant("Reset", "CTRL.RESET resets no data path", "resets <= resetting", "resets <= 1'b0"),
    Mutant("Reset", "cells held before a reset count after it", "((shown_buffer_freeCells < lowest) && (! pathReset))",
           "(shown_buffer_freeCells < lowest)"),
    Mutant("TraceMerge", "one departure's record is all that waits", "departure_waits <= (_zz_departure_waits != departure_write)", "departure_waits <= 1'b0"),
    Mutant("TraceMerge", "every arrival waits", "late <= (arrival_valid && taken)", "late <= arrival_valid"),
    Mutant("TraceMerge", "an arrival behind a record is lost", "(late || ((! taken) && arrival_valid))", "((! taken) && arrival_valid)"),
    Mutant("TraceMerge", "records follow each other", "((! late) && (! taken))", "(! late)"),
    Mutant("TraceMerge", "a departure goes in an arrival's place", "(! taken)) && (! arrives))", "(! taken)) && 1'b1)"),
    Mutant("TraceMerge", "a departure that was discarded was sent", "(left_payload_discard ? 2'b10 :", "(1'b0 ? 2'b10 :"),
    Mutant("TraceFifo", "a record that is read has no slot", "(read_start && read_holds)", "read_start"),
    Mutant("TraceFifo", "a slot is never given up", "(read_start && read_holds)", "1'b0"),
    Mutant("TraceFifo", "takes a record when it is full", "((io_push_valid && (! write_second)) && (! write_full))",
           "(io_push_valid && (! write_second))"),
    Mutant("TraceFifo", "odd words are even", "{read_slot,io_odd}", "{read_slot,(! io_odd)}"),
    Mutant("TraceFifo", "pops what is not there", "(io_pop && (waiting != 7'h0))", "io_pop"),
    Mutant("Shape", "wraps instead of saturating", "(bucket_sum[53] ? 53'h1fffffffffffff : _zz_bucket_ahead)",
           "_zz_bucket_ahead"),
    Mutant("Shape", "a negative size is huge", "(price_free ? 52'h0 :", "(1'b0 ? 52'h0 :"),
    Mutant("Shape", "mpu does not count", "((io_charge_payload < io_mpu) ?", "(1'b0 ?"),
    Mutant("Shape", "mpu takes the overhead in", "(io_charge_payload < io_mpu) ? _zz_price_signedBytes :",
           "(io_charge_payload < io_mpu) ? {3'd0, io_mpu} :"),
    Mutant("Shape", "opens while a charge is under way",
           "(((io_charge_valid || step_charge1) || step_charge2) || step_charge3)",
           "((io_charge_valid || step_charge1) || step_charge2)"),
    Mutant("Shape", "shapes when it is off", "(off || ((! verdict_slack[53]) && (! verdict_charging)))",
           "((! verdict_slack[53]) && (! verdict_charging))"),
    Mutant("Shape", "credit grows without end", "(bucket_left[67] ? 53'h0 : _zz_bucket_ahead_1)", "_zz_bucket_ahead_1"),
    Mutant("CounterBank", "clearing clears nothing", "(operation_stage1_zero ? 128'h0 : counters_found)",
           "counters_found"),
    Mutant("CounterBank", "reads write", "(operation_stage2_valid && operation_stage2_write)", "operation_stage2_valid"),
    Mutant("CounterBank", "a snapshot takes what comes after it",
           "(queued_fifo_io_pop_valid && (! queued_none))", "queued_fifo_io_pop_valid"),
    Mutant("CounterBank", "what came during a copy is forgotten", "(queued_noneLater && (! queued_fifo_io_push_valid))", "1'b1"),
    Mutant("CounterBank", "bytes are not added", "(counters_old[127 : 64] + _zz_counters_bytes)", "counters_old[127 : 64]"),
    Mutant("CounterBank", "both are the first", "(control_phase[0] ? queued_fifo_io_pop_payload_second : queued_fifo_io_pop_payload_first)",
           "queued_fifo_io_pop_payload_first"),
    Mutant("Totals", "a copy is of several moments", "(io_capture || (sweep_begins && (! sweep_copyDue)))", "1'b1"),
    Mutant("Totals", "nothing is swept without a snapshot", "(sweep_copyDue || held_behind)", "sweep_copyDue"),
    Mutant("Totals", "what the low word owes is forgotten", "(update_owed && update_address1[0])", "1'b0"),
    Mutant("Totals", "a carry is lost", "(update_carry && update_address2[0])", "1'b0"),
    Mutant("Totals", "a carry goes to the next row", "(update_carry && update_address2[0])", "update_carry"),
    Mutant("Totals", "a tally is as wide as its total", "(update_difference[31 : 0] & update_mask1)", "update_difference[31 : 0]"),
    Mutant("Totals", "totals outlive a clear", "((update_found || update_asked) && sweep_fresh)", "1'b0"),
    Mutant("Totals", "every sweep changes the copy", "(update_again && sweep_copying)", "update_again"),
    Mutant("Totals", "a read meets a sweep", "assign io_read_ready = (! sweep_reads)", "assign io_read_ready = 1'b1"),
    Mutant("TenGigabitMac", "the deficit is forgotten", "{1'b0,frame_deficit}", "{1'b0,2'b00}",
           module="XgmiiTransmit"),
    Mutant("TenGigabitMac", "a gap for 8 bytes is as for 7", "((frame_count < 4'b0100) || (frame_count == 4'b1000))", "(frame_count < 4'b0100)",
           module="XgmiiTransmit"),
    Mutant("TenGigabitMac", "frames are padded to 56 bytes and FCS", "(frame_worth < 4'b0100)) ? 4'b0100", "(frame_worth < 4'b0001)) ? 4'b0001",
           module="XgmiiTransmit"),
    Mutant("TenGigabitMac", "an abort is sent as a good frame", "{8'hfd,(slots_6_bad ?", "{8'hfd,(1'b0 ?",
           module="XgmiiTransmit"),
    Mutant("TenGigabitMac", "an underrun's rest is a new frame", "&& s_axis_tvalid) && (! frame_discard))", "&& s_axis_tvalid) && 1'b1)",
           module="XgmiiTransmit"),
    Mutant("TenGigabitMac", "no terminate is no error", "(parse_errors || (parse_ends && (! parse_clean)))", "parse_errors",
           module="XgmiiReceive"),
    Mutant("TenGigabitMac", "60 bytes with FCS are no runt", "(check_finish_words < 12'h008)", "(check_finish_words < 12'h007)",
           module="XgmiiReceive"),
    Mutant("TenGigabitMac", "9220 bytes are too long", "(15'h2404 < result_bytes)", "(15'h2404 <= result_bytes)",
           module="XgmiiReceive"),
    Mutant("TenGigabitMac", "any byte is a delimiter", "(align_lanes_7_data == 8'hd5)", "1'b1",
           module="XgmiiReceive"),
    Mutant("TenGigabitMac", "a frame that is turned stays so", "(align_shifted && (! align_atFirst))", "align_shifted",
           module="XgmiiReceive"),
    Mutant("TenGigabitMac", "a full FIFO takes the next frame", "(push_crowded || push_closing)", "1'b0",
           module="ReceiveCrossing"),
    Mutant("TenGigabitMac", "a frame that is cut is not closed", "push_closing <= push_open", "push_closing <= 1'b0",
           module="ReceiveCrossing"),
    Mutant("GigabitMac", "a wrong FCS is right", "(check_crc != 32'hdebb20e3)", "1'b0",
           module="GmiiReceive"),
    Mutant("GigabitMac", "the FCS is delivered", "(parse_valid && (words_waiting == 3'b100))", "(parse_valid && (words_waiting >= 3'b011))",
           module="GmiiReceive"),
    Mutant("GigabitMac", "frames are padded to 59 bytes", "(15'h003b <= frame_bytes)", "(15'h003a <= frame_bytes)",
           module="GmiiTransmit"),
    Mutant("GigabitMac", "tuser does not abort", "(frame_endsFrame && s_axis_tuser[0])", "1'b0",
           module="GmiiTransmit"),
    Mutant("GigabitMac", "a gap of 11 bytes", "(frame_step == 4'b1010)", "(frame_step == 4'b1001)",
           module="GmiiTransmit"),
    Mutant("GigabitMac", "a full FIFO takes the next frame", "(push_crowded || push_closing)", "1'b0",
           module="ReceiveCrossing"),
    Mutant("GigabitMac", "a frame that is cut is not closed", "push_closing <= push_open", "push_closing <= 1'b0",
           module="ReceiveCrossing"),
    Mutant("GigabitMac", "a delimiter inside a frame starts another", "(! parse_inside)", "(port_data == 8'hd5)",
           module="GmiiReceive"),
    Mutant("RgmiiMacEcp5", "an error is not received", "(iddrx1f_5_Q0 ^ iddrx1f_5_Q1)", "1'b0", module="RgmiiPort"),
    Mutant("RgmiiMacEcp5", "an error is the second level of the pin", "(iddrx1f_5_Q0 ^ iddrx1f_5_Q1)", "iddrx1f_5_Q1", module="RgmiiPort"),
    Mutant("RgmiiMacEcp5", "nibbles are swapped on the way in", "{iddrx1f_4_Q1,{iddrx1f_3_Q1,{iddrx1f_2_Q1,{iddrx1f_1_Q1,{iddrx1f_4_Q0,{iddrx1f_3_Q0,{iddrx1f_2_Q0,iddrx1f_1_Q0}}}}}}}",
           "{iddrx1f_4_Q0,{iddrx1f_3_Q0,{iddrx1f_2_Q0,{iddrx1f_1_Q0,{iddrx1f_4_Q1,{iddrx1f_3_Q1,{iddrx1f_2_Q1,iddrx1f_1_Q1}}}}}}}", module="RgmiiPort"),
    Mutant("RgmiiMacEcp5", "an error is not sent", "(transmit_valid ^ transmit_error)", "transmit_valid", module="RgmiiPort"),
    Mutant("RgmiiMacEcp5", "a nibble's first bit is the other's", "transmit_data[0]", "transmit_data[4]", module="RgmiiPort"),
    Mutant("RgmiiMac7Series", "an error is not received", "(iddr_5_Q1 ^ iddr_5_Q2)", "1'b0", module="RgmiiPort"),
    Mutant("RgmiiMac7Series", "an error is the second level of the pin", "(iddr_5_Q1 ^ iddr_5_Q2)", "iddr_5_Q2", module="RgmiiPort"),
    Mutant("RgmiiMac7Series", "nibbles are swapped on the way in", "{iddr_4_Q2,{iddr_3_Q2,{iddr_2_Q2,{iddr_1_Q2,{iddr_4_Q1,{iddr_3_Q1,{iddr_2_Q1,iddr_1_Q1}}}}}}}",
           "{iddr_4_Q1,{iddr_3_Q1,{iddr_2_Q1,{iddr_1_Q1,{iddr_4_Q2,{iddr_3_Q2,{iddr_2_Q2,iddr_1_Q2}}}}}}}", module="RgmiiPort"),
    Mutant("RgmiiMac7Series", "an error is not sent", "(transmit_valid ^ transmit_error)", "transmit_valid", module="RgmiiPort"),
    Mutant("RgmiiMac7Series", "a nibble's first bit is the other's", "transmit_data[0]", "transmit_data[4]", module="RgmiiPort"),
    Mutant("UartBridge", "a stop bit is not looked at", "byte_valid_reg <= (bits_ends && line_high)", "byte_valid_reg <= bits_ends",
           "bench_faults", module="UartReceive"),
    Mutant("UartBridge", "a start bit is not looked at", "((bits_passed == 4'b0000) && line_high)", "1'b0", "bench_faults", module="UartReceive"),
    Mutant("UartBridge", "one sample counts", "(((line_synchronous && line_before) || (line_synchronous && line_earlier)) || (line_before && line_earlier))",
           "line_synchronous", "bench_faults", module="UartReceive"),
    Mutant("UartBridge", "a stop bit is missing", "left <= 4'b1010", "left <= 4'b1001", module="UartTransmit"),
    Mutant("UartBridge", "any CRC is right", "(crc_state == 32'hdebb20e3)", "1'b1", module="FrameDecoder"),
    Mutant("UartBridge", "a frame with an error inside is good", "&& (! state_broken))", "&& 1'b1)", module="FrameDecoder"),
    Mutant("UartBridge", "an escape before the flag is nothing", "&& (! state_escaped))", "&& 1'b1)", module="FrameDecoder"),
    Mutant("UartBridge", "five bytes are a frame", "(9'h006 <= state_used)", "(9'h005 <= state_used)", module="FrameDecoder"),
    Mutant("UartBridge", "a frame that is too long wraps", "(room && (state_used != 9'h100))", "room", module="FrameDecoder"),
    Mutant("UartBridge", "escaped bytes stay turned", "(state_escaped ? 8'h20 : 8'h0)", "8'h0", module="FrameDecoder"),
    Mutant("UartBridge", "a third request takes the place of one", "room = (! _zz_room)", "room = 1'b1", module="RequestBuffer"),
    Mutant("UartBridge", "operations above HOLD", "(4'b0100 < op_code[3 : 0])", "1'b0", module="Executor"),
    Mutant("UartBridge", "cores that are not there", "(4'b0010 <= op_core)", "1'b0", module="Executor"),
    Mutant("UartBridge", "count 0", "seen_noCount <= ((op_left == 8'h0) ||", "seen_noCount <= (1'b0 ||", module="Executor"),
    Mutant("UartBridge", "two greetings", "((op_isHello || op_isHold) && (op_left != 8'h01))", "(op_isHold && (op_left != 8'h01))", module="Executor"),
    Mutant("UartBridge", "data that are cut", "(op_isWrite && (_zz_seen_cut < op_bytes))", "1'b0", module="Executor"),
    Mutant("UartBridge", "1025 words", "(12'h400 < seen_total)", "(12'h401 < seen_total)", module="Executor"),
    Mutant("UartBridge", "no operation is a request", "whole_empty <= 1'b1", "whole_empty <= 1'b0", module="Executor"),
    Mutant("UartBridge", "any repeat is one of the last", "(last_known && (whole_number == last_number))", "last_known", module="Executor"),
    Mutant("UartBridge", "a repeat is new", "(whole_repeated && seen_isLast)", "1'b0", module="Executor"),
    Mutant("UartBridge", "a first request may be a repeat", "(whole_repeated && seen_isLast)", "seen_isLast", module="Executor"),
    Mutant("UartBridge", "a repeat does more than was done", "(whole_again && (whole_moved == last_moved))", "1'b0", module="Executor"),
    Mutant("UartBridge", "a repeat has its own status", "last_status_choice = (whole_again ? last_status : whole_status)",
           "last_status_choice = whole_status", module="Executor"),
    Mutant("UartBridge", "malformed requests are remembered", "(! whole_malformed)", "1'b1", module="Executor"),
    Mutant("UartBridge", "misaligned addresses reach the bus", "(op_address[16] || (op_address[1 : 0] != 2'b00))", "op_address[16]",
           module="Executor"),
    Mutant("UartBridge", "addresses come round", "(op_address[16] || (op_address[1 : 0] != 2'b00))", "(op_address[1 : 0] != 2'b00)",
           module="Executor"),
    Mutant("UartBridge", "three bytes for two", "((|word_payload[15 : 8]) ? 2'b10 : _zz_codes_0_choice)", "((|word_payload[15 : 8]) ? 2'b11 : _zz_codes_0_choice)",
           module="AnswerWords"),
    Mutant("UartBridge", "a group of five", "(packed_1 ? count[2] : (count != 3'b000))", "(packed_1 ? (count > 3'b100) : (count != 3'b000))",
           module="AnswerWords"),
    Mutant("UartBridge", "what was given up answers the next", "((access_valid && (! done)) && (! outstanding))",
           "((access_valid && (! done)) && (! wanted))", module="RegisterMaster"),
    Mutant("UartBridge", "nobody loses patience", "((&waited) && (! done))", "1'b0", module="RegisterMaster"),
    Mutant("UartBridge", "a refusal is none", "(bready ? axi_bresp[1] : axi_rresp[1])", "axi_rresp[1]", module="RegisterMaster"),
    Mutant("UartBridge", "the CRC is not stuffed", "(escaped || (! special))", "((escaped || (! special)) || (step_3 == Step_2_check))", module="FrameEncoder"),
    Mutant("RegisterFile", "what does not exist of a word is stored", "(request_wdata & (~ decode_absent))", "request_wdata"),
    Mutant("RegisterFile", "what is refused has an effect", "strobe <= (request_write && (! gather_illegal))", "strobe <= request_write"),
    Mutant("RegisterFile", "a seed without its low word", "{request_wdata,pulses_seedLow}", "{request_wdata,32'h0}"),
    Mutant("RegisterFile", "spacing without splitting", "((coreApply_next_spacing && coreApply_next_split) && (! coreApply_next_transit))",
           "coreApply_next_spacing"),
    Mutant("RegisterFile", "spacing in transit", "((coreApply_next_spacing && coreApply_next_split) && (! coreApply_next_transit))",
           "(coreApply_next_spacing && coreApply_next_split)"),
    Mutant("RegisterFile", "every CORE_APPLY changes the match table", "(coreApply_now && matching_differs)", "coreApply_now"),
    Mutant("RegisterFile", "a change of the match table's actions is not told", "(coreApply_now && matching_differs)", "1'b0"),
    Mutant("RegisterFile", "a rule that is off is in use", "matching_rules_0 = (matching_enabled[0] &&",
           "matching_rules_0 = (1'b1 &&"),
    Mutant("RegisterFile", "that a rule is on again is not told", "|| (|(matching_table_returns & matching_enabled)))", "|| 1'b0)"),
    Mutant("RegisterFile", "a rule stays on while its columns are made", "assign off = off_1;", "assign off = 16'h0;", module="MatchTable"),
    Mutant("RegisterFile", "CORE_APPLY does not wait for columns", "busy = (some || (! clearing_done))",
           "busy = (! clearing_done)", module="MatchTable"),
    Mutant("RegisterFile", "columns of the second half are those of the first", "{{{making_group,making_rule},making_isMask},making_lower}",
           "{{{making_group,making_rule},making_isMask},1'b0}", module="MatchTable"),
    Mutant("RegisterFile", "the core's words are those of a queue", "(sweep_done ? {io_block,io_address} : {sweep_block,sweep_word})",
           "(sweep_done ? {(io_block & 3'b011),io_address} : {sweep_block,sweep_word})", module="StoredWords"),
    Mutant("RegisterFile", "words are read of the queue that was copied", "(copy_active ? {_zz_memory_port_choice,copy_word} : {io_block,io_address})",
           "(copy_active ? {_zz_memory_port_choice,copy_word} : {_zz_memory_port_choice,io_address})", module="StoredWords"),
    Mutant("RegisterFile", "a copy ends a word early", "(copy_active && (copy_word != 7'h4f))", "(copy_active && (copy_word != 7'h4e))", module="StoredWords"),
    Mutant("RegisterFile", "accesses do not wait for the core's reset values", "((! sweep_done) || copy_busy)", "((! (sweep_done || sweep_core)) || copy_busy)",
           module="StoredWords"),
    Mutant("RegisterFile", "the sweep of the core ends a word early", "(sweep_core && (sweep_word == 7'h7f))",
           "(sweep_core && (sweep_word == 7'h7e))", module="StoredWords"),
    Mutant("RegisterFile", "a policy stays when the unit changes", "(offered_config_unit != queue3_unit)", "1'b0", module="StoredWords"),
    Mutant("RegisterFile", "a word of another queue is taken", "(io_config_payload_queue == 2'b10)", "1'b1", module="StoredWords"),
    Mutant("Board", "one direction has no bypass", "(direction_0_enter_inside ? direction_0_enter_around : io_bypass)",
           "1'b0", module="BumpInTheWire"),
    Mutant("Board", "the bypass is switched inside a frame", "(direction_1_enter_inside ? direction_1_enter_around : io_bypass)",
           "io_bypass", module="BumpInTheWire"),
    Mutant("Board", "frames are mixed at the output", "(direction_0_leave_inside ? direction_0_leave_around : streamDemux_io_outputs_1_valid)",
           "streamDemux_io_outputs_1_valid", module="BumpInTheWire"),
    Mutant("Board", "an error is not sent", "(transmit_valid ^ transmit_error)",
           "transmit_valid", module="RgmiiPort"),
    Mutant("Board", "an error is not received", "(iddrx1f_5_Q0 ^ iddrx1f_5_Q1)", "1'b0", module="RgmiiPort"),
    Mutant("Board", "nibbles are swapped on the way in", "{iddrx1f_4_Q1,{iddrx1f_3_Q1,{iddrx1f_2_Q1,{iddrx1f_1_Q1,{iddrx1f_4_Q0,{iddrx1f_3_Q0,{iddrx1f_2_Q0,iddrx1f_1_Q0}}}}}}}",
           "{iddrx1f_4_Q0,{iddrx1f_3_Q0,{iddrx1f_2_Q0,{iddrx1f_1_Q0,{iddrx1f_4_Q1,{iddrx1f_3_Q1,{iddrx1f_2_Q1,iddrx1f_1_Q1}}}}}}}", module="RgmiiPort"),
)  # fmt: skip


class PatternError(Exception):
    """A pattern does not name one line, or its line is none that can be changed."""


@dataclass
class Result:
    """What became of a mutant."""

    mutant: Mutant
    outcome: str
    seconds: float
    by: str = ""


def module_of(lines: Sequence[str], name: str) -> range:
    """Line numbers of a module; its name may have the top's in front."""
    head = re.compile(rf"module (\w+_)?{name} \(")
    first = next((n for n, line in enumerate(lines) if head.match(line)), None)
    if first is None:
        raise PatternError(f"no module {name}")
    last = next(n for n in range(first, len(lines)) if lines[n].startswith("endmodule"))
    return range(first, last)


def locate(lines: Sequence[str], mutant: Mutant) -> int:
    """The line of a mutant."""
    module = mutant.module or UNITS[mutant.unit].module or mutant.unit
    found = [n for n in module_of(lines, module) if mutant.old in lines[n]]
    if len(found) != 1:
        raise PatternError(f"{module} has {len(found)} lines with '{mutant.old}', not one")
    before, after = (LINE.match(line) for line in (lines[found[0]], lines[found[0]].replace(mutant.old, mutant.new)))
    if before is None or after is None or before["head"] != after["head"]:
        raise PatternError(f"'{lines[found[0]].strip()}' is no line that can be changed")
    return found[0]


def instrument(text: str, mutants: Sequence[tuple[int, Mutant]]) -> str:
    """The Verilog with all these mutants, chosen by the plusarg +weir_mutant=<number>."""
    original = text.split("\n")
    lines = list(original)
    for number, mutant in mutants:
        n = locate(original, mutant)
        changed = LINE.match(original[n].replace(mutant.old, mutant.new))
        line = LINE.match(lines[n])
        assert changed is not None and line is not None
        choice = f"(({CHOICE} == {number}) ? ({changed['expression']}) : ({line['expression']}))"
        lines[n] = line["head"] + choice + line["tail"]
    modules = {m.module or UNITS[m.unit].module or m.unit for _, m in mutants}
    declaration = [f"  integer {CHOICE};", f'  initial if (!$value$plusargs("{CHOICE}=%d", {CHOICE})) {CHOICE} = 0;']
    starts = [module_of(lines, module).start for module in modules]
    for start in sorted(starts, reverse=True):
        end = next(n for n in range(start, len(lines)) if lines[n].startswith(");"))
        lines[end + 1 : end + 1] = declaration
    return "\n".join(lines)


def run(tests: Sequence[str], number: int, limit: float) -> tuple[str, str]:
    """Runs tests on the copies with one mutant; "passed", "failed" or "hung", and which test."""
    environment = dict(os.environ, WEIR_RTL=str(WORK / "rtl"), WEIR_SIM=str(WORK / "sim"),
                       WEIR_PLUSARGS=f"+{CHOICE}={number}", COCOTB_MAX_FAILURES="1")  # fmt: skip
    for test in tests:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", test]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, start_new_session=True)  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "hung", test
        if process.returncode == 1:
            failed = re.search(r"BenchError: \S+: (.*?)(?: failed)?;", output)
            return "failed", failed[1] if failed else test
        if process.returncode != 0:
            raise SystemExit(f"mutate: {test} does not run:\n{output[-2000:]}")
    return "passed", ""


def tests_of(mutant: Mutant) -> list[str]:
    """The tests of its unit, its own case first."""
    tests = list(UNITS[mutant.unit].tests)
    first = [t for t in tests if mutant.case and t.endswith(f"[{mutant.case}]")]
    return first + [t for t in tests if t not in first]


def prepare(mutants: Sequence[tuple[int, Mutant]]) -> list[Result]:
    """Copies the Verilog with the mutants in it; results of those whose pattern does not match."""
    bad: list[Result] = []
    by_file: dict[str, list[tuple[int, Mutant]]] = {}
    for number, mutant in mutants:
        file = UNITS[mutant.unit].file
        try:
            locate((RTL / file).read_text().split("\n"), mutant)
        except PatternError as error:
            bad.append(Result(mutant, "no such line", 0.0, str(error)))
        else:
            by_file.setdefault(file, []).append((number, mutant))
    for path in sorted({p.parent for p in RTL.rglob("*.v")}):
        (WORK / "rtl" / path.relative_to(RTL)).mkdir(parents=True, exist_ok=True)
    for source in RTL.rglob("*"):
        if source.is_file():
            target = WORK / "rtl" / source.relative_to(RTL)
            if source.relative_to(RTL).as_posix() not in by_file:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    for file, chosen in by_file.items():
        (WORK / "rtl" / file).write_text(instrument((RTL / file).read_text(), chosen))
    return bad


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Errors put into the Verilog that the benches have to notice.")
    parser.add_argument("--units", default="", help=f"only these, by comma: {', '.join(UNITS)}")
    parser.add_argument("--only", default="", help="only mutants whose name contains this")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a bench hangs")
    parser.add_argument("--list", action="store_true", help="check the patterns, run nothing")
    options = parser.parse_args(arguments)
    units = [u for u in options.units.split(",") if u] or list(UNITS)
    unknown = [u for u in units if u not in UNITS]
    if unknown:
        parser.error(f"--units {','.join(unknown)}: choose from {', '.join(UNITS)}")
    chosen = [(n, m) for n, m in enumerate(MUTANTS, 1) if m.unit in units and options.only in m.name]
    if not chosen:
        parser.error("no mutant has that name")
    results = prepare(chosen)
    bad = {r.mutant for r in results}
    for result in results:
        show(result)
    runs = [(n, m) for n, m in chosen if m not in bad]
    if options.list:
        print(f"{len(runs)} mutants, {len(bad)} patterns that do not match")
        return 1 if bad else 0
    for unit in units:
        mine = [(n, m) for n, m in runs if m.unit == unit]
        cases = {tests_of(m)[0] for _, m in mine}
        outcome, test = run(sorted(cases), 0, options.limit)
        if outcome != "passed":
            raise SystemExit(f"mutate: {unit}: without an error {test} {outcome}; nothing can be said")
        for number, mutant in mine:
            start = time.monotonic()
            outcome, test = run(tests_of(mutant), number, options.limit)
            result = Result(mutant, "SURVIVED" if outcome == "passed" else "caught", time.monotonic() - start,
                            f"{test} (hung)" if outcome == "hung" else test)  # fmt: skip
            show(result)
            results.append(result)
    caught = sum(r.outcome == "caught" for r in results)
    survived = sum(r.outcome == "SURVIVED" for r in results)
    print(f"{caught} caught, {survived} survived, {len(bad)} patterns that do not match")
    return 0 if caught == len(chosen) else 1


def show(result: Result) -> None:
    """A line of the table."""
    m = result.mutant
    print(f"{m.unit:12} {m.name:44} {result.outcome:12} {result.seconds:5.0f} s  {result.by[:90]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
