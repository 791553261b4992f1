"""The releases that a comparison sets side by side: every mechanism, noise, theorem and belief that may apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.arguments import CalibrateArguments, Options, TableArguments, check_mechanism
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers.catalogue import (
    BERNOULLI,
    BOUNDED,
    GAUSSIAN,
    KANTOROVICH,
    MIXTURE,
    MIXTURES,
    TRANSLATION,
    UBM,
)
from puffer_frames.scales.beliefs import ONLY
from puffer_frames.scales.joint.coupled import MOST_COLUMNS
from puffer_frames.scales.learned import Contamination, LearnedBelief
from puffer_frames.verbs.requests import CompareArguments

ALL = "all"
ANY_LAW = "any law"
WITHIN_CAP = "contaminated, any law within 8"
"""The guarantee of a channel whose options are left out."""
SEEING = "channel that sees the secret"
NETWORK = "network"
"""What the guarantee of a table that is released column by column is under."""
MODELS = (TRANSLATION.name, GAUSSIAN.name, MIXTURE.name, UBM.name)
"""Theorems that fit a model; the last one is compared where it is named."""
BELIEFS = ("fitted", "empirical", Contamination(), "population")
FAMILIES = (Noise(), Noise("gaussian"))
"""What "noise" stands for; the latter with a delta alone."""
_SHARED = tuple(x.name for x in fields(TableArguments) if x.name not in ("epsilon", "mechanism", "beliefs"))


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows there are of a mechanism."""

    options: Noise | Channel | Sequential
    remaps: bool = False
    """Whether the posterior median after this noise is a further row."""
    named: bool = False
    """Whether it was asked for by name: then a row says why it does not apply."""

    def has(self, theorem: str, /) -> bool:
        """Whether it is noise with this theorem, or with any."""
        known = (theorem,) if theorem == UBM.name else ("auto", theorem)
        return isinstance(self.options, Noise) and self.options.theorem in known


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to release the columns."""

    epsilon: float
    belief: str
    """What the guarantee is under, in a word."""
    entries: tuple[Any, ...]
    """The same as the argument `beliefs`."""
    rows: Rows
    theorem: str = "channel"
    quoted: bool = True
    """Whether the theorem has a condition for this belief."""

    @property
    def options(self) -> Noise | Channel | Sequential:
        """The mechanism with the theorem of the row; raises ArgumentError for one that its noise has not."""
        options, theorem = self.rows.options, self.theorem
        if not isinstance(options, Noise):
            return options
        if options.theorem != theorem:  # what else was said of noise is for some theorems alone
            weights = options.weights if theorem == "auto" else None
            components = options.components if theorem in {each.name for each in MIXTURES} else None
            options = replace(options, theorem=theorem, weights=weights, components=components)  # type: ignore[arg-type]
        return options


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The lists of a comparison, checked."""

    arguments: CompareArguments
    epsilons: tuple[float, ...]
    noises: tuple[Rows, ...]
    plain: tuple[Rows, ...]
    """The channel that has the guarantee under one belief and no other, where it is a row of each."""
    channels: tuple[tuple[str, Rows], ...]
    """The channels of the default options, of both kinds, and those whose options were given; each with words for its
    guarantee.
    """
    tables: tuple[Rows, ...]
    """Several columns one after another."""
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
        every = isinstance(arguments.beliefs, str) and arguments.beliefs == ALL
        beliefs = named_beliefs(BELIEFS if every else _listed(arguments.beliefs, "beliefs"))
        listed, named = _listed(arguments.mechanism, "mechanism"), arguments.mechanism != ALL
        noises, plain, channels, tables = list[Rows](), list[Rows](), list[tuple[str, Rows]](), list[Rows]()
        for mechanism in listed:
            check_mechanism(mechanism, (ALL, "noise", "channel", "sequential"))
            if isinstance(mechanism, Noise):
                noises.append(Rows(mechanism, named=True))
            elif isinstance(mechanism, Channel):
                number = 1 + sum(name != WITHIN_CAP for name, _ in channels)
                name = f"as its options say{f' {number}' * (number > 1)}"
                channels.append((name, Rows(mechanism, named=True)))
            elif isinstance(mechanism, Sequential) or mechanism in (ALL, "sequential"):
                tables.append(Rows(mechanism if isinstance(mechanism, Sequential) else Sequential(), named=named))
            if mechanism in (ALL, "noise"):
                families = FAMILIES if arguments.delta else FAMILIES[:1]
                noises += [Rows(noise, remaps=mechanism == ALL) for noise in families]
            if mechanism in (ALL, "channel"):
                plain = [Rows(Channel(radius=0, cap=None), named=named)]
                if any(isinstance(entry, Contamination) for entry in beliefs.values()):
                    both = (Channel(), Channel(sees="secret"))
                    channels = [*((WITHIN_CAP, Rows(one, named=named)) for one in both), *channels]
        return cls(
            arguments=arguments,
            epsilons=tuple(map(float, dict.fromkeys(epsilons))),
            noises=tuple(noises),
            plain=tuple(plain),
            channels=tuple(channels),
            tables=tuple(tables),
            beliefs=beliefs,
        )

    def calibrating(self, one: Alternative | None, /) -> CalibrateArguments:
        """The arguments of `calibrate` for an alternative; None for what all have in common."""
        shared: dict[str, Any] = {name: getattr(self.arguments, name) for name in _SHARED}
        if one is None:
            return CalibrateArguments(**shared, epsilon=self.epsilons[0], allow_zero_noise=True)
        own: dict[str, Any] = {"epsilon": one.epsilon, "beliefs": one.entries, "mechanism": one.options}
        return CalibrateArguments(**shared, **own, allow_zero_noise=True)


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
    """The alternatives for one column of numbers."""
    observed = BERNOULLI.name if two_values else KANTOROVICH.name
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            fitted, empirical = entry == "fitted", isinstance(entry, str) and entry == "empirical"
            if fitted and two_values:  # there is no other model of two values
                continue
            for theorem, rows in product(MODELS if fitted else (observed,), asked.noises):
                if rows.has(theorem):
                    yield Alternative(epsilon, name, entries_of(entry), rows, theorem, fitted or empirical)
            for rows in () if fitted else asked.plain:
                yield Alternative(epsilon, name, entries_of(entry), rows)
        for rows in asked.noises:  # for the range of the column, which is the domain where there is one
            if rows.has(BOUNDED.name):
                yield Alternative(epsilon, ANY_LAW, (Contamination(share=1.0),), rows, BOUNDED.name)
        for name, rows in asked.channels:
            yield Alternative(epsilon, name, ("empirical",), rows)


