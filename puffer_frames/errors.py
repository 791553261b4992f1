"""Errors and warnings: a fact, what was given, and one next step; and where they are raised."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

FULL_TRACEBACK = "PUFFER_FULL_TRACEBACK"
"""Set to 1 in the environment, tracebacks of this package's errors have all frames."""

Public = TypeVar("Public", bound=Callable[..., Any])

_SHOWN = "_puffer_frames_shown"


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


class FileTakenError(ArgumentError):
    """A new file would have the name of one that is there, or that another run is writing; nothing was written."""


class ArgumentTypeError(PufferError, TypeError):
    """An argument or a column has a type that it may not have."""


class ColumnTypeError(ArgumentTypeError):
    """A column of the table has a type, or entries of a type, that it may not have."""


class CallError(PufferError, TypeError):
    """A function was called with arguments that it does not take; the text is as Python's, with the function's name."""

    def __str__(self) -> str:
        return self.got


class ColumnNotFoundError(PufferError, KeyError):
    """A named column is not in the frame; the hint names the nearest ones."""


class PriorError(PufferError, ValueError):
    """The data or the numbers given do not make a prior for every secret."""


class CalibrationError(PufferError, ValueError):
    """No scale can satisfy the request, or no noise at all would be added."""


class NoNoiseNeededError(CalibrationError):
    """The values are private as they are, and no noise at all would be added; `allow_zero_noise=True` releases them."""


class LedgerError(PufferError, ValueError):
    """A release is beyond the limit of its ledger, or the ledger is not as releases have written it."""


class LedgerNotFoundError(LedgerError, FileNotFoundError):
    """No release has begun a ledger in this file."""


class UncoveredFrameError(PufferError, ValueError):
    """A frame has no certificate, or a column that its certificate does not know."""


class PlanFileError(PufferError, ValueError):
    """A file is no plan that this version of the package can read, or its password is another one."""


class TableFileError(PufferError, ValueError):
    """A file does not hold a table of the format that its name says."""


class LockedFileError(PufferError, RuntimeError):
    """Another process has held a ledger or a key file for longer than anybody waits; nothing was written."""


class MissingPackageError(PufferError, ImportError):
    """A package that this needs is not installed."""


class ForkedProcessError(PufferError, RuntimeError):
    """A process was forked from one that had used Polars, and would wait for threads that it does not have."""


class FaultError(RuntimeError):
    """An error of another library, of a function that was handed in, or of this package itself, without its text.

    The text could quote the table: Python, Polars, Arrow and Spark put the value at fault into it. The frames are kept.
    """

    def __init__(self, call: str, kind: str) -> None:
        self.call = call
        """The public function that was called."""
        self.kind = kind
        """Name of the class of that error."""
        super().__init__(call, kind)

    def __str__(self) -> str:
        return (
            f"{self.call} must run without errors in other libraries or in functions passed to it; "
            f"got {'an' if self.kind[:1] in 'AEIO' else 'a'} {self.kind}, whose text can quote the table.\n\n"
            f"Hint: Set {FULL_TRACEBACK}=1 in the environment to see that text, where nobody else reads it."
        )


class PufferWarning(UserWarning):
    """Base of the warnings of this package."""

    def __reduce__(self) -> tuple[object, ...]:  # a worker process that raises it sends it back
        return _remade, (type(self), self.args, self.__getstate__())


def _remade(kind: type[PufferWarning], args: tuple[object, ...], state: dict[str, object] | None) -> PufferWarning:
    made = kind.__new__(kind, *args)
    made.__dict__.update(state or {})
    return made


class RowOrderWarning(PufferWarning):
    """The order of the rows tells the secret, or a public column, whatever the noise."""

    def __init__(self, found: Mapping[str, str], /, *, share: float) -> None:
        self.reasons = tuple(found)
        """One or several of "runs", "repeats", "drift", "pattern" (of the secret) and "public"."""
        self.share = share
        """Number of runs of equal secrets, as a share of that of a random order."""
        self.found = ", and ".join(found.values())
        """What was seen, in words."""
        super().__init__(
            f"the order of the rows tells of the secret or of a public column: {self.found}.\n\n"
            "Hint: Say layout=Layout(shuffle=True) to release the rows in random order; collect a lazy frame first."
        )


