"""What the plan of any release of rows says of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from puffer_frames.certificates.report.saved import check_path
from puffer_frames.errors import PlanFileError, PufferError, short_traceback
from puffer_frames.frames.files import write_text
from puffer_frames.mechanisms.noise.figures import PlanFigures
from puffer_frames.mechanisms.request import Request
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.numbers.presentation import Rows, as_html, as_text
from puffer_frames.numbers.records import TAG, refused
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.verbs.plans.file import read_plan, write_plan
from puffer_frames.verbs.plans.page import plan_page
from puffer_frames.verbs.plans.plotted import plot_plan
from puffer_frames.verbs.plans.records import codec_of


class _Plan(Protocol):
    @property
    def request(self) -> Request: ...

    @property
    def pairs(self) -> Pairs: ...

    @property
    def rows_per_secret(self) -> Mapping[Secret, int]: ...

    @property
    def rows(self) -> int: ...


class Planned:
    """A request, and the table that it was planned for."""

    __slots__ = ()

    plan: _Plan
    """What is to be released, how, and why."""
    left_out: tuple[str, ...]
    """What a plan from a file lacks, in words; empty for one that was made from a table."""

    @property
    def epsilon(self) -> float:
        """Privacy parameter epsilon."""
        return self.plan.request.target.epsilon

    @property
    def delta(self) -> float:
        """Privacy parameter delta; 0 is pure privacy."""
        return self.plan.request.target.delta

    @property
    def secret(self) -> tuple[str, ...]:
        """Names of the secret columns."""
        return self.plan.request.secret

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns to release."""
        return self.plan.request.public

    @property
    def pairs(self) -> Pairs:
        """The word "all", or the protected pairs of secrets."""
        return self.plan.pairs

    @property
    def rows_per_secret(self) -> Mapping[Secret, int]:
        """Rows of each secret, complete ones; of each column and value, where each secret column is protected."""
        return self.plan.rows_per_secret

    @property
    def rows(self) -> int:
        """Rows of the frame it was made from, complete ones."""
        return self.plan.rows

    @short_traceback
    def save(self, path: str | Path, /, *, password: str | bytes | None = None, overwrite: bool = True) -> None:
        """Write the plan to a file that `load` reads: for the rows of another day, or another machine.

        Parameters
        ----------
        path : str or Path
            Of a file. It is written whole or not at all, and readable by you alone (mode 0600).
        password : str or bytes, optional
            Encrypts the file: AES-256-GCM under a key from scrypt. Without one it is JSON that a person can read.
        overwrite : bool
            Replace a file that is there.

        Raises
        ------
        PlanFileError
            For a plan with what does not belong to this package: a noise family of your own.
        ArgumentError, ArgumentTypeError
            For a path that is not that of a file, a file that is there and may not be replaced, and a password that is
            none.
        OSError
            Where the file cannot be written there.

        Notes
        -----
        The file holds exact statistics of every secret, as the plan does. It lacks the laws of the beliefs, side
        knowledge and other tables: `left_out` of the plan that is loaded says what (docs/plans.md).

        Examples
        --------
        >>> import tempfile, numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> path = tempfile.mkdtemp() + "/plan.json"
        >>> people.puffer.calibrate(secret="group", public="score", epsilon=0.5).save(path, password="long and odd")
        >>> plan = puffer_frames.load_plan(path, password="long and odd")
        >>> round(plan.scale, 3), len(plan.release(people))
        (0.47, 100)
        """
        plain = codec_of(type(self)).plain(self._lean())
        believed(plain, [type(self)])  # what could not be read back is not written
        write_plan(path, plain, password=password, overwrite=check_flag(overwrite, "overwrite"))

    def identity(self) -> str:
        """SHA-256 of all that decides what is drawn, whose frame and whose process it was made in.

        Two plans that are the same but for the library of the frame have one; two that differ in any scale have two.
        """
        try:
            plain = codec_of(type(self)).plain(self._lean())
        except PlanFileError:  # a noise family of the user's own
            return hashlib.sha256(repr(self.plan).encode()).hexdigest()
        plain.pop("library")
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    @short_traceback
    def report(self, path: str | Path, /, *, audit: object = None, overwrite: bool = False) -> None:
        """Write the plan as a page for whoever decides on the release. It holds exact statistics: keep it private.

        Parameters
        ----------
        path : str or Path
            Of a new .html file. It is written whole or not at all, and readable by you alone (mode 0600).
        audit : object, optional
            What a test of a release by this plan returned; its text is printed as it is.
        overwrite : bool
            Replace a file that is there.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For another path, and a file that is there.
        OSError
            Where the file cannot be written there.

        Notes
        -----
        `certificate.report` writes the page that may be published (docs/report.md).

        Examples
        --------
        >>> import tempfile, numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
        >>> plan.report(tempfile.mkdtemp() + "/plan.html")
        """
        place = check_path(path, overwrite=overwrite)
        title, rows = self._all_shown()
        text = plan_page(
            title,
            rows,
            target=self.plan.request.target,
            figures=self._figures(),
            rows_per_secret=self.rows_per_secret,
            audit=audit,
        )
        write_text(text, place, private=True, new=not overwrite)

    @classmethod
    @short_traceback
    def load(cls, path: str | Path, /, *, password: str | bytes | None = None) -> Self:
        """Read a plan of this kind that `save` wrote; `puffer_frames.load_plan` reads every kind.

        Raises
        ------
        PlanFileError, ArgumentError, ArgumentTypeError, OSError
            As `puffer_frames.load_plan`, and for a plan of the other kind.
        """
        return believed(read_plan(path, password=password), [cls])

    plot = short_traceback(plot_plan)

    def _lean(self) -> Self:
        """Without what a file does not hold."""
        raise NotImplementedError

    def _checked(self) -> Self:
        """From a file: with what follows from its parts, which agree; raises PufferError."""
        raise NotImplementedError

    def _figures(self) -> PlanFigures:
        """What its report shows as pictures."""
        raise NotImplementedError

    def _shown(self) -> tuple[str, Rows]:
        """Title and rows of what is shown."""
        raise NotImplementedError

    def _pictures(self) -> Sequence[str]:
        """Small ones, for notebooks."""
        raise NotImplementedError

    def _all_shown(self) -> tuple[str, Rows]:
        title, rows = self._shown()
        return title, [*rows, ("from a file", f"without {', '.join(self.left_out)}")] if self.left_out else rows

    def __str__(self) -> str:
        return as_text(*self._all_shown())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(*self._all_shown(), pictures=self._pictures())


P = TypeVar("P", bound=Planned)


def believed(plain: Any, kinds: Sequence[type[P]], /) -> P:
    """The plan of one of these kinds that a file holds in JSON types.

    Raises
    ------
    PlanFileError
        For anything else, and for a plan whose parts do not agree.
    """
    named = {kind.__name__: kind for kind in kinds}
    tag = plain.get(TAG) if isinstance(plain, dict) else None
    kind = named.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise PlanFileError(
            "the plan in the file",
            rule=f"a {' or '.join(named)}",
            got="another one",
            hint="Say puffer_frames.load_plan(path), which reads plans of every kind.",
        )
    try:
        found: P = codec_of(kind).value(plain)
        found = found._checked()
        str(found)  # what cannot be shown is no plan
    except PlanFileError:
        raise
    except (PufferError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise refused("parts that do not agree") from None
    return found
