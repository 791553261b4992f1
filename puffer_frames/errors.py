"""Errors and warnings: a fact, what was given, and one next step."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path


class PufferError(Exception):
    """Base of the errors of this package.

    The text reads ``<what> must be <rule>; got <got>.`` and a hint; the parts are attributes.
    No text ever holds a value of a public column.
    """

    def __init__(self, what: str, *, rule: str, got: str, hint: str) -> None:
        self.what = what
        self.rule = rule
        self.got = got
        self.hint = hint
        super().__init__(what, rule, got, hint)

    def __str__(self) -> str:
        return f"{self.what} must be {self.rule}; got {self.got}.\n\nHint: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.rule, self.got, self.hint)


def _rebuild(kind: type[PufferError], what: str, rule: str, got: str, hint: str) -> PufferError:
    return kind(what, rule=rule, got=got, hint=hint)


class ArgumentError(PufferError, ValueError):
    """An argument has a value that it may not have."""


class ArgumentTypeError(PufferError, TypeError):
    """An argument or a column has a type that it may not have."""


class ColumnNotFoundError(PufferError, KeyError):
    """A named column is not in the frame; the hint names the nearest ones."""


class PriorError(PufferError, ValueError):
    """The data or the numbers given do not make a prior for every secret."""


class CalibrationError(PufferError, ValueError):
    """No scale can satisfy the request, or no noise at all would be added."""


class UncoveredFrameError(PufferError, ValueError):
    """A frame has no certificate, or a column that its certificate does not know."""


class PufferWarning(UserWarning):
    """Base of the warnings of this package."""


class RowOrderWarning(PufferWarning):
    """The rows are clustered by the secret, so that their position reveals it."""

    def __init__(self, share: float) -> None:
        self.share = share
        super().__init__(
            "the order of the rows must not tell the secret; "
            f"got {share:.0%} of the runs of equal secrets that a random order has.\n\n"
            "Hint: Say shuffle=True to release the rows in random order."
        )


class UnsoundTheoremWarning(PufferWarning):
    """A published scale is not private under the very belief that its theorem assumes."""

    def __init__(self, theorem: str, *, published_scale: float, measured: str, requested: str, scale: float) -> None:
        self.theorem = theorem
        self.published_scale = published_scale
        self.measured = measured
        self.requested = requested
        self.scale = scale
        super().__init__(
            f"the published scale {published_scale:.6g} of theorem {theorem!r} must give {requested}; "
            f"got {measured} under its own priors.\n\n"
            f'Hint: The release uses scale {scale:.6g} instead; calibration="exact" finds it without this detour.'
        )


def warn(warning: PufferWarning, /) -> None:
    """Issue a warning at the line of the caller outside this package."""
    package = str(Path(__file__).parent)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
