"""The releases that a comparison sets side by side: every mechanism, noise, theorem and belief that may apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.arguments import CalibrateArguments
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.noise.families import noise_family
from puffer_frames.noise.family import Noise
from puffer_frames.numbers.arguments import check_word
from puffer_frames.numbers.target import Target
from puffer_frames.papers.catalogue import BERNOULLI, BOUNDED, GAUSSIAN, KANTOROVICH, MIXTURE, THEOREMS, TRANSLATION
from puffer_frames.scales.beliefs import ONLY
from puffer_frames.scales.joint.measured_rows import MOST_COLUMNS
from puffer_frames.scales.learned import Contamination, LearnedBelief
from puffer_frames.verbs.requests.arguments import CompareArguments

ALL = "all"
ANY_LAW = "any law"
WITHIN_CAP = "contaminated, any law within 8"
"""The guarantee of a channel whose options are left out."""
SEEING = "channel that sees the secret"
MODELS = (TRANSLATION.name, GAUSSIAN.name, MIXTURE.name)
"""Theorems that fit a model."""
BELIEFS = ("fitted", "empirical", Contamination(), "population")
MECHANISMS = ("noise", "remap", "channel")
_LISTS = ("mechanism", "theorem", "noise")
_SHARED = ("secret", "public", "secrets", "given", "unit", "releases", "pairs", "nulls", "domain", "merge_rare")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One way to release the columns."""

    epsilon: float
    belief: str
    """What the guarantee is under, in a word."""
    entries: tuple[Any, ...]
    """The same as the argument `beliefs`."""
    mechanism: str
    """"noise" (with its remap, where that is asked for), "channel", or SEEING."""
    remaps: bool = False
    """Whether the posterior median after this noise is a further row."""
    noises: bool = True
    """Whether the noise alone is a row."""
    channel: Channel | None = None
    noise: Noise | str = "laplace"
    theorem: str = "auto"
    quoted: bool = True
    """Whether the theorem has a condition for this belief."""
    named: bool = False
    """Whether it was asked for by name: then a row says why it does not apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The lists of a comparison, checked."""

    arguments: CompareArguments
    epsilons: tuple[float, ...]
    noises: tuple[Noise, ...]
    mechanisms: tuple[Any, ...]
    theorems: tuple[str, ...]
    """Empty for all."""
    beliefs: Mapping[str, Any]
    """By name."""
    listed: frozenset[str]
    """Which of mechanism, theorem and noise were given."""

    @classmethod
    def of(cls, arguments: CompareArguments, /) -> Asked:
        """Check the lists.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For an epsilon, noise, mechanism or theorem that is none, and for an empty list.
        """
        epsilons = _listed(arguments.epsilon, "epsilon")
        for epsilon in epsilons:
            Target.of(epsilon, arguments.delta)
        mechanisms = MECHANISMS if arguments.mechanism == ALL else _listed(arguments.mechanism, "mechanism")
        for mechanism in mechanisms:
            if not isinstance(mechanism, Channel):
                check_word(mechanism, "mechanism", MECHANISMS)
        theorems = () if arguments.theorem == ALL else _listed(arguments.theorem, "theorem")
        for theorem in theorems:
            check_word(theorem, "theorem", ("auto", *THEOREMS))
        every = isinstance(arguments.beliefs, str) and arguments.beliefs == ALL
        defaults = {each.name: each.default for each in fields(CompareArguments)}
        listed = frozenset(name for name in _LISTS if getattr(arguments, name) is not defaults[name])
        noises = tuple(dict.fromkeys(map(noise_family, _listed(arguments.noise, "noise"))))
        if "noise" not in listed:
            noises = tuple(noise for noise in noises if arguments.delta or not noise.needs_delta)
        return cls(
            arguments=arguments,
            epsilons=tuple(map(float, dict.fromkeys(epsilons))),
            noises=noises,
            mechanisms=tuple(mechanisms),
            theorems=tuple(theorems),
            beliefs=named_beliefs(BELIEFS if every else _listed(arguments.beliefs, "beliefs")),
            listed=listed,
        )

    def calibrating(self, one: Alternative | None, /) -> CalibrateArguments:
        """The arguments of `calibrate` for an alternative; None for what all have in common."""
        shared: dict[str, Any] = {name: getattr(self.arguments, name) for name in _SHARED}
        shared |= {"epsilon": self.epsilons[0] if one is None else one.epsilon}
        shared |= {"delta": self.arguments.delta, "allow_zero_noise": True}
        if one is None:
            return CalibrateArguments(**shared, noise=self.noises[0])
        if one.channel is not None:
            return CalibrateArguments(**shared, beliefs=one.entries, mechanism=one.channel)
        own: dict[str, Any] = {"weights": self.arguments.weights} if one.theorem == "auto" else {}
        own |= {"components": self.arguments.components} if one.theorem == MIXTURE.name else {}
        return CalibrateArguments(
            **shared,
            **own,
            beliefs=one.entries,
            mechanism=one.mechanism if one.noises else "remap",  # type: ignore[arg-type]
            noise=one.noise,  # type: ignore[arg-type]
            theorem=one.theorem,  # type: ignore[arg-type]
            calibration="theorem" if one.theorem == BOUNDED.name else "exact",
        )

    @property
    def names_noise(self) -> bool:
        """Whether noises or theorems were listed."""
        return bool(self.listed & {"noise", "theorem"})

    def has(self, theorem: str, /) -> bool:
        """Whether rows of this theorem are asked for."""
        return not self.theorems or theorem in self.theorems or "auto" in self.theorems

    @property
    def noisy(self) -> dict[str, Any]:
        """Whether noise, and its remap, are rows."""
        return {"noises": "noise" in self.mechanisms, "remaps": "remap" in self.mechanisms}


