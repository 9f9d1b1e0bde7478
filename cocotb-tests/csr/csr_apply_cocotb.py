"""Shadow registers, APPLY and CORE_APPLY: never half a configuration, and nothing that hardware could not use."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from csr_bench import CORE, OKAY, QUEUE, SLVERR, Bench, at
from csr_model import core_config, match_rules, queue_config
from match_columns import Columns

APPLY_BUSY = 1 << 4


def queue_shadow(bench: Bench) -> dict[str, int]:
    """Reset values of a queue's configuration."""
    return {r.name: bench.build.reset(r) for r in bench.build.queue_registers() if r.access == "rw"}


def core_shadow(bench: Bench) -> dict[str, int]:
    """Reset values of the core's configuration."""
    return {
        r.name: bench.build.reset(r)
        for r in bench.build.core_registers()
        if r.access == "rw" and 0x40 <= r.offset < 0xC0
    }


def random_words(bench: Bench, shadow: dict[str, int], registers: dict[str, Any]) -> dict[str, int]:
    """A configuration at random, each register in its width."""
    words = {name: bench.rng.getrandbits(32) & registers[name].mask for name in shadow}
    if "POLICY" in words:
        words["POLICY"] = words["POLICY"] & ~0xF | bench.rng.choice(sorted(bench.build.policies))
    return words


async def write_words(bench: Bench, words: dict[str, int], queue: int | None = None) -> None:
    for name, value in words.items():
        await bench.write(at(name, queue), value)


def live(bench: Bench, names: Any, queue: int | None = None) -> dict[str, int]:
    """What the core gets now."""
    prefix = "coreConfig" if queue is None else f"queueConfig_{queue}"
    return {name: int(getattr(bench.dut, f"{prefix}_{name}").value) for name in names}


