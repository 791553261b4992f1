"""The public statement that goes with a release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from puffer_frames.errors import ArgumentError, UncoveredFrameError
from puffer_frames.frames.attach import column_names, write_metadata
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.fingerprint import fingerprint, fingerprint_text
from puffer_frames.frames.parquet import read_parquet_file
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Verification
from puffer_frames.pairs import Pairs
from puffer_frames.presentation import Rows, as_html, as_text, measured_text

_SYMBOLS = {"Laplace": "b", "Gaussian": "theta"}
_NO_NOISE = "NONE: the values are released as they are"

Verdict: TypeAlias = Literal["intact", "derived", "uncovered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What is guaranteed of a release, for which pairs, under which beliefs, and why.

    It holds nothing but what may be published: no mean, variance or count of a single secret.
    """

    subject: str
    """What is protected, in words."""
    answers: bool
    """True where the release is a table of answers about all rows, not a row per record."""
    epsilon: float
    """Privacy parameter epsilon."""
    delta: float
    """Privacy parameter delta; 0 is pure privacy."""
    secret: tuple[str, ...]
    """Names of the secret columns; not in the release."""
    public: tuple[str, ...]
    """Names of the released noisy columns."""
    kept: tuple[str, ...]
    """Names of columns released as they were, outside the guarantee."""
    pairs: Pairs
    """"all", or the pairs of secrets that are protected."""
    beliefs: tuple[str, ...]
    """Names of the adversary's beliefs that the guarantee covers."""
    theorem: str
    """The theorem that proposed a scale."""
    source: str
    """Paper and number of the theorem."""
    published_scales: Mapping[str, float | None]
    """Scale that the theorem asks for, per column, in its units; None where its condition does not exist."""
    calibration: str
    """"exact" (smallest confirmed scale), "theorem", or "mechanism" (whose theorem proves the scale)."""
    noise: str
    """Noise family."""
    scales: Mapping[str, float]
    """Noise scale per released column, in its units."""
    expected_error: Mapping[str, float]
    """Mean absolute noise per released column, in its units."""
    verified: Mapping[str, Mapping[str, Verification]]
    """What the engine measured at the scale, per column and belief."""
    adds_up: bool
    """Whether the epsilons of several releases of the same values add."""
    assumptions: tuple[str, ...]
    """What the guarantee rests on and what it leaves out, in words."""
    reproducible: bool
    """True where the noise came from a seed: then it is not private."""
    rows: int
    """Rows of the release."""
    version: str
    """Version of puffer_frames."""
    fingerprint: str
    """SHA-256 over the names and values of the released columns; that of a Spark frame begins with "rows:"."""

    def to_dict(self) -> dict[str, Any]:
        """A dict of JSON types, from which `from_dict` makes an equal certificate."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["pairs"] = self.pairs if self.pairs == "all" else [list(pair) for pair in self.pairs]
        for name in ("scales", "published_scales", "expected_error"):
            plain[name] = {column: _number(value) for column, value in plain[name].items()}
        plain["verified"] = {
            column: {
                belief: {
                    "pure_loss": _numbers(measured.pure_loss),
                    "hockey_stick": _numbers(measured.hockey_stick),
                }
                for belief, measured in beliefs.items()
            }
            for column, beliefs in self.verified.items()
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], /) -> Certificate:
        """The certificate that `to_dict` described.

        Raises
        ------
        ArgumentError
            Where a field is missing or unknown.
        """
        names = {field.name for field in fields(cls)}
        if set(plain) != names:
            odd = ", ".join(sorted(names ^ set(plain)))
            raise ArgumentError(
                "the certificate's record",
                rule="one of Certificate.to_dict",
                got=f"other fields ({odd})",
                hint="Read it with the version of puffer_frames that wrote it.",
            )
        values = dict(plain)
        for name in ("secret", "public", "kept", "beliefs", "assumptions"):
            values[name] = tuple(plain[name])
        if plain["pairs"] != "all":
            values["pairs"] = tuple((_hashable(a), _hashable(b)) for a, b in plain["pairs"])
        values["expected_error"] = {column: float(error) for column, error in plain["expected_error"].items()}
        values["verified"] = {
            column: {
                belief: Verification(
                    pure_loss=_bracket(measured["pure_loss"]), hockey_stick=_bracket(measured["hockey_stick"])
                )
                for belief, measured in beliefs.items()
            }
            for column, beliefs in plain["verified"].items()
        }
        return cls(**values)

    def save(self, path: str | Path, /) -> None:
        """Write the certificate as JSON, for releases in formats that hold no metadata (CSV)."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path, /) -> Certificate:
        """Read a certificate that `save` wrote."""
        return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))

    def verify(self, frame: NativeFrame | str | Path, /) -> Verdict:
        """Compare a frame of any kind, or a Parquet file or folder, with the certificate.

        Returns
        -------
        "intact"
            The columns and values of the release, in its order; in any order for a release of a Spark frame.
        "derived"
            Only columns of the release, with other values, rows or order. Post-processing of a release keeps its
            guarantee, but that nothing else was done cannot be checked.
        "uncovered"
            A column that the certificate does not know.

        Notes
        -----
        The fingerprint is not a signature: it finds accidents, not forgeries. That of a release whose order counts
        cannot be compared with a Spark frame, which is then "derived".
        """
        if isinstance(frame, (str, Path)):
            frame = read_parquet_file(frame)
        columns = column_names(frame)
        known = self.public + self.kept
        if not set(columns) <= set(known):
            return "uncovered"
        if set(columns) < set(known) or fingerprint(frame, like=self.fingerprint) != self.fingerprint:
            return "derived"
        return "intact"

    def attach(self, frame: NativeFrame, /) -> NativeFrame:
        """Attach the certificate to a frame with the columns of the release, and return the frame; a new PyArrow table.

        Raises
        ------
        UncoveredFrameError
            For a column that the certificate does not know.
        """
        self.require_known(frame)
        return write_metadata(frame, self.to_dict())

    def require_known(self, frame: NativeFrame, /) -> None:
        """Raise UncoveredFrameError for a column that the certificate does not know."""
        unknown = [name for name in column_names(frame) if name not in self.public + self.kept]
        if unknown:
            raise UncoveredFrameError(
                "the columns of the frame",
                rule="columns of the certificate",
                got=f"{unknown[0]!r}" + (f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""),
                hint="Select the released columns first; what was added is not covered.",
            )

    def with_fingerprint(self, value: str, /) -> Certificate:
        """The same certificate for a release with this fingerprint."""
        return replace(self, fingerprint=value)

    def __str__(self) -> str:
        return as_text(self._title(), self._rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._rows())

    def _title(self) -> str:
        kind = "pure " if self.delta == 0 else ""
        delta = "" if self.delta == 0 else f", delta = {self.delta:g}"
        return f"Certificate of {kind}Pufferfish privacy, epsilon = {self.epsilon:g}{delta}"

    def _rows(self) -> Rows:
        public = ", ".join(self.public)
        odds = f"e^{self.epsilon:g}" + ("" if self.delta == 0 else f" (up to a probability {self.delta:g})")
        seen = "all answers together change" if self.answers else "one released value changes"
        beside = "beside them" if self.answers else "as they were"
        scales = ", ".join(
            f"{name}: scale {_SYMBOLS.get(self.noise, 'gamma')} = {scale:.6g}" for name, scale in self.scales.items()
        )
        errors = "mean absolute error " + ", ".join(
            f"{name} {error:.4g}" for name, error in self.expected_error.items()
        )
        rows = [
            ("protects", self.subject),
            (
                "released",
                f"{public}, {self.rows:,} row{'s' * (self.rows != 1)}"
                + (f"; {beside}: {', '.join(self.kept)}" * bool(self.kept)),
            ),
            ("meaning", f"{seen} the odds between two secrets by a factor of at most {odds}"),
            (
                "noise",
                f"{self.noise}, {scales}; {errors}" if any(self.scales.values()) else _NO_NOISE,
            ),
            ("calibration", self._calibration_text()),
        ]
        for column, beliefs in self.verified.items():
            for belief, measured in beliefs.items():
                loss = measured_text(measured, epsilon=self.epsilon, delta=self.delta)
                of = f" of {column} alone" if len(self.verified) > 1 else ""
                rows.append(("verified", f"{belief} belief: {loss}{of}"))
        rows += [("assumes" if k == 0 else "", text) for k, text in enumerate(self.assumptions)]
        if self.reproducible:
            rows.append(("WARNING", "the noise came from a seed: whoever knows it can subtract it. Not private."))
        rows.append(("fingerprint", f"{fingerprint_text(self.fingerprint)}, puffer_frames {self.version}"))
        return rows

    def _calibration_text(self) -> str:
        asked = {name: scale for name, scale in self.published_scales.items() if scale is not None}
        theorem = f"{self.theorem} ({self.source})"
        if self.calibration == "mechanism":
            return f"{theorem}: enough for every query that one value changes by so much"
        if len(asked) < len(self.scales) and self.answers:
            return f"exact: the smallest scale that the engine confirms; {theorem}"
        if len(asked) < len(self.scales):
            none = f"{theorem} has no condition for this noise and delta"
            return f"exact: the smallest scale that the engine confirms; {none}"
        numbers = f"{theorem} asks for {', '.join(f'{scale:.6g}' for scale in asked.values())}"
        if self.calibration == "theorem":
            used = "used as published, confirmed by the exact engine"
            raised = any(self.scales[name] > scale * (1 + 1e-9) for name, scale in asked.items())
            return f"{numbers}; {'raised to what the exact engine confirms' if raised else used}"
        ratio = min(asked[name] / scale if scale else 0.0 for name, scale in self.scales.items())
        saved = f" ({ratio:.2g} times less noise)" if ratio > 1 else ""
        return f"exact: the smallest scale that the engine confirms{saved}; {numbers}"


def _numbers(bracket: Bracket) -> list[float | str | None]:
    return [_number(bracket.lower), _number(bracket.upper)]


def _number(number: float | None) -> float | str | None:
    """A number as JSON can hold it: infinity as text."""
    return number if number is None or abs(number) < float("inf") else str(number)


def _bracket(numbers: list[float | str]) -> Bracket:
    return Bracket(lower=float(numbers[0]), upper=float(numbers[1]))


def _hashable(label: Any) -> Any:
    return tuple(label) if isinstance(label, list) else label
