"""The order of fractions of long integers, against exact fractions."""

from fractions import Fraction

import numpy as np
from conftest import sweep

from puffer_frames.priors.transport import ranks


def a_total(rng):
    return int(
        rng.choice(
            np.array(
                [
                    int(rng.integers(1, 30)),
                    int(rng.integers(1, 2**62)),
                    int.from_bytes(rng.bytes(400), "big") + 1,
                    7 ** int(rng.integers(1, 300)),
                    2 ** int(rng.integers(1, 400)),
                ],
                dtype=object,
            )
        )
    )


def numerators(rng, total):
    """Near 0, 1, a third and a half, and next to such numbers of other totals."""
    found = {total}
    for _ in range(int(rng.integers(0, 12))):
        tiny = Fraction(1, 2 ** int(rng.integers(1, 500)))
        shares = [Fraction(int(rng.integers(1, 6)), 6), tiny, 1 - tiny, Fraction(float(rng.uniform())), Fraction(1, 2)]
        number = int(shares[rng.integers(len(shares))] * total) + int(rng.integers(-1, 2))
        if 1 <= number <= total:
            found.add(number)
    return np.array(sorted(found), dtype=object)


@sweep(400, 20_000)
def test_ranks_are_those_of_exact_fractions(count):
    rng = np.random.default_rng(5)
    for case in range(count):
        totals = [a_total(rng) for _ in range(int(rng.integers(1, 6)))]
        lists = [(numerators(rng, total), total) for total in totals]
        values = [Fraction(int(number), total) for numbers, total in lists for number in numbers]
        place = {value: k for k, value in enumerate(sorted(set(values)))}
        assert np.concatenate(ranks(lists)).tolist() == [place[value] for value in values], case


def test_fractions_that_logarithms_of_forty_places_cannot_tell_apart():
    n = 3**200
    one, other = np.array([n // 7, n // 5, n]), np.array([n // 7 + 1, n // 5, n])
    assert [r.tolist() for r in ranks([(one, n), (other, n)])] == [[0, 2, 3], [1, 2, 3]]
    assert [r.tolist() for r in ranks([(one * 2, 2 * n), (one * 3, 3 * n)])] == [[0, 1, 2], [0, 1, 2]]
