"""`weirctl`: verbs, help, and how it ends.

Exit codes: 0 done; 1 the device is not there, failed or has gone; 2 refused, nothing was written; 3 doctor or selftest
found something; 4 the old configuration is back; 130 interrupted; 141 nobody reads the output.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import NoReturn

import weir

from .context import Context
from .ending import complain, give_up, prepare_streams
from .errors import BROKEN_PIPE, CALLERS, FAILED, REFUSED, Ended, Refusal
from .interrupt import INTERRUPTED, interrupted_quits
from .words import Options, Words, split


@dataclass(frozen=True)
class Verb:
    """A verb: in which module `run` and `help` are, and what it does."""

    module: str
    run: str
    help: str
    what: str


VERBS = {
    "queue": Verb("queue", "run", "HELP", "policies of the queues, as tc has qdiscs"),
    "class": Verb("core", "run_class", "CLASS_HELP", "which packets go to which queue"),
    "shape": Verb("core", "run_shape", "SHAPE_HELP", "the rate of the link"),
    "split": Verb("core", "run_split", "SPLIT_HELP", "jumbo frames that arrive"),
    "merge": Verb("core", "run_merge", "MERGE_HELP", "packets to jumbo frames"),
    "match": Verb("core", "run_match", "MATCH_HELP", "which packets may be merged with which"),
    "mred": Verb("core", "run_mred", "MRED_HELP", "shares of jumbo frames that wait"),
    "show": Verb("files", "run_show", "HELP", "everything; --commands: as commands"),
    "stats": Verb("stats", "run", "HELP", "counters; --watch: again and again"),
    "top": Verb("top", "run", "HELP", "all queues, live"),
    "trace": Verb("trace", "run", "HELP", "decisions one by one; --plot: as a picture"),
    "save": Verb("files", "run_save", "HELP", "the whole configuration to a file"),
    "restore": Verb("files", "run_restore", "HELP", "and back; --dry-run, --confirm SECONDS"),
    "regs": Verb("regs", "run", "HELP", "registers by name or address"),
    "reset": Verb("core", "run_reset", "RESET_HELP", "datapath and counters anew"),
    "doctor": Verb("doctor", "run", "HELP", "is this device well?"),
    "selftest": Verb("selftest", "run", "HELP", "known arrivals, known verdicts"),
    "exporter": Verb("exporter", "run", "HELP", "metrics for Prometheus"),
    "completion": Verb("completion", "run", "HELP", "for bash, zsh and fish"),
}

#: Verbs whose next word is a name that anybody may choose, even `help`.
_FILES = ("save", "restore", "queue")

OPTIONS = """\
  -d URI, --device URI   unix:PATH, uart:/dev/ttyUSB0[@BAUD], pci:0000:01:00.0, sim:full; or WEIR_DEVICE
  -j, --json             JSON instead of text
  -s, --statistics       queue show: with counters
  -h, --help             this, or with a verb what it takes; so does `weirctl VERB help`
  -V, --version"""


def overview() -> str:
    """The help of weirctl itself."""
    verbs = "\n".join(f"  {name:<12}{verb.what}" for name, verb in VERBS.items())
    return f"usage: weirctl [OPTIONS] VERB …\n\n{verbs}\n\n{OPTIONS}\n\nweirctl VERB --help has the rest."


def _verb(name: str) -> tuple[str, Verb]:
    words = Words([name])
    name = words.keyword(tuple(VERBS), None, "verb")
    return name, VERBS[name]


def _no_json(options: Options) -> None:
    if options.json:
        raise Refusal("help is text alone; leave -j out (`weirctl -j queue help POLICY` tells parameters as JSON)")


def perform(options: Options, words: Sequence[str], device: weir.Device | None = None) -> int:
    """Runs a command, on a device that is open or on the one that the options name. Raises Refusal, Ended, WeirError."""
    if options.version:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"weirctl {version('weir')}")
        except PackageNotFoundError:
            print("weirctl, not installed")
        return 0
    if not words or words[0] == "help":
        if words[1:]:
            return perform(Options(help=True, json=options.json), words[1:], device)
        _no_json(options)
        print(overview())
        return 0 if words or options.help else REFUSED
    name, verb = _verb(words[0])
    with interrupted_quits("weirctl"):
        module = import_module(f".{verb.module}", __package__)
        if name != "completion" and not options.help:
            import_module("weir._device")
    if options.help or (words[1:] == ["help"] and name not in _FILES):
        _no_json(options)
        print(getattr(module, verb.help), end="")
        return 0
    run: Callable[[Context, Words], int] = getattr(module, verb.run)
    context = Context(options, device)
    try:
        return run(context, Words(words[1:]))
    finally:
        context.close()


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


_complain = partial(complain, "weirctl")


def main(arguments: Sequence[str] | None = None, device: weir.Device | None = None) -> int:
    """Runs weirctl and answers its exit code; one line at most goes to standard error."""
    try:
        prepare_streams()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _terminate)
        options, words = split(sys.argv[1:] if arguments is None else arguments)
        code = perform(options, words, device)
        sys.stdout.flush()
        return code
    except Refusal as refused:
        _complain(str(refused))
        return REFUSED
    except Ended as ended:
        if str(ended):
            _complain(str(ended))
        return ended.code
    except BrokenPipeError:
        give_up(sys.stdout)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except OSError as error:
        if error.filename is None:
            give_up(sys.stdout)
        _complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
        return FAILED
    except ImportError as error:  # libweir is not there
        _complain(str(error))
        return FAILED
    except weir.WeirError as error:
        _complain(error.message)
        return REFUSED if error.name in CALLERS else FAILED