class KeptColumnWarning(PufferWarning):
    """A column that is released as it is tells the secret, or determines a public column, whatever the noise."""

    def __init__(
        self,
        kept: Sequence[str],
        /,
        *,
        determines: str,
        share: float,
        measured: str = "",
        released: Sequence[str] = (),
        in_order: bool = False,
        is_stratum: bool = False,
        given: Collection[str] = (),
    ) -> None:
        self.is_stratum = is_stratum
        """Whether the column may be given instead: it has a few labels, which tell little enough of the secret."""
        self.kept = " and ".join(kept)
        """Name of the kept column, or of several that do so together; "the index" for an index."""
        self.several = len(kept) > 1
        """Whether it takes several kept columns."""
        of_given = [name in given for name in kept]
        self.role = "given" if all(of_given) else "released" if any(of_given) else "kept"
        """"kept", or "given" where these are given columns; "released" of both kinds together."""
        self.released = " and ".join(released)
        """Name of the released public column, or of several, from which it takes the values too; else empty."""
        self.in_order = in_order
        """Whether it takes the order of the rows, too."""
        self.determines = determines
        """Name of the column that it tells; of several secret ones that it tells together, all of them."""
        self.share = share
        """Share of right guesses between one secret and the others, equally many of both. For a column that the kept
        one determines: the share of rows in which it does; for numbers in step: their rank correlation; for numbers in
        whose order the secrets come: the share of neighbours that are alike (or differ)."""
        self.measured = measured or f"share {share:.3f}"
        """What was measured, in words."""
        named = " and ".join(name if name == "the index" else repr(name) for name in kept)
        index = " (Layout(index='drop'))" if "the index" in kept else ""
        are, them = ("is {} as it is", "it") if len(kept) == 1 else ("are {} as they are", "them")
        are = are.format({"given": "given, and released"}.get(self.role, self.role))
        out = {"kept": "out of keep", "given": "out of given"}.get(self.role, "out of keep and given")
        beside = f" together with the released {' and '.join(map(repr, released))}" if released else ""
        other = f" or release a coarser form of {them}"
        if in_order:
            beside = " together with the order of the rows"
            other = " or release the rows in random order, by shuffle=True in the Layout; collect a lazy frame first"
        super().__init__(
            f"{named} {are}, and {determines!r} can be told from {them}{beside} ({self.measured}).\n\n"
            f"Hint: Leave {them} {out}{index}{other}."
        )

    def or_given(self) -> PufferWarning:
        """The same for a request that takes given columns: the hint says so where this column may be one."""
        if not self.is_stratum:
            return self
        given = f" Or name it in given={self.kept!r} instead, when you calibrate: each of its values has its own noise."
        return _remade(type(self), (f"{self}{given}",), self.__dict__)


class UnreadColumnWarning(PufferWarning):
    """Nobody looked whether a column that is released as it is tells the secret: its entries cannot be read."""

    def __init__(self, kept: str, /) -> None:
        self.kept = kept
        """Name of the kept column; "the index" for an index."""
        named = kept if kept == "the index" else repr(kept)
        super().__init__(
            f"{named} is kept as it is, and nobody looked whether it tells the secret: its objects have neither an "
            "order nor a text that shows all of them.\n\n"
            "Hint: Convert them to text, numbers or times first, or leave the column out of keep."
        )


class WeakGuaranteeWarning(PufferWarning):
    """The request is granted, but what it guarantees is next to nothing."""

    def __init__(self, found: str, /, *, hint: str) -> None:
        super().__init__(f"{found}.\n\nHint: {hint}")


class SuspectValuesWarning(PufferWarning):
    """A column seems to hold something else than its values say: numbers as text, codes for missing values.

    Or values beyond a domain, or that a plan does not know, in more than 1 % of the rows; or more than 5 % of the rows
    that are left out; or given columns of which more than a tenth of the rows get the label of merged strata; or a
    table that is itself a release; or a CSV file with another mark than a comma between its fields, which was not
    asked for.
    """

    def __init__(self, what: str, found: str, /, *, hint: str) -> None:
        self.what = what
        super().__init__(f"{what} {found}.\n\nHint: {hint}")


class FewRowsWarning(PufferWarning):
    """A secret has so few rows that their frequencies say little about anybody else's."""

    def __init__(self, secrets: tuple[object, ...], *, fewest: int) -> None:
        self.secrets = secrets
        named = ", ".join(map(repr, secrets[:3])) + (f" and {len(secrets) - 3} more" if len(secrets) > 3 else "")
        super().__init__(
            f"these secrets have fewer than {fewest} rows each, too few for their observed frequencies to say much: "
            f"{named}.\n\n"
            "Hint: Group rare values of the secret into one, or give what is known of them in beliefs={secret: Prior}."
        )


_RARE_OF = {"level": "of the public column", "combination": "of the public columns", "state": "of the series"}


class RareLevelsWarning(PufferWarning):
    """Some levels of a column of labels, or states of series, have so few rows that a release says little of them."""

    def __init__(
        self,
        levels: tuple[object, ...],
        *,
        fewest: int,
        of: str = "level",
        column: str | None = None,
        are_few_together: bool = False,
    ) -> None:
        self.levels = levels
        """Which they are: values of the column. The message does not name them, and a pickle leaves them out."""
        super().__init__(
            f"{len(levels)} {of}{'s' * (len(levels) != 1)} {_RARE_OF[of]}{'' if column is None else f' {column!r}'} "
            f"{'has' if len(levels) == 1 else 'have'} fewer than {fewest} rows, too few to say much of them.\n\n"
            "Hint: "
            + (
                'Say nulls="drop" to leave those rows out, or give them a common level first.'
                if levels == (None,)
                else "List in states=[...] what anybody may have, or merge rare states: the answer has a row for each."
                if of == "state"
                else "Leave mechanism out, so that each label is drawn by itself, or release coarser columns."
                if of != "level"
                else "Put such rows into a level that more rows have first, or release a coarser column."
                if are_few_together or column is not None  # of a whole table
                else f'Say Channel(merge_rare={fewest}) to merge them into "other", or release a coarser column.'
            )
        )

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"levels": ()}


