"""Text that `weir-sim jumbo-report` prints."""

from __future__ import annotations

from typing import Any

from weir.ctl.text import number, rate, time


def text(result: dict[str, Any]) -> str:
    """A report in lines."""
    o, frames, link, gain = result["options"], result["frames"], result["link_bytes"], result["gain"]
    header, factor, inside = result["header_bytes_saved"], result["merge_factor"], result["capture"]["jumbo"]

    def share(part: int, whole: int) -> str:
        return f"{part:,} ({100 * part / whole:.1f} %)"

    timer = (
        f", JFET {time(o['jfet_us'])}, classes /{o['prefix'][0]} and /{o['prefix'][1]}" if o["merge"] == "class" else ""
    )
    rows = [
        ("software model", f"by {o['merge']}{timer}, {o['form'].upper()} form, {rate(o['link_rate'])}/s, speedup {number(o['speedup'])}"),
        ("packets", f"{frames['before']:,}, of which {share(result['capture']['joinable'], frames['before'])} may join"),
        *(("", f"{count:,}: {reason}") for reason, count in result["capture"]["barred"].items()),
        ("jumbo frames in capture", f"{inside['frames']:,} of {inside['packets']:,} packets, {inside['malformed']:,} malformed, {inside['cut']:,} cut"),
        ("frames saved", f"{share(frames['saved'], frames['before'])}: {frames['after']:,} are left"),
        ("bytes saved on the link", f"{share(link['saved'], link['before'])}, with preamble, FCS, gap and padding"),
        ("header bytes saved", f"{header['measured']:,} measured; {header['eq1']:,} by Eq. 1 (paper 000, corrected)"),
        ("elided bytes", f"{result['elided']['bytes']:,} more, if the headers of {result['elided']['packets']:,} packets were left out"),
        ("packets a frame", f"{factor['mean']:.2f}; {factor['mean_joinable']:.2f} of packets that may join"),
        *(("", f"{n:>3}: {share(count, frames['after'])}") for n, count in factor["distribution"].items()),
    ]  # fmt: skip
    for name, words in (
        ("unmerged", "delay unmerged, us"),
        ("merged", "delay merged, us"),
        ("added", "added delay, us"),
    ):
        d = result["delay_us"][name]
        rows.append(
            (words, f"{d['mean']:.3f} mean, {d['p50']:.3f} median, {d['p99']:.3f} 99th percentile, {d['max']:.3f} most")
        )
    closed, measured = gain["closed_form"], gain["measured"]
    rows.append(("TPo/TPj (paper 002)", f"{closed['grouping']:.3f} closed form at {number(closed['merge_factor'])} packets a frame "
                                        f"({closed['search']:.3f} with the paper's search); "
                                        f"{measured['grouping']:.3f} at the measured {measured['merge_factor']:.2f}"))  # fmt: skip
    return "\n".join(f"{name:<26}{words}" for name, words in rows)
