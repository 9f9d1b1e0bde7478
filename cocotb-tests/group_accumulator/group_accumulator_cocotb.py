"""GroupAccumulator against arithmetic: entries, sizes, ECN and average of groups of any size."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start
from weir_sim.jumbo.ecn import outer_ecn
from weir_sim.jumbo.wire import frame_bytes, spacings

ENTRY, SENT, GROUP = 4, 1, 5
"""cycles after a departure, after the last, after the last"""


PLAIN = {f"departure_payload_descriptor_{name}": 0 for name in ("header", "member")}
"""packets that are not in transit"""


@cocotb.test()
@cocotb.parametrize(tick=[0, 6, 16])
async def adds_up(dut: Any, tick: int) -> None:
    """Groups of 2 to 380 packets, some of them dropped or marked; single packets and groups that are not sent give nothing."""
    await start(dut, departure_valid=0, tick=tick, **PLAIN)
    rng = seeded(f"sums {tick}")
    cycle = 0
    due: dict[int, dict[str, dict[str, int]]] = {}
    counts = {"entry": 0, "sent": 0, "group": 0}

    def expect(at: int, what: str, values: dict[str, int]) -> None:
        due.setdefault(at, {})[what] = values

    async def step() -> None:
        nonlocal cycle
        await RisingEdge(dut.clk)
        cycle += 1
        now = due.pop(cycle, {})
        for what in counts:
            assert int(getattr(dut, f"{what}_valid").value) == int(what in now), f"cycle {cycle}: {what}"
            for name, value in now.get(what, {}).items():
                got = int(getattr(dut, f"{what}_payload{name}").value)
                assert got == value, f"cycle {cycle}: {what}{name} is {got}, not {value}"
            counts[what] += what in now
        dut.departure_valid.value = 0

    for number in range(150):
        count = rng.choice((1, 2, 2, 3, rng.randrange(2, 40), rng.randrange(40, 381) if number % 10 == 0 else 4))
        tags, v6, l3, sent = rng.randrange(3), rng.random() < 0.3, rng.random() < 0.5, rng.random() < 0.9
        form = l3 and not v6
        room = 9216 - frame_bytes(tags, count, 0, True)
        lengths = [rng.randrange(20, min(1500, max(21, 2 * room // count - 20))) for _ in range(count)]
        while sum(lengths) > min(room, 8960):
            lengths = [max(20, n * 3 // 4) for n in lengths]  # 380 of 20 bytes fit
        times = [rng.getrandbits(48)]
        for _ in lengths[1:]:
            times.append(
                (times[-1] + rng.choice((0, rng.randrange(1 << tick + 6), rng.randrange(1 << tick + 18)))) % (1 << 48)
            )
        drops = [count > 1 and rng.random() < rng.choice((0, 0, 0.5)) for _ in lengths]
        if all(drops):
            drops[0] = False
        codes = rng.choice(((0, 1, 2, 3), (2,), (1, 2), (1,), (3,), (1, 3), (2, 3)))
        ecns = [rng.choice(codes) for _ in lengths]
        marks = [rng.random() < 0.3 for _ in lengths]
        gaps = [
            b >= a and (b >> tick) - (a >> tick) or ((b >> tick) - (a >> tick)) % (1 << 48 - tick)
            for a, b in zip(times, times[1:], strict=False)
        ]
        assert times[-1] < times[0] or [0, *gaps] == spacings(times, tick)
        for n, length in enumerate(lengths):
            await step()
            at = cycle + 1
            first, last = n == 0, n == count - 1
            fields = {"valid": 1, "payload_descriptor_length": length + 14 + 4 * tags, "payload_descriptor_ipOffset": tags,
                      "payload_descriptor_ecn": ecns[n], "payload_descriptor_mark": int(marks[n]),
                      "payload_descriptor_ipVersion": 2 if v6 else 1, "payload_descriptor_stampNs": times[n],
                      "payload_discard": int(drops[n] or not sent), "payload_sent": int(sent), "payload_first": int(first),
                      "payload_last": int(last), "payload_group_l3": int(form if first else rng.randrange(2))}  # fmt: skip
            for name, value in fields.items():
                getattr(dut, f"departure_{name}").value = value
            dut.tick.value = tick if first else rng.randrange(17)  # the tick of a group is that of its first packet
            if sent and count > 1:
                spacing = min(0 if first else gaps[n - 1], 65535)
                expect(at + ENTRY, "entry", {"_length": 0 if drops[n] else length, "_spacing": spacing})
            if sent and count > 1 and last:
                left = [k for k in range(count) if not drops[k]]
                size = frame_bytes(tags, count, sum(lengths[k] for k in left), form)
                ecn = outer_ecn({3 if marks[k] and ecns[k] else ecns[k] for k in left})
                expect(at + SENT, "sent", {"": size})
                expect(at + GROUP, "group", {"_grouped": 1, "_count": count, "_packets": len(left), "_outerBytes": size,
                                             "_averageLength": sum(lengths) // count, "_ecn": ecn, "_tags": tags,
                                             "_l3": int(form), "_tick": tick})  # fmt: skip
            for _ in range(3 + (rng.randrange(4) if rng.random() < 0.2 else 0)):
                await step()
        for _ in range(3):
            await step()
    for _ in range(8):
        await step()
    assert not due and counts["group"] == counts["sent"] > 60 and counts["entry"] > 500


@cocotb.test()
async def divides_exactly(dut: Any) -> None:
    """floor(sum / count) by the reciprocal, for every count and the largest sum, is the quotient."""
    for count in range(2, 449):
        reciprocal = -(-(1 << 23) // count)
        for total in (8960, 16383, count * (16383 // count), count * (16383 // count) - 1, 20 * count):
            if total <= 16383:
                assert total * reciprocal >> 23 == total // count
    await start(dut, departure_valid=0, tick=6, **PLAIN)
    for count in (2, 3, 7, 100, 255, 256, 383, 448):
        for total in (8960 // count * count, 8960 // count * count - 1):
            low, more = divmod(total, count)
            for n in range(count):
                dut.departure_valid.value, dut.departure_payload_sent.value = 1, 1
                dut.departure_payload_first.value, dut.departure_payload_last.value = int(n == 0), int(n == count - 1)
                dut.departure_payload_descriptor_length.value = 14 + low + (n < more)
                dut.departure_payload_descriptor_ipOffset.value = dut.departure_payload_discard.value = 0
                await RisingEdge(dut.clk)
                dut.departure_valid.value = 0
                for _ in range(3):
                    await RisingEdge(dut.clk)
            seen = []
            for _ in range(4):
                await RisingEdge(dut.clk)
                if dut.group_valid.value == 1:
                    seen.append(int(dut.group_payload_averageLength.value))
            assert seen == [total // count], f"{total} / {count}: {seen}"