def of_labels(asked: Asked, /) -> Iterator[Alternative]:
    """The alternatives for one column of labels."""
    for epsilon in asked.epsilons:
        for (name, entry), rows in product(asked.beliefs.items(), asked.plain):
            if entry != "fitted":
                yield Alternative(epsilon, name, entries_of(entry), rows)
        for name, rows in asked.channels:
            yield Alternative(epsilon, name, ("empirical",), rows)


def of_columns(asked: Asked, /, *, columns: int) -> Iterator[Alternative]:
    """The alternatives for several columns: by joint loss, by a coupling of whole rows, by their ranges, one by one."""
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            if isinstance(entry, str) and entry == "fitted":
                continue
            for theorem, rows in product(("auto", KANTOROVICH.name), asked.noises):
                twice = theorem != "auto" and rows.has("auto") and columns > MOST_COLUMNS
                if rows.has(theorem) and not twice:  # of so many both words mean the coupling
                    yield Alternative(epsilon, name, entries_of(entry), rows, theorem)
        for rows in asked.noises:
            if rows.has(BOUNDED.name):
                yield Alternative(epsilon, ANY_LAW, ("empirical",), rows, BOUNDED.name)
        for rows in asked.tables:
            yield Alternative(epsilon, NETWORK, ("fitted",), rows, "sequential")
