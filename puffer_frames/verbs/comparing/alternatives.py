"""The releases that a comparison sets side by side: every mechanism, noise, theorem and belief that may apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.arguments import CalibrateArguments, Options
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.checks import check_mechanism
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.numbers.target import Target
from puffer_frames.papers.catalogue import BERNOULLI, BOUNDED, GAUSSIAN, KANTOROVICH, MIXTURE, TRANSLATION
from puffer_frames.scales.beliefs import ONLY
from puffer_frames.scales.joint.measured_rows import MOST_COLUMNS
from puffer_frames.scales.learned import Contamination, LearnedBelief
from puffer_frames.verbs.requests.arguments import CompareArguments

ALL = "all"
ANY_LAW = "any law"
WITHIN_CAP = "contaminated, any law within 8"
"""The guarantee of a channel whose options are left out."""
MODELS = (TRANSLATION.name, GAUSSIAN.name, MIXTURE.name)
"""Theorems that fit a model."""
BELIEFS = ("fitted", "empirical", Contamination(), "population")
FAMILIES = (Noise(), Noise("gaussian"))
"""What "noise" stands for; the latter with a delta alone."""
_SHARED = ("secret", "public", "secrets", "given", "unit", "releases", "pairs", "nulls", "domain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Which rows there are of some noise."""

    noise: Noise
    noises: bool = True
    """Whether the noise alone is a row."""
    remaps: bool = False
    """Whether the posterior median after it is a further row."""
    named: bool = False
    """Whether it was listed as a record: then a row says why it does not apply."""

    def has(self, theorem: str, /) -> bool:
        """Whether rows of this theorem are asked for."""
        return self.noise.theorem in ("auto", theorem)

    def under(
        self, epsilon: float, belief: str, entries: tuple[Any, ...], theorem: str, /, *, quoted: bool = True
    ) -> Alternative:
        """The row of a theorem under a belief."""
        return Alternative(
            epsilon=epsilon,
            belief=belief,
            entries=entries,
            mechanism=self.noise,
            theorem=theorem,
            quoted=quoted,
            noises=self.noises,
            remaps=self.remaps,
            named=self.named,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One way to release the columns."""

    epsilon: float
    belief: str
    """What the guarantee is under, in a word."""
    entries: tuple[Any, ...]
    """The same as the argument `beliefs`."""
    mechanism: Noise | Channel
    """As it was listed."""
    theorem: str = "channel"
    noises: bool = True
    """Whether the noise alone is a row."""
    remaps: bool = False
    """Whether the posterior median after this noise is a further row."""
    quoted: bool = True
    """Whether the theorem has a condition for this belief."""
    named: bool = False
    """Whether it was asked for by name: then a row says why it does not apply."""

    @property
    def options(self) -> Noise | Channel:
        """The mechanism of the row; raises ArgumentError for a theorem that its noise has not."""
        options = self.mechanism
        if isinstance(options, Channel):
            return options
        if options.theorem != self.theorem:  # the options that the theorem of the row has use for
            weights = options.weights if self.theorem == "auto" else None
            components = options.components if self.theorem == MIXTURE.name else None
            theorem: Any = self.theorem
            options = replace(options, theorem=theorem, weights=weights, components=components)
        return replace(
            options,
            calibration="theorem" if self.theorem == BOUNDED.name else options.calibration,
            remap=not self.noises,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The lists of a comparison, checked."""

    arguments: CompareArguments
    epsilons: tuple[float, ...]
    noises: tuple[Rows, ...]
    plain_channels: bool
    """Whether the channels of the word "channel" are rows."""
    channels: tuple[Channel, ...]
    """Those whose options were given."""
    beliefs: Mapping[str, Any]
    """By name."""

    @classmethod
    def of(cls, arguments: CompareArguments, /) -> Asked:
        """Check the lists.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For an epsilon or a mechanism that is none, and for an empty list.
        """
        epsilons = _listed(arguments.epsilon, "epsilon")
        for epsilon in epsilons:
            Target.of(epsilon, arguments.delta)
        listed = _listed(arguments.mechanism, "mechanism")
        for mechanism in listed:
            check_mechanism(mechanism, (ALL, "noise", "channel"))
        noises: list[Rows] = []
        for mechanism in listed:
            if isinstance(mechanism, Noise):
                noises.append(Rows(noise=mechanism, noises=not mechanism.remap, remaps=mechanism.remap, named=True))
            elif mechanism in (ALL, "noise"):
                families = FAMILIES if arguments.delta else FAMILIES[:1]
                noises += [Rows(noise=each, remaps=mechanism == ALL) for each in families]
        every = isinstance(arguments.beliefs, str) and arguments.beliefs == ALL
        return cls(
            arguments=arguments,
            epsilons=tuple(map(float, dict.fromkeys(epsilons))),
            noises=tuple(noises),
            plain_channels=any(mechanism in (ALL, "channel") for mechanism in listed),
            channels=tuple(mechanism for mechanism in listed if isinstance(mechanism, Channel)),
            beliefs=named_beliefs(BELIEFS if every else _listed(arguments.beliefs, "beliefs")),
        )

    def calibrating(self, one: Alternative | None, /) -> CalibrateArguments:
        """The arguments of `calibrate` for an alternative; None for what all have in common."""
        shared: dict[str, Any] = {name: getattr(self.arguments, name) for name in _SHARED}
        shared |= {"delta": self.arguments.delta, "allow_zero_noise": True}
        if one is None:
            return CalibrateArguments(**shared, epsilon=self.epsilons[0])
        return CalibrateArguments(**shared, epsilon=one.epsilon, beliefs=one.entries, mechanism=one.options)

    @property
    def names_channels(self) -> bool:
        """Whether a row says why a channel does not apply."""
        return self.arguments.mechanism != ALL


def _listed(entries: Any, name: str) -> tuple[Any, ...]:
    """One entry, or several; raises ArgumentError for none."""
    alone = isinstance(entries, (str, Mapping, LearnedBelief, Options)) or not isinstance(entries, Iterable)
    if alone or (not isinstance(entries, (Sequence, set, frozenset)) and name == "beliefs"):  # a frame is one belief
        return (entries,)
    found = tuple(entries)
    if not found:
        raise ArgumentError(name, rule="one, or several", got="none", hint="Leave it out.")
    return found


def named_beliefs(entries: Sequence[Any], /) -> dict[str, Any]:
    """The beliefs by a name of their own: the word, the title of a wider one, "given" or "other table"."""
    found: dict[str, Any] = {}
    for entry in entries:
        if isinstance(entry, str):
            title = entry
        elif isinstance(entry, LearnedBelief):
            title = entry.title
        else:
            title = "given" if isinstance(entry, Mapping) else "other table"
        number = 1 + sum(name == title or name.startswith(f"{title} ") for name in found)
        found[title if number == 1 else f"{title} {number}"] = entry
    return found


def entries_of(entry: Any, /) -> tuple[Any, ...]:
    """A belief alone, as the argument `beliefs`: side knowledge would add to the observed frequencies."""
    return (entry,) if isinstance(entry, (str, LearnedBelief)) else (ONLY, entry)


def of_numbers(asked: Asked, /, *, two_values: bool) -> Iterator[Alternative]:
    """Those of one column of numbers."""
    observed = BERNOULLI.name if two_values else KANTOROVICH.name
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            fitted, empirical = entry == "fitted", isinstance(entry, str) and entry == "empirical"
            if fitted and two_values:  # there is no other model of two values
                continue
            for theorem, rows in product(MODELS if fitted else (observed,), asked.noises):
                if rows.has(theorem):
                    yield rows.under(epsilon, name, entries_of(entry), theorem, quoted=fitted or empirical)
            if not fitted and asked.plain_channels:
                yield _plain_channel(asked, epsilon, name, entry)
        anything, quoted = (Contamination(share=1.0),), not asked.arguments.domain
        for rows in asked.noises:  # the theorem is about the observed range, the belief about the domain too
            if rows.has(BOUNDED.name):
                yield rows.under(epsilon, ANY_LAW, anything, BOUNDED.name, quoted=quoted)
        yield from _own_channels(asked, epsilon)


def of_labels(asked: Asked, /) -> Iterator[Alternative]:
    """Those of one column of labels."""
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            if asked.plain_channels and entry != "fitted":
                yield _plain_channel(asked, epsilon, name, entry)
        yield from _own_channels(asked, epsilon)


def of_columns(asked: Asked, /, *, columns: int) -> Iterator[Alternative]:
    """Those of several columns: by their joint loss, by a coupling of whole rows, by their ranges."""
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            if isinstance(entry, str) and entry == "fitted":
                continue
            for theorem, rows in product(("auto", KANTOROVICH.name), asked.noises):
                twice = theorem != "auto" and rows.noise.theorem == "auto" and columns > MOST_COLUMNS
                if rows.has(theorem) and not twice:  # of so many both words mean the coupling
                    yield rows.under(epsilon, name, entries_of(entry), theorem)
        for rows in asked.noises:
            if rows.has(BOUNDED.name):
                yield rows.under(epsilon, ANY_LAW, ("empirical",), BOUNDED.name)


def _plain_channel(asked: Asked, epsilon: float, name: str, entry: Any) -> Alternative:
    """The channel that has the guarantee under one belief and no other."""
    return Alternative(
        epsilon=epsilon,
        belief=name,
        entries=entries_of(entry),
        mechanism=Channel(radius=0, cap=None),
        named=asked.names_channels,
    )


def _own_channels(asked: Asked, epsilon: float) -> Iterator[Alternative]:
    """The channel of the default options, and those whose options were given."""
    wide = any(isinstance(entry, Contamination) for entry in asked.beliefs.values())
    listed = {WITHIN_CAP: Channel()} if asked.plain_channels and wide else {}
    listed |= {f"as its options say{' ' + str(k) if k > 1 else ''}": one for k, one in enumerate(asked.channels, 1)}
    for name, options in listed.items():
        yield Alternative(
            epsilon=epsilon, belief=name, entries=("empirical",), mechanism=options, named=asked.names_channels
        )
