"""Small mistakes that could be made in a source file, as replacements of pieces of its text.

A mistake is worth making only if it changes what is computed. Left out are therefore docstrings,
annotations, decorators, assertions, what errors and log lines say, and arguments that mean nothing on a
CPU (`device`) or to a program without errors (`strict`).
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
ARITHMETIC = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.Pow: (r"\*\*", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
}
OTHER_CALL = {
    one: other
    for pair in (
        ("all", "any"), ("amax", "amin"), ("argmax", "argmin"), ("ceil", "floor"), ("max", "min"),
        ("maximum", "minimum"), ("mean", "sum"), ("ones", "zeros"), ("ones_like", "zeros_like"),
    )
    for one, other in (pair, pair[::-1])
}  # fmt: skip
LEFT_OUT_CALLS = {"abs", "clamp", "clip", "clone", "copy", "cumsum", "exp", "flip", "log", "sort"}
LEFT_OUT_CALLS |= {"sqrt", "square"}
MODULES = {"torch", "np", "numpy", "math", "functional"}
WORDS = {"warn", "debug", "info", "warning"}
"""Calls whose arguments are for people."""
MEANINGLESS_ARGUMENTS = {"device", "devices", "dynamic", "fullgraph", "options", "stacklevel"}
MEANINGLESS_ARGUMENTS |= {"strict"}
NEGLIGIBLE = 1e-4
"""A constant below this is an epsilon: twice as much of it, or minus it, changes nothing."""


@dataclass(frozen=True)
class Mutation:
    """One mistake: the bytes from `start` to `end` of a file become `replacement`."""

    kind: str
    line: int
    start: int
    end: int
    replacement: str

    def apply(self, source: str) -> str:
        """The file with the mistake in it."""
        text = source.encode()
        return (text[: self.start] + self.replacement.encode() + text[self.end :]).decode()


def mutations(source: str) -> list[Mutation]:
    """All mistakes that give another program than `source`, in the order of the text."""
    known = {ast.dump(ast.parse(source))}
    result = []
    for mutation in sorted(_Finder(source).find(), key=lambda found: (found.start, found.end)):
        try:
            program = ast.dump(ast.parse(mutation.apply(source)))
        except SyntaxError:
            continue
        if program not in known:
            known.add(program)
            result.append(mutation)
    return result


class _Finder:
    """Walks over a program and proposes mistakes."""

    def __init__(self, source: str) -> None:
        self._text = source.encode()
        self._tree = ast.parse(source)
        lines = self._text.splitlines(keepends=True)
        self._line_starts = [0]
        for line in lines:
            self._line_starts.append(self._line_starts[-1] + len(line))

    def find(self) -> Iterator[Mutation]:
        yield from self._block(self._tree.body, bound=None)

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def _written(self, node: ast.expr | ast.stmt) -> str:
        return self._text[self._start(node) : self._end(node)].decode()

    def _replace(self, kind: str, node: ast.expr | ast.stmt, replacement: str) -> Mutation:
        return Mutation(kind, node.lineno, self._start(node), self._end(node), replacement)

    def _between(
        self, kind: str, left: ast.expr, right: ast.expr, pattern: str, replacement: str
    ) -> Iterator[Mutation]:
        """Replace the operator that stands between two expressions."""
        start, end = self._end(left), self._start(right)
        found = re.search(pattern, self._text[start:end].decode())
        if found:
            place = start + found.start(), start + found.end()
            yield Mutation(kind, right.lineno, *place, replacement)

    def _block(self, body: list[ast.stmt], bound: set[str] | None) -> Iterator[Mutation]:
        """Statements of one block; `bound` names what the function around it has assigned so far."""
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            yield from self._statement(statement, bound)

    def _statement(self, node: ast.stmt, bound: set[str] | None) -> Iterator[Mutation]:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            for default in (*arguments.defaults, *arguments.kw_defaults):
                yield from self._expression(default)
            names = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            # A constructor's assignments cannot go: every other method would stumble over them.
            own = None if node.name == "__init__" else {name.arg for name in names}
            yield from self._block(node.body, own)
        elif isinstance(node, ast.ClassDef):
            yield from self._block(node.body, None)
        elif isinstance(node, ast.Raise):
            if node.exc is None or "NotImplementedError" not in self._written(node):
                yield self._replace("statement deleted", node, "pass")
        elif isinstance(node, ast.Return):
            if node.value is not None and self._written(node.value) != "None":
                yield self._replace("returns nothing", node, "return None")
            yield from self._expression(node.value)
        elif not isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
            yield from self._deletion(node, bound)
            yield from self._condition(node)
            yield from self._augmented(node)
            for field in ("value", "iter", "test", "subject"):
                yield from self._expression(getattr(node, field, None))
            for target in getattr(node, "targets", [getattr(node, "target", None)]):
                yield from self._expression(target)
            for item in getattr(node, "items", []):
                yield from self._expression(item.context_expr)
            for inner in ("body", "orelse", "finalbody"):
                yield from self._block(getattr(node, inner, []), bound)
            for handler in getattr(node, "handlers", []):
                yield from self._block(handler.body, bound)

    def _deletion(self, node: ast.stmt, bound: set[str] | None) -> Iterator[Mutation]:
        if isinstance(node, ast.Expr | ast.AugAssign):
            yield self._replace("statement deleted", node, "pass")
        elif isinstance(node, ast.Assign) and bound is not None:
            names = {
                name.id
                for target in node.targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
            # What gets its first value here cannot go: the function would stumble over it.
            if names <= bound:
                yield self._replace("statement deleted", node, "pass")
            bound |= names

    def _condition(self, node: ast.AST) -> Iterator[Mutation]:
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            tests = [node.test]
        else:
            tests = node.ifs if isinstance(node, ast.comprehension) else []
        for test in tests:
            # `not x` and single comparisons are turned round where they stand.
            turned = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
            if not turned and not isinstance(test, ast.Compare):
                yield self._replace("condition negated", test, f"not ({self._written(test)})")

    def _augmented(self, node: ast.stmt) -> Iterator[Mutation]:
        if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            pattern, other = ARITHMETIC[type(node.op)]
            yield from self._between("operator", node.target, node.value, pattern, other)

    def _expression(self, node: ast.AST | None) -> Iterator[Mutation]:
        if node is None or isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
                pattern, others = COMPARISONS[type(operator)]
                for other in others:
                    yield from self._between("comparison", left, right, pattern, other)
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            pattern, other = ARITHMETIC[type(node.op)]
            if not _is_negligible(node.right):
                yield from self._between("operator", node.left, node.right, pattern, other)
        elif isinstance(node, ast.BoolOp):
            word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in itertools.pairwise(node.values):
                yield from self._between("boolean", left, right, word, other)
        elif isinstance(node, ast.UnaryOp):
            yield self._replace("sign dropped", node, self._written(node.operand))
        elif isinstance(node, ast.Call):
            yield from self._call(node)
            if _name(node.func) in WORDS:
                return
        yield from self._condition(node)
        for child in ast.iter_child_nodes(node):
            if not (isinstance(child, ast.keyword) and child.arg in MEANINGLESS_ARGUMENTS):
                yield from self._expression(child)

    def _constant(self, node: ast.Constant) -> Iterator[Mutation]:
        value = node.value
        if isinstance(value, bool):
            yield self._replace("constant", node, str(not value))
        elif isinstance(value, int):
            yield self._replace("constant", node, str(value + 1))
        elif isinstance(value, float):
            other = 1.0 if value == 0 else 0.0 if value < NEGLIGIBLE else 2 * value
            yield self._replace("constant", node, repr(other))

    def _call(self, node: ast.Call) -> Iterator[Mutation]:
        name = _name(node.func)
        if name in OTHER_CALL:
            end = self._end(node.func)
            place = end - len(name), end
            yield Mutation("other function", node.func.lineno, *place, OTHER_CALL[name])
        if isinstance(node.func, ast.Attribute) and name in LEFT_OUT_CALLS:
            owner = node.func.value
            if not (isinstance(owner, ast.Name) and owner.id in MODULES):
                yield self._replace("call left out", node, self._written(owner))
        if name in WORDS or name == "isinstance":
            return
        places = [place for place in node.args if not _is_text(place)]
        for first, second in itertools.pairwise(places):
            swapped = (
                self._written(second)
                + self._text[self._end(first) : self._start(second)].decode()
                + self._written(first)
            )
            place = self._start(first), self._end(second)
            yield Mutation("arguments swapped", first.lineno, *place, swapped)
        last = node.args[-1] if len(node.args) > 1 else None
        if last is not None and not _is_text(last) and not self._written(last).endswith("device"):
            place = self._end(node.args[-2]), self._end(node.args[-1])
            yield Mutation("argument dropped", node.args[-1].lineno, *place, "")
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in MEANINGLESS_ARGUMENTS:
                yield self._without(keyword)

    def _without(self, keyword: ast.keyword) -> Mutation:
        """A call without one of its keyword arguments, and without the comma after it."""
        start = self._line_starts[keyword.lineno - 1] + keyword.col_offset
        end = self._end(keyword.value)
        comma = re.match(rb"\s*,[ ]?", self._text[end:])
        return Mutation(
            "argument dropped", keyword.lineno, start, end + (comma.end() if comma else 0), ""
        )


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_negligible(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and abs(node.value) < NEGLIGIBLE
    return "EPSILON" in _name(node).upper()


def _is_text(node: ast.expr) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)
