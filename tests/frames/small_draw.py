"""A draw that reads a secret column beside two public ones: tasks of Spark import it from here."""

from dataclasses import dataclass

import numpy as np

from puffer_frames.noise.stream import Purpose, ReleaseKey

SECRETS = ("secret alpha", "secret beta", "secret gamma")
TOWNS = ("bath", "cork", "hull")
OUTPUTS = ("north", "south")


@dataclass(frozen=True)
class SmallDraw:
    """Moves a number by the place of the secret and a random step; a town goes north or south by all of these."""

    key: ReleaseKey
    secrets: tuple[str, ...] = SECRETS

    @property
    def reads(self):
        return {"x": None, "town": TOWNS, "group": self.secrets}

    @property
    def writes(self):
        return {"town": OUTPUTS, "x": None}

    def prepared(self):
        stream = self.key.stream(Purpose.NOISE, "x")

        def move(arrays, rows):
            x, town, group = arrays["x"], arrays["town"], arrays["group"].astype(np.int64)
            step = (stream.words(range(x.size) if rows is None else rows) >> np.uint64(61)).astype(np.int64)
            return {"x": x + 0.5 * step + 100.0 * group, "town": ((town + group + step) % 2).astype(np.uint16)}

        return move
