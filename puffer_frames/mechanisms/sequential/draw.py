"""The draw of a whole table: it reads the secret and the columns, and writes all of these but the secret."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from puffer_frames.mechanisms.sequential.columns import TableColumn
from puffer_frames.mechanisms.sequential.release import SequentialPlan, release
from puffer_frames.noise.channel import Integers, JointLevels, looked_up
from puffer_frames.noise.draw import Arrays, Codes, Columns, Move, numbered, other_levels
from puffer_frames.noise.stream import ReleaseKey, Rows


@dataclass(frozen=True, kw_only=True)
class TableDraw:
    """Release rows column by column."""

    key: ReleaseKey
    """Key of the release."""
    columns: tuple[TableColumn, ...]
    secret: JointLevels
    plan: SequentialPlan

    @cached_property
    def drawn(self) -> tuple[TableColumn, ...]:
        """The columns that are no functions of others, in the order of the plan's codes."""
        return tuple(column for column in self.columns if column.source is None)

    @property
    def reads(self) -> Columns:
        """Those, and the secret."""
        return {**{column.name: column.reads for column in self.drawn}, **self.secret.reads}

    @property
    def writes(self) -> Columns:
        """All columns, as levels: numbers keep their type."""
        return {column.name: column.levels for column in self.columns}

    def prepared(self) -> Move:
        """Raises CalibrationError for a secret that is not known, PriorError for a missing number."""
        secret_of, names = self.secret.prepared(), [column.name for column in self.drawn]

        def move(arrays: Arrays, rows: Rows | None) -> Arrays:
            secrets = secret_of(arrays)
            if strange := int(np.count_nonzero(secrets == self.secret.unknown)):
                raise other_levels(", ".join(self.secret.columns), f"{strange} row{'s' * (strange > 1)}")
            codes = np.stack([column.coded(arrays[column.name]) for column in self.drawn], axis=1)
            out = release(self.plan, codes, secrets, key=self.key, names=names, rows=numbered(secrets.size, rows))
            found: dict[str, Codes] = {name: out[:, k] for k, name in enumerate(names)}
            for column in self.columns:
                if column.source is not None:
                    table = np.array(column.codes, dtype=np.uint16)
                    found[column.name] = looked_up(table, cast(Integers, found[column.source]))
            return found

        return move