def _listed(entries: Any, name: str) -> tuple[Any, ...]:
    """One entry, or several; raises ArgumentError for none."""
    alone = isinstance(entries, (str, Mapping, LearnedBelief, Noise, Channel)) or not isinstance(entries, Iterable)
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
            theorems = MODELS if fitted else (observed,)
            for theorem, noise in product(theorems, asked.noises):
                if any(asked.noisy.values()) and (asked.has(theorem) or not (fitted or empirical)):
                    yield Alternative(
                        epsilon=epsilon,
                        belief=name,
                        entries=entries_of(entry),
                        mechanism="noise",
                        noise=noise,
                        theorem=theorem,
                        quoted=fitted or empirical,
                        named=asked.names_noise,
                        **asked.noisy,
                    )
            if not fitted and "channel" in asked.mechanisms:
                yield _plain_channel(asked, epsilon, name, entry)
        if asked.has(BOUNDED.name) and any(asked.noisy.values()):
            yield from _for_ranges(asked, epsilon)
        yield from _own_channels(asked, epsilon)


def of_labels(asked: Asked, /) -> Iterator[Alternative]:
    """Those of one column of labels."""
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            if "channel" in asked.mechanisms and entry != "fitted":
                yield _plain_channel(asked, epsilon, name, entry)
        yield from _own_channels(asked, epsilon)


def of_columns(asked: Asked, /, *, columns: int, labels: bool) -> Iterator[Alternative]:
    """Those of several columns: by their joint loss, by a coupling of whole rows, by their ranges."""
    whole = [word for word in ("auto", KANTOROVICH.name) if not asked.theorems or word in asked.theorems]
    if columns > MOST_COLUMNS:  # of so many both words mean the coupling
        del whole[1:]
    how: dict[str, Any] = {"mechanism": "auto" if labels else "noise", "named": asked.names_noise} | asked.noisy
    if not any(asked.noisy.values()):
        return
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            if isinstance(entry, str) and entry == "fitted":
                continue
            for theorem, noise in product(whole, asked.noises):
                yield Alternative(
                    epsilon=epsilon, belief=name, entries=entries_of(entry), noise=noise, theorem=theorem, **how
                )
        for noise in asked.noises if not asked.theorems or BOUNDED.name in asked.theorems else ():
            yield Alternative(
                epsilon=epsilon, belief=ANY_LAW, entries=("empirical",), noise=noise, theorem=BOUNDED.name, **how
            )


def _for_ranges(asked: Asked, epsilon: float) -> Iterator[Alternative]:
    """Noise for the range of one column, which is the domain where there is one."""
    for noise in asked.noises:
        yield Alternative(
            epsilon=epsilon,
            belief=ANY_LAW,
            entries=(Contamination(share=1.0),),
            mechanism="noise",
            noise=noise,
            theorem=BOUNDED.name,
            named=asked.names_noise,
            **asked.noisy,
        )


def _plain_channel(asked: Asked, epsilon: float, name: str, entry: Any) -> Alternative:
    """The channel that has the guarantee under one belief and no other."""
    return Alternative(
        epsilon=epsilon,
        belief=name,
        entries=entries_of(entry),
        mechanism="channel",
        channel=Channel(radius=0, cap=None),
        theorem="channel",
        named="mechanism" in asked.listed,
    )


def _own_channels(asked: Asked, epsilon: float) -> Iterator[Alternative]:
    """The channels of the default options, of both kinds, and those whose options were given."""
    given = [one for one in asked.mechanisms if isinstance(one, Channel)]
    wide = any(isinstance(entry, Contamination) for entry in asked.beliefs.values())
    both = (Channel(), Channel(sees="secret")) if "channel" in asked.mechanisms and wide else ()
    listed = [(WITHIN_CAP, one) for one in both]
    listed += [(f"as its options say{' ' + str(k) if k > 1 else ''}", one) for k, one in enumerate(given, 1)]
    for name, options in listed:
        yield Alternative(
            epsilon=epsilon,
            belief=name,
            entries=("empirical",),
            mechanism=SEEING if options.sees_secret else "channel",
            channel=options,
            theorem="channel",
            named="mechanism" in asked.listed,
        )