def copied(bench: Bench, queue: int) -> dict[str, int]:
    """The words of a queue as the last applies copied them."""
    by_word = {r.offset // 4: r.name for r in bench.build.queue_registers() if r.access == "rw"}
    return {by_word[word]: value for word, value in bench.words[queue].items() if word in by_word}


class Watch:
    """Records, cycle by cycle, each new state of a live configuration and where pulses were."""

    def __init__(self, bench: Bench, names: Any, queue: int | None = None) -> None:
        self.states = [live(bench, names, queue)]
        self.applied: list[int] = []
        self.cleared: list[int] = []
        self.pending: list[int] = []
        self.changed: list[int] = []
        self._task = cocotb.start_soon(self._run(bench, names, queue))

    async def _run(self, bench: Bench, names: Any, queue: int | None) -> None:
        cycle = 0
        while True:
            await RisingEdge(bench.dut.clk)
            await ReadOnly()
            cycle += 1
            state = live(bench, names, queue)
            if state != self.states[-1]:
                self.states.append(state)
                self.changed.append(cycle)
            for pulses, name in ((self.applied, "applied"), (self.cleared, "clear"), (self.pending, "apply")):
                if queue is not None and int(getattr(bench.dut, name).value) >> queue & 1:
                    pulses.append(cycle)

    def stop(self) -> None:
        self._task.cancel()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def live_configuration_is_that_of_the_reset_values(dut):
    bench = await Bench.start(dut)
    for q in range(bench.build.queues):
        want = queue_config(queue_shadow(bench))
        assert live(bench, want, q) == want
        assert copied(bench, q) == queue_shadow(bench)
    want = core_config(core_shadow(bench), bench.build.queues)
    assert live(bench, want) == want
    assert await bench.read(at("GENERATION")) == 0
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def apply_copies_a_whole_queue_while_it_is_held(dut):
    bench = await Bench.start(dut)
    for _ in range(6):
        q = bench.rng.randrange(bench.build.queues)
        others = {o: queue_config(queue_shadow(bench)) for o in range(bench.build.queues) if o != q}
        others = {o: live(bench, names, o) for o, names in others.items()}
        words = random_words(bench, queue_shadow(bench), QUEUE)
        want = queue_config(words)
        watch = Watch(bench, want, q)
        dut.applyReady.value = 0
        await write_words(bench, words, q)
        before = {o: dict(w) for o, w in bench.words.items()}
        await bench.write(at("APPLY", q), 1)
        await bench.cycles(bench.rng.randrange(20))
        assert int(dut.apply.value) == 1 << q
        assert (await bench.read(at("STATUS"))) & APPLY_BUSY
        assert len(watch.states) == 1 and bench.words == before, "live configuration moved before the apply"
        dut.applyReady.value = 1 << q
        await RisingEdge(dut.clk)
        dut.applyReady.value = 0
        await bench.settle()
        watch.stop()
        assert len(watch.applied) == 1
        assert live(bench, want, q) == want
        assert copied(bench, q) == words
        assert watch.pending == list(range(watch.pending[0], watch.applied[0] + 1)), "held until all is copied"
        assert all(watch.pending[0] < at_ <= watch.applied[0] for at_ in watch.changed), (watch.changed, watch.applied)
        assert not (await bench.read(at("STATUS"))) & APPLY_BUSY
        assert others == {o: live(bench, names, o) for o, names in others.items()}
        assert all(bench.words[o] == before[o] for o in others)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def apply_with_bit_0_clear_does_nothing(dut):
    bench = await Bench.start(dut)
    dut.applyReady.value = 0
    await bench.write(at("APPLY", 0), 0xFFFFFFFE)
    await bench.write(at("CORE_APPLY"), 0xFFFFFFFE)
    await bench.settle()
    assert int(dut.apply.value) == 0
    assert await bench.read(at("GENERATION")) == 0
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def writes_to_a_queue_wait_for_its_pending_apply(dut):
    bench = await Bench.start(dut)
    dut.applyReady.value = 0
    words = random_words(bench, queue_shadow(bench), QUEUE)
    want = queue_config(words)
    await write_words(bench, words, 0)
    await bench.write(at("APPLY", 0), 1)
    late = cocotb.start_soon(bench.raw_write(at("LIMIT_BYTES", 0), words["LIMIT_BYTES"] ^ 1))
    await bench.cycles(200)
    assert not late.done()
    dut.applyReady.value = 1
    await late
    assert late.result() == OKAY
    assert live(bench, want, 0) == want
    assert await bench.read(at("LIMIT_BYTES", 0)) == words["LIMIT_BYTES"] ^ 1
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_pending_apply_holds_up_nothing_else(dut):
    bench = await Bench.start(dut)
    dut.applyReady.value = 0
    await bench.write(at("APPLY", 0), 1)
    await bench.write(at("SCRATCH"), 5)
    await bench.write(at("MAX_FRAME"), 1518)
    await bench.write(at("CORE_APPLY"), 1)
    assert await bench.read(at("LIMIT_PACKETS", 0)) == 65535
    assert await bench.raw_write(at("LIVE_BYTES", 0), 5) == SLVERR
    assert await bench.raw_write(at("POLICY", 0), 15) == SLVERR
    if bench.build.queues > 1:
        await bench.write(at("LIMIT_PACKETS", 1), 7)
        await bench.write(at("APPLY", 1), 1)
        assert int(dut.apply.value) == 3
        dut.applyReady.value = 2
        await bench.cycles(100)
        assert int(dut.queueConfig_1_limitPackets.value) == 7
    assert int(dut.apply.value) == 1
    assert int(dut.coreConfig_maxFrame.value) == 1518
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_second_apply_while_one_is_pending_is_the_same_apply(dut):
    bench = await Bench.start(dut)
    dut.applyReady.value = 0
    for _ in range(3):
        await bench.write(at("APPLY", 0), 1)
    dut.applyReady.value = 1
    await bench.settle()
    await bench.cycles(20)
    assert await bench.read(at("GENERATION")) == 1
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def generation_counts_every_apply(dut):
    bench = await Bench.start(dut)
    count = 0
    for _ in range(12):
        q = bench.rng.randrange(-1, bench.build.queues)
        await bench.write(at("CORE_APPLY") if q < 0 else at("APPLY", q), 1)
        await bench.settle()
        count += 1
        assert await bench.read(at("GENERATION")) == count
    dut.applyReady.value = 0
    for q in range(bench.build.queues):
        await bench.write(at("APPLY", q), 1)
    dut.applyReady.value = (1 << bench.build.queues) - 1
    await bench.settle()
    assert await bench.read(at("GENERATION")) == count + bench.build.queues
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_policy_restarts_only_when_policy_or_unit_changes(dut):
    bench = await Bench.start(dut)
    q = bench.build.queues - 1
    before = 0
    policies = sorted(bench.build.policies)
    for _ in range(30):
        word = bench.rng.choice(policies) | bench.rng.randrange(4) << 8 | bench.rng.getrandbits(1) << 16
        unit = word >> 8 & 3
        key = (word & 0xF, 0 if unit == 3 else unit)
        watch = Watch(bench, ["policy", "unit"], q)
        await bench.write(at("POLICY", q), word)
        await bench.write(at("LIMIT_BYTES", q), bench.rng.getrandbits(21))
        await bench.write(at("APPLY", q), 1)
        await bench.settle()
        watch.stop()
        assert len(watch.applied) == 1
        assert watch.cleared == (watch.applied if key != (before or (0, 0)) else []), (key, before)
        before = key
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def values_that_hardware_cannot_use_are_clamped_live_and_read_back_as_written(dut):
    bench = await Bench.start(dut)

    async def one(register: str, value: int, signal: str, want: int) -> None:
        await bench.write(at(register, 0), value)
        await bench.write(at("APPLY", 0), 1)
        await bench.settle()
        assert live(bench, [signal], 0)[signal] == want, (register, value)
        assert await bench.read(at(register, 0)) == value

    for value, want in ((0, 9216), (1, 9216), (9215, 9216), (9216, 9216), (9217, 9217), (0xFFFFF, 0xFFFFF)):
        await one("QUANTUM", value, "quantum", want)
    for unit, want in ((0, 0), (1, 1), (2, 2), (3, 0)):
        await one("POLICY", unit << 8, "unit", want)
    for value in (0, 64, 1518, 9215, 9216, 9217, 10000, 0x4000, 0x12400, 0xFFFFFFFF):
        await bench.write(at("MAX_FRAME"), value)
        await bench.write(at("CORE_APPLY"), 1)
        await bench.settle()
        assert int(dut.coreConfig_maxFrame.value) == min(value, 9216)
        assert await bench.read(at("MAX_FRAME")) == value
    for queue in range(16):
        await bench.write(at("DEFAULT_QUEUE"), queue)
        await bench.write(at("DSCP_MAP5"), queue << 12)
        await bench.write(at("CORE_APPLY"), 1)
        await bench.settle()
        want = queue if queue < bench.build.queues else 0
        assert int(dut.coreConfig_defaultQueue.value) == want
        assert int(dut.coreConfig_dscpQueue_43.value) == want
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def core_apply_takes_over_the_whole_core_in_one_cycle(dut):
    bench = await Bench.start(dut)
    for n in range(8):
        words = random_words(bench, core_shadow(bench), CORE)
        if "SPACING" in words:  # it depends on JUMBO.MODE: all of both
            words["JUMBO"] = words["JUMBO"] & ~3 | n & 3
            words["SPACING"] = words["SPACING"] & 0x7FFFFFFF | (n < 4) << 31
        want = core_config(words, bench.build.queues)
        watch = Watch(bench, want)
        await write_words(bench, words)
        assert len(watch.states) == 1, "live configuration moved before CORE_APPLY"
        await bench.write(at("CORE_APPLY"), 1)
        await bench.settle()
        watch.stop()
        assert watch.states[1:] == [want]
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_match_table_is_used_as_it_stands_and_every_change_in_use_is_told(dut):
    """A rule that is written is off until all its columns are made; both are told if it is in use."""
    told, off, table = [], [], Columns()

    async def note() -> None:
        while True:
            await RisingEdge(dut.clk)
            told.append(int(dut.matchChanged.value))
            off.append([not int(getattr(dut, f"matching_actions_rules_{n}_enable").value) for n in range(16)])
            table.sample(dut)

    jumbo = hasattr(dut, "matchChanged")
    if jumbo:
        cocotb.start_soon(note())
    bench = await Bench.start(dut)
    if not jumbo:
        return
    await bench.settle()

    async def write(name: str, value: int) -> int:
        """Writes; how often a change was told until it was in place."""
        told.clear()
        off.clear()
        await bench.write(at(name), value)
        await bench.settle()
        return sum(told)

    words = {f"MATCH{n}_{part}": 0 for n in range(16) for part in ("VALUE0", "VALUE1", "MASK0", "MASK1")}
    actions = [0] * 4
    table.check(match_rules(words))
    for _ in range(3):
        enabled = [actions[n // 4] >> 8 * (n % 4) >> 7 & 1 for n in range(16)]
        for name in bench.rng.sample(sorted(words), len(words)):
            words[name] = bench.rng.getrandbits(32)
            rule = int(name.removeprefix("MATCH").partition("_")[0])
            assert await write(name, words[name]) == 2 * enabled[rule], name
            table.check(match_rules(words))
            assert sum(line[rule] for line in off) > 128 and not off[-1][rule] == enabled[rule], name
            assert all(line[n] != enabled[n] for line in off for n in range(16) if n != rule), name
        for name, value in words.items():
            assert await bench.read(at(name)) == value
        actions = [bench.rng.getrandbits(32) for _ in range(4)]
        for n in range(4):
            assert not await write(f"MATCH_ACTION{n}", actions[n])
        assert await write("CORE_APPLY", 1) == 1
        assert not await write("CORE_APPLY", 1), "nothing has changed"
        await bench.write(at("SHARED_CELLS"), bench.rng.randrange(bench.build.cells))
        assert not await write("CORE_APPLY", 1), "no rule has changed"
    # words that follow each other closely, and an apply behind them that waits
    for name in bench.rng.sample(sorted(words), len(words)):
        words[name] = bench.rng.getrandbits(32) & bench.rng.getrandbits(32)
        await bench.write(at(name), words[name])
    told.clear()
    await bench.write(at("CORE_APPLY"), 1)
    table.check(match_rules(words))
    enabled = [actions[n // 4] >> 8 * (n % 4) >> 7 & 1 for n in range(16)]
    assert off[-1] == [not on for on in enabled] and (sum(told) > 0) == any(enabled)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def soft_reset_is_one_pulse_and_keeps_the_configuration(dut):
    bench = await Bench.start(dut)
    words = random_words(bench, queue_shadow(bench), QUEUE)
    await write_words(bench, words, 0)
    await bench.write(at("APPLY", 0), 1)
    await bench.write(at("CTRL"), 0xFFFFFFFE)
    assert bench.pulses["softReset"] == 0
    await bench.write(at("CTRL"), 1)
    await bench.settle()
    assert bench.pulses["softReset"] == 1
    want = queue_config(words)
    assert live(bench, want, 0) == want
    for name, value in words.items():
        assert await bench.read(at(name, 0)) == value
    bench.finish()
