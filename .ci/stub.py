"""Write puffer_frames/doors/accessor.pyi: the accessor with the arguments of the verbs written out, for editors.

Type checkers could follow the decorators of the verbs; the completion of most editors cannot.
Run: python .ci/stub.py
"""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

from puffer_frames.doors import accessor
from puffer_frames.mechanisms import arguments as planned
from puffer_frames.verbs import attached, requests
from puffer_frames.verbs.auditing import audited
from puffer_frames.verbs.estimating import estimated, estimation
from puffer_frames.verbs.plans import plotted

STUB = Path(accessor.__file__).with_suffix(".pyi")
RETURNS = {"privatize": "Frame", "aggregate": "Answer", "histogram": "Answer", "collect": "pl.DataFrame"}
"""What the verbs return here, where they themselves know of any frame alone."""
CALIBRATIONS = {
    "Estimator": "puffer_frames.verbs.estimating.estimator",
    "Plan": "puffer_frames.verbs.plans.plan",
    "Quality": "puffer_frames.verbs.quality",
}
HEAD = '''"""Written by .ci/stub.py from the verbs: the `.puffer` accessor, its arguments written out for editors."""

from typing import TypeVar
import pandas as pd
import polars as pl
{imports}

NAME: str
Frame = TypeVar("Frame")
Answer = TypeVar("Answer")

'''
OF = [("pl.LazyFrame", "LazyPufferAccessor")]
OF += [(frame, f"PufferAccessor[{frame}, {frame}]") for frame in ("pl.DataFrame", "pd.DataFrame")]
OF += [("Any", "PufferAccessor[Any, Any]")]  # Polars first: it has types of its own, those of pandas may be missing


def method(name: str, kind: type) -> str:
    """A method: its arguments a line each, and the first line of its help."""
    function = getattr(kind, name)
    signature = inspect.signature(function)
    by_place, by_name = ["self"], []
    for parameter in list(signature.parameters.values())[1:]:
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        line = f"{parameter.name}: {parameter.annotation}{default}"
        (by_name if parameter.kind is parameter.KEYWORD_ONLY else by_place).append(line)
    lines = [*by_place, "/", *(["*", *by_name] if by_name else [])]
    returns = RETURNS.get(name, signature.return_annotation)
    body = "".join(f"        {line},\n" for line in lines)
    return f'    def {name}(\n{body}    ) -> {returns}:\n        """{function.__doc__.splitlines()[0]}"""\n'


def shown(kind: type, title: str) -> str:
    """A class with its methods."""
    names = [name for name, found in vars(kind).items() if not name.startswith("_") and inspect.isfunction(found)]
    parts = [f'class {title}:\n    """{kind.__doc__}"""\n']
    if kind is accessor.PufferAccessor:
        parts.append("    def __init__(self, frame: Frame) -> None: ...\n")
    parts += [method(name, kind) for name in names]
    for name, found in vars(kind).items():
        if isinstance(found, property):
            returns = inspect.signature(found.fget).return_annotation
            parts.append(f'    @property\n    def {name}(self) -> {returns}:\n        """{found.__doc__}"""\n')
    return "\n".join(parts)


def sources() -> dict[str, str]:
    """Which module the names come from that the signatures use."""
    found = dict(CALIBRATIONS)
    found["Figure"] = "matplotlib.figure"
    for module in (plotted, attached, audited, planned, requests, estimated, estimation):
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ImportFrom):
                found |= {alias.name: node.module for alias in node.names}
            elif isinstance(node, ast.AnnAssign):
                found[node.target.id] = module.__name__
            elif isinstance(node, ast.ClassDef):
                found[node.name] = module.__name__
    return found


def imports(body: str) -> str:
    """A line for every name that the stub uses."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    known = sources() | dict.fromkeys(["Any", "Generic", "overload"], "typing")
    return "\n".join(f"from {known[name]} import {name}" for name in sorted(used & known.keys()))


def stub() -> str:
    """The text of the stub."""
    parts = [
        shown(accessor.PufferAccessor, "PufferAccessor(Generic[Frame, Answer])"),
        shown(accessor.LazyPufferAccessor, "LazyPufferAccessor(PufferAccessor[pl.LazyFrame, pl.DataFrame])"),
    ]
    line = accessor.of.__doc__.splitlines()[0]
    for frame, returns in OF:
        body = f':\n    """{line}"""' if frame == "Any" else ": ..."
        parts.append(f"@overload\ndef of(frame: {frame}, /) -> {returns}{body}\n")
    parts.append('def register() -> None:\n    """Register the accessor with pandas and Polars."""\n')
    body = "\n".join(parts)
    return HEAD.format(imports=imports(body)) + body


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    for command in (["check", "--select", "I", "--fix", "-q"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, STUB], check=True)  # noqa: S603 - fixed words