class WideNoiseWarning(PufferWarning):
    """A column is released with so much noise that it is of little use, or with more than need be."""

    def __init__(self, columns: Sequence[str], found: str, /, *, hint: str, reason: str) -> None:
        self.columns = tuple(columns)
        """Names of the columns."""
        self.reason = reason
        """"constant": one constant is nearer to the values. "mechanism": a channel is. "fit": the fitted model decides.
        "rows": the secrets are too many for whole rows. "shares": shares of levels are off. "correlation": released
        values hardly follow the raw ones. "clip", "round": clipping noisy values to bounds, or rounding
        them to integers, leaves clearly less of a column.
        "unrelated": a correlation of two columns is mostly lost. "tail": values far out move. "cells": whole numbers
        come out with fewer values. "inverse": a published table of probabilities has none.
        "answer": answers of `aggregate`, which the names are those of, are smaller than their noise."""
        named = ", ".join(map(repr, self.columns[:20])) + (", ..." if len(self.columns) > 20 else "")
        super().__init__(f"{found.replace('{columns}', named)}.\n\nHint: {hint}")


class LedgerWarning(PufferWarning):
    """A line of a ledger is cut off, and skipped: whoever wrote it was stopped."""

    def __init__(self, path: object, /, *, lines: Sequence[int]) -> None:
        self.lines = tuple(lines)
        """Numbers of these lines, from 1."""
        named = ", ".join(map(str, self.lines[:6])) + (", ..." if len(self.lines) > 6 else "")
        super().__init__(
            f"the ledger {str(path)!r} has the beginning of a line only in line {named}, which was skipped.\n\n"
            "Hint: Delete the line. If it was a release's first line, no noise was drawn; if it was the second, the "
            'entry of that release is "not finished", and counts.'
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
            f"the published scale {published_scale:.6g} of theorem {theorem!r} is not private: it gives {measured} "
            f"under the priors of the theorem, where {requested} was asked for.\n\n"
            f'Hint: The release uses scale {scale:.6g} instead; calibration="exact" finds it without this detour.'
        )


_SAYS_NOTHING = (FaultError, OSError, MemoryError, ImportError, RecursionError, Warning)
"""Errors whose text names files and modules alone, or was made here."""


def warn(warning: PufferWarning, /) -> None:
    """Issue a warning at the line of the caller outside this package."""
    package = str(Path(__file__).parent)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


def short_traceback(public: Public, /) -> Public:
    """A public function whose errors of this package are raised by its outermost frame, or a class that is made so.

    The traceback of a mistake then shows the line of the caller, and one frame of the package. pytest hides that one
    too, and the debugger of IPython steps over it, by `__tracebackhide__`. In place of any other error, whose text may
    quote the table, a `FaultError` is raised, with all frames. What the error was caused by is dropped: its text may do
    so, too. While `PUFFER_FULL_TRACEBACK` is 1 in the environment all errors are raised as they are.
    Signature, help and types are those of the function. **Cost**: less than a microsecond a call.
    """
    if isinstance(public, type):
        public.__init__ = short_traceback(public.__init__)  # type: ignore[misc]
        return public
    name = getattr(public, "__qualname__", "the call").removesuffix(".__init__")

    @wraps(public)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return public(*args, **kwargs)
        except Exception as error:
            told = told_of(error, name)
            if told is error and not isinstance(error, PufferError):
                raise
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Polars, which is no Exception
                raise
            told = FaultError(name, "PanicException")
        try:
            raise told  # outside of the handler: Python adds what the caller was handling, and nothing else
        finally:
            del told  # it holds this frame, which holds the table

    return call  # type: ignore[return-value]


def shows_all() -> bool:
    """Whether errors may quote the table: for 1 alone, so that 0 or "off" keep it private."""
    return os.environ.get(FULL_TRACEBACK) == "1"


def told_of(error: Exception, call: str, /) -> Exception:
    """What is raised in place of an error: it has neither another's text, nor an error that it was caused by."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    if shows_all():
        error.__suppress_context__ = error.__cause__ is not None
        return error
    if isinstance(error, PufferError):
        error.__cause__, error.__context__, error.__suppress_context__ = None, None, False
        return error.with_traceback(None)
    if isinstance(error, _SAYS_NOTHING) or frames is None or getattr(error, _SHOWN, False):
        return error  # without frames it is Python's own: which argument was not taken
    return (as_system_error(error) or FaultError(call, type(error).__name__)).with_traceback(frames)


def as_system_error(error: BaseException, /) -> OSError | None:
    """The error of the system, such as a full disk, that an error of another library tells of, without its text."""
    found = re.search(r"\(os error ([0-9]{1,4})\)", str(error))
    return None if found is None else OSError(int(found[1]), os.strerror(int(found[1])))


@contextmanager
def as_they_are() -> Iterator[None]:
    """Errors of scikit-learn's checks in this block keep their text, which names shapes and columns alone."""
    try:
        yield
    except Exception as error:
        setattr(error, _SHOWN, True)
        raise
