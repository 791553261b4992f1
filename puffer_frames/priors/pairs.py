"""The pairs of secrets that must be indistinguishable, also of several secret columns each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.numbers.arguments import is_array
from puffer_frames.priors.prior import Prior, Secret, check_priors

Pair: TypeAlias = tuple[Secret, Secret]
Pairs: TypeAlias = Literal["all"] | tuple[Pair, ...]
ProtectedPairs: TypeAlias = Pairs | Literal["each"]
"""Pairs, or the word for every pair of values of each secret column by itself."""


def listed_pairs(pairs: Any, /) -> Any:
    """Pairs that can be read more than once and are not the caller's, of an array as plain numbers and texts."""
    if is_array(pairs):
        return np.asarray(pairs).tolist()
    return list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, (str, Mapping)) else pairs


def check_pairs(
    pairs: str | Iterable[Sequence[Secret]], secrets: Sequence[Secret], /, *, nulls: str = "raise"
) -> Pairs:
    """Return "all", or the given unordered pairs without repetitions.

    - `secrets` (sequence): The secrets that have a prior.
    - `nulls`: What became of rows with missing values: with "drop" they may be all that a secret had.
    Raises ArgumentError for an unknown secret, a pair of equal secrets, no pair at all, or fewer than two secrets;
    ArgumentTypeError where `pairs` is not a list of pairs.
    """
    if len(secrets) < 2:
        raise ArgumentError(
            "the secret",
            rule="of at least two different values",
            got=f"{len(secrets)}" + " in the rows that are left without missing values" * (nulls == "drop"),
            hint="Rows with a missing value, or with a code of null_values, are left out: fill the gaps, name fewer "
            "codes, or leave out the column that lacks values."
            if nulls == "drop"
            else "With one value there is nothing to hide: choose another column.",
        )
    if isinstance(pairs, str):
        if pairs == "all":
            return "all"
        raise _not_pairs(repr(pairs))
    known = {secret: secret for secret in secrets}
    listed: dict[frozenset[Secret], Pair] = {}
    try:
        given = [pair if isinstance(pair, str) else tuple(pair) for pair in pairs]
        hash(tuple(given))
    except TypeError:
        raise _not_pairs(f"a {type(pairs).__name__} of something else") from None
    for pair in given:
        if isinstance(pair, str) or len(pair) != 2:
            raise _not_pairs("an entry that is not a pair")
        for secret in pair:
            if secret not in known:
                raise _unknown(secret, secrets)
        first, second = known[pair[0]], known[pair[1]]
        if first == second:
            raise ArgumentError(
                "a pair",
                rule="two different secrets",
                got=f"{first!r} twice",
                hint="Leave it out: a secret is not distinguished from itself.",
            )
        listed.setdefault(frozenset((first, second)), (first, second))
    if not listed:
        raise _not_pairs("no pair")
    return tuple(listed.values())


def pairs_of(priors: Mapping[Secret, Prior], pairs: str | Iterable[Sequence[Secret]], /) -> Pairs:
    """`check_pairs` of the secrets of some priors.

    Raises ArgumentError as `check_pairs`; ArgumentTypeError as `check_pairs`, and where `priors` is not a mapping of
    secrets to priors.
    """
    check_priors_of(priors, "secrets")
    return check_pairs(pairs, list(priors))


def check_priors_of(priors: object, whose: str, /) -> None:
    """Raise ArgumentTypeError unless it is a mapping of somebody to priors."""
    if not isinstance(priors, Mapping):
        raise ArgumentTypeError(
            "priors",
            rule=f"a mapping of {whose} to priors",
            got=f"a {type(priors).__name__}",
            hint='Write {"a": Prior.empirical(values), "b": Prior.empirical(others)}.',
        )
    check_priors(priors.values())


def _not_pairs(got: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        "pairs",
        rule='"all" or a list of pairs of secret values',
        got=got,
        hint='Write pairs=[("a", "b")], or leave it out for all pairs.',
    )


def _unknown(secret: Secret, secrets: Sequence[Secret]) -> ArgumentError:
    by_name = {str(s): s for s in secrets}
    near = [by_name[name] for name in get_close_matches(str(secret), by_name, n=3)] or list(secrets)[:5]
    shown = ", ".join(repr(s) for s in near)
    return ArgumentError(
        "every secret of pairs",
        rule="a value of the secret with a prior",
        got=repr(secret),
        hint=f"Known values are, for example, {shown}.",
    )


Groups = Mapping[Secret, Sequence[Secret]]
"""Per column and value, as a tuple, the joint values that have it."""


def by_column(joint: Iterable[Secret], columns: Sequence[str], /) -> Groups:
    """The joint values that have each value of each column."""
    groups, secrets = dict[Secret, list[Secret]](), list(joint)
    for k, name in enumerate(columns):
        for secret in secrets:
            groups.setdefault((name, cast(tuple[Any, ...], secret)[k]), []).append(secret)
    return groups


def pairs_within(groups: Groups, /) -> Pairs:
    """All pairs of values of one column; raises ArgumentError for a column with one value."""
    values: dict[Any, list[Secret]] = {}
    for secret in groups:
        values.setdefault(cast(tuple[Any, ...], secret)[0], []).append(secret)
    for name, found in values.items():
        if len(found) < 2:
            raise ArgumentError(
                f"the secret column {name!r}",
                rule="of at least two different values",
                got=f"{len(found)}",
                hint="With one value there is nothing to hide: leave the column out of secret.",
            )
    return tuple(pair for found in values.values() for pair in combinations(found, 2))
