"""What a release does to the values of one column: the domain, the noise, and what costs nothing after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.noise.adding import Arrays, Columns, Draw, Levels, Move, Reals, add_noise, numbered
from puffer_frames.noise.channel import JointLevels
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds, Replacement, postprocess
from puffer_frames.noise.stream import Purpose, ReleaseKey, Rows, Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class ByStratum:
    """Other draws for the rows of each stratum."""

    given: tuple[str, ...]
    """Names of the columns whose joint value is the stratum."""
    strata: tuple[Levels, ...]
    """Their values, per stratum."""
    parts: tuple[tuple[Draw, ...], ...]
    """The draws of each stratum, in all of the same columns with the same levels; none reads a given column."""

    def __post_init__(self) -> None:
        first, *others = ([(draw.reads, draw.writes) for draw in part] for part in self.parts)
        if any(other != first for other in others):
            raise ValueError("the draws of all strata must read and write the same columns with the same levels.")
        read = [name for reads, _ in first for name in reads]
        if len({*read, *self.given}) < len(read) + len(self.given):
            raise ValueError("each column must be read by one draw of a stratum, and no given column by any.")

    @property
    def key(self) -> ReleaseKey:
        return self.parts[0][0].key

    @property
    def reads(self) -> Columns:
        return {**self._of_parts, **self._strata.reads}

    @property
    def writes(self) -> Columns:
        return {name: levels for draw in self.parts[0] for name, levels in draw.writes.items()}

    @property
    def _of_parts(self) -> Columns:
        return {name: levels for draw in self.parts[0] for name, levels in draw.reads.items()}

    @property
    def _strata(self) -> JointLevels:
        return JointLevels(columns=self.given, numbers={stratum: k for k, stratum in enumerate(self.strata)})

    def prepared(self) -> Move:
        """Raises CalibrationError for a stratum that is none of these."""
        stratum_of, unknown = self._strata.prepared(), len(self.strata)
        moves = [[draw.prepared() for draw in part] for part in self.parts]
        reads, writes = tuple(self._of_parts), self.writes

        def move(arrays: Arrays, rows: Rows | None) -> Arrays:
            strata = stratum_of(arrays)
            if strange := int(np.count_nonzero(strata == unknown)):
                raise unknown_stratum(f"{strange} row{'s' * (strange > 1)} of others")
            numbers = numbered(strata.size, rows)
            moved: dict[str, Reals] = {
                name: np.empty(strata.size, dtype=np.float64 if levels is None else np.uint16)
                for name, levels in writes.items()
            }
            order = np.argsort(strata, kind="stable")
            ends = np.searchsorted(strata[order], np.arange(len(moves) + 1))
            for part, start, end in zip(moves, ends[:-1], ends[1:], strict=True):
                places = order[start:end]
                if places.size:
                    own = {name: arrays[name][places] for name in reads}
                    for draw in part:
                        for name, values in draw(own, numbers[places]).items():
                            moved[name][places] = values
            return moved

        return move


def unknown_stratum(got: str, /) -> CalibrationError:
    """The error of rows that the plan has no noise for."""
    return CalibrationError(
        "the strata of the frame",
        rule="strata of the plan",
        got=got,
        hint="Calibrate a frame that has these strata too, or leave out their rows.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNoise:
    """The noise of one column of one release; it can be sent to another process, and holds the key."""

    column: str
    """Name of the column."""
    noise: NoiseFamily | None
    """With its scale; None for none."""
    key: ReleaseKey
    """Key of the release."""
    domain: Bounds | None
    """Public bounds, to which values are clipped before the noise."""
    remap: Replacement | None
    """What noisy values are replaced by, before anything else is done to them; None for nothing."""
    bounds: Bounds | None
    """Bounds to clip the released values to."""
    to_integers: bool
    """Whether the released values are rounded."""

    @property
    def reads(self) -> Columns:
        return {self.column: None}

    @property
    def writes(self) -> Columns:
        return {self.column: None}

    def prepared(self) -> Move:
        stream = self.key.stream(Purpose.NOISE, self.column)
        sampler = self.noise.sampler() if self.noise is not None else None
        workspaces = Workspaces()

        def move(arrays: Arrays, rows: Rows | None) -> Arrays:
            values = arrays[self.column]
            if self.domain is not None:
                values = values.clip(*self.domain, dtype=np.float64)
            if sampler is not None:
                moved = add_noise(values, sampler, stream=stream, rows=rows, workspaces=workspaces)
            else:
                moved = values.astype(np.float64, copy=False)
            if self.remap is not None:
                moved = self.remap(moved)
            return {self.column: postprocess(moved, bounds=self.bounds, to_integers=self.to_integers)}

        return move
