"""How a release of rows looks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from puffer_frames.errors import ArgumentTypeError, short_traceback
from puffer_frames.frames.columns import Name
from puffer_frames.frames.roles import RowOrder
from puffer_frames.mechanisms.checks import check_publish
from puffer_frames.noise.postprocessing import BoundsArgument
from puffer_frames.numbers.arguments import check_flag

PublishWord: TypeAlias = Literal["expected_error", "lower_bound", "levels"]
IndexWord: TypeAlias = Literal["keep", "drop"]


@short_traceback
@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a release looks: its further columns, its rows, and what is done to its values after the noise.

    A plan has no layout, and each of its releases may have its own. So `clip`, `round` and `publish` are here and not
    with the mechanism: they change what is shown of a release, not what is drawn.

    Parameters
    ----------
    keep : column name or several
        Further columns to release as they are, outside the guarantee; `given` has those within it.
    index : None, "keep" or "drop"
        What to do with a pandas index other than 0, 1, ..., n - 1.
    shuffle : bool
        Release the rows in random order. Not with index="keep", which would tell their order.
    row_id : column name, optional
        Column of integers that numbers the rows, each differently: the noise of a row follows its number wherever the
        row stands. It is not released unless kept. By default rows are numbered by position, for which a lazy frame
        must give its rows in one order, and the rows of a Spark frame are materialised.
    clip : (low, high), or mapping of column to (low, high)
        Bounds to clip the released values to. Use public constants; costs nothing. For noise.
    round : bool
        Round the released values to integers; costs nothing. For noise.
    publish : "expected_error", "lower_bound", "levels", or several of these
        What the certificate of a channel says besides. They are exact statistics of the table, which can tell a record
        to a reader who knows all others; levels that are declared in `domain` are there in any case.
    refine_key : str or Path, optional
        A key file for `Plan.refine`, which may release these rows with less noise later: the order of the rows
        is noted in it. Laplace noise on numbers, of frames in memory.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a value out of range.

    Examples
    --------
    >>> from puffer_frames import Layout
    >>> Layout(keep="education", round=True).keep
    'education'
    """

    keep: Name | Iterable[Name] = ()
    index: IndexWord | None = None
    shuffle: bool = False
    row_id: Name | None = None
    clip: BoundsArgument = None
    round: bool = False
    publish: PublishWord | Iterable[PublishWord] = ()
    refine_key: str | Path | None = None

    def __post_init__(self) -> None:
        check_flag(self.shuffle, "shuffle")
        check_flag(self.round, "round")
        check_publish(self.publish)
        RowOrder(index=self.index, shuffle=self.shuffle)


def check_layout(layout: object, /) -> Layout:
    """Return a layout, the plain one for None; raises ArgumentTypeError."""
    if layout is None:
        return Layout()
    if not isinstance(layout, Layout):
        raise ArgumentTypeError(
            "layout", rule="Layout(...), or None", got=f"a {type(layout).__name__}", hint='Write Layout(keep="column").'
        )
    return layout
