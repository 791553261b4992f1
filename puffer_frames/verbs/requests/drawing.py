"""How the noise of one release is drawn, and where it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from puffer_frames.certificates.about import check_about
from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.noise.stream import RandomSource, ReleaseKey, check_rng
from puffer_frames.verbs.ledgers.release_ledger import Ledger
from puffer_frames.verbs.ledgers.reserved import Reserved, as_ledger
from puffer_frames.verbs.requests.arguments import DrawArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How the noise of one release is drawn, and what its certificate says of it."""

    rng: RandomSource | ReleaseKey = field(repr=False)
    about: Mapping[str, str]
    ledger: Ledger | None = None
    """Where the release is written down."""

    @classmethod
    def of(cls, arguments: DrawArguments, /) -> Drawing:
        """Raises ArgumentError, ArgumentTypeError."""
        about = check_about(arguments.about)
        book = as_ledger(arguments.ledger, dataset=about.get("dataset"))
        return cls(rng=check_rng(arguments.rng), about=about, ledger=book)

    @property
    def seeded(self) -> bool:
        """Whether the noise can be drawn again by somebody else."""
        return self.rng is not None and not isinstance(self.rng, ReleaseKey)

    def key(self) -> ReleaseKey:
        """A key for one release."""
        return ReleaseKey.of(self.rng)

    def reserve(self, certificate: Certificate, frame: NativeFrame, /) -> Reserved:
        """Write a release of a frame into the ledger, if there is one, before the noise is drawn.

        Raises
        ------
        LedgerError
            Where it is beyond the limit.
        """
        return Reserved.of(self.ledger, certificate.said(self.about), frame)
