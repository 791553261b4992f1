"""Releases that refine one another, among others: each chain is its last release."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import CalibrationError
from puffer_frames.papers.catalogue import PUBLISHED_FOR


def without_refined(certificates: Sequence[Certificate], /) -> list[Certificate]:
    """The releases that none of the others refines; one that is there twice is there once.

    Raises
    ------
    CalibrationError
        For two refinements of one release: both were drawn given its noise, and nothing is known of them together.
    """
    refined = {link["fingerprint"] for one in certificates for link in one.refines}
    left, seen = list[Certificate](), dict[str, Certificate]()
    for one in certificates:
        if one.fingerprint and one.fingerprint in refined:
            continue
        before = [seen[link["fingerprint"]] for link in one.refines if link["fingerprint"] in seen]
        # a draw that was interrupted has no fingerprint: nobody knows that it is the same as another one
        if any(not one.fingerprint or other.fingerprint != one.fingerprint for other in before):
            raise CalibrationError(
                "the releases",
                rule="ones of which a joint guarantee is known",
                got="two refinements of one release",
                hint="Refine the latest release of a chain; withdraw a refinement that was given to nobody.",
            )
        seen |= {link["fingerprint"]: one for link in one.refines}
        if not before:
            left.append(one)
    return left


def rounding_cost(certificate: Certificate, name: str, /) -> Fraction:
    """What rounding the values of a column to the grid of the first release costs of epsilon, at most."""
    if not certificate.scales.get(name):
        return Fraction(PUBLISHED_FOR.rounding[0])  # more than a label costs
    first = certificate.refines[0]["scales"] if certificate.refines else certificate.scales
    return Fraction(PUBLISHED_FOR.rounding[0]) * Fraction(first[name]) / Fraction(certificate.scales[name])
