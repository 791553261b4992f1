"""When each sentence of a certificate appears, by what was asked for.

The certificates of all cases are held against this table.
"""

from certificate_cases import certificate_of_case

from puffer_frames import Channel, Population

GROUPS = ("a", "b", "c")
SLOW, WRONG = "series, slow", "release, wrong side knowledge"
ELSEWHERE = ("release, nothing but side knowledge", "rows, nothing but another table")
DRIFTED = (
    "batch of rows, delta",
    "batch that drifted",
    "batch of labels that drifted",
    "batch of rows",
    "batch of rows that drifted",
)
SHIFTED = ("labels, brittle", "labels, brittle mapping", "two columns of labels, channel, declared")
WELL_REMAPPED = ("release, remap of no noise", "release, remap of cells")
NUMBERS = ("numbers, channel", "numbers, channel, mean kept", "numbers, channel, declared")
NO_NOISE = ("release, no noise", "release, remap of no noise", WRONG)


def is_release(c):
    return c["verb"] in ("privatize", "release")


def is_sum(c):
    return c["verb"] == "aggregate"


def is_series(c):
    return c["verb"] == "histogram"


def channel(c):
    """Whether a channel takes the place of noise, by the kind of the column or by the word."""
    return is_release(c) and (c["public"] in ("hobby", "pet") or by_channel(c))


def is_useless(c, name):
    """Whether the median of the rows of the plan is nearer to them than noise is."""
    if channel(c) or c.get("mechanism") == "remap" or name == "release, dates":
        return name == "columns, remap"
    for column, error in certificate_of_case(name).expected_error.items():
        values = c["frame"][column].dropna().clip(*c.get("domain", {}).get(column, (None, None)))
        if error > (values - values.median()).abs().mean():
            return True
    return False


def by_channel(c):
    return c.get("mechanism") == "channel" or isinstance(c.get("mechanism"), Channel)


def declared(c):
    """Whether all levels of all public columns are."""
    names = [c["public"]] if isinstance(c["public"], str) else c["public"]
    return all(isinstance(c.get("domain", {}).get(name), list | range) for name in names)


def options(c):
    return c["mechanism"] if isinstance(c.get("mechanism"), Channel) else Channel()


def believed(c):
    """Whether the observed frequencies are among the beliefs of a release through a channel."""
    asked = c.get("beliefs", "fitted")
    entries = list(asked) if isinstance(asked, tuple) else [asked]
    if "only" in [entry for entry in entries if isinstance(entry, str)]:
        return False
    words = [entry for entry in entries if isinstance(entry, str) and entry != "population"]
    return bool(words) or all(isinstance(entry, dict) for entry in entries)


def some_radius(c):
    radius = options(c).radius
    return any(radius.values()) if isinstance(radius, dict) else bool(radius)


def is_noisy(c):
    return is_release(c) and not channel(c)


def columns(c):
    """Several columns by the rule of bounded columns."""
    return is_release(c) and isinstance(c["public"], list) and not rows(c) and not channel(c)


def rows(c):
    """Several columns by their joint loss."""
    several = isinstance(c.get("public"), list) and not channel(c)
    return several and c.get("theorem", "auto") != "bounded" and "noise" not in c


def coupled(c):
    return rows(c) and c.get("theorem") == "kantorovich"


def by_delta(c):
    """Whether whole rows are held to a delta; the tables of all cases are small enough for that."""
    return rows(c) and not coupled(c) and c.get("delta", 0) > 1e-9


def strata(c):
    return is_release(c) and "given" in c


def unit(c, assumed=None):
    """Whether several rows of a unit are protected together, and perhaps what is assumed of them."""
    return is_release(c) and "unit" in c and assumed in (None, c["unit"].rows)


def composed(c):
    """Whether the loss of all rows of a unit is measured together."""
    known = unit(c, "independent") and (isinstance(c["public"], str) or (rows(c) and not coupled(c)))
    return known and c.get("delta", 0) > 0 and c.get("calibration") != "theorem"


def copies(c):
    return c.get("releases", 1) > 1 or unit(c, "repeated")


def by_law(c):
    whole_rows = c.get("unit", "rows") is None and c.get("protect", "presence") == "presence"
    return is_sum(c) and c.get("protect", "presence") in ("presence", "replacement") and not whole_rows


def summed(c):
    return is_sum(c) and c.get("query") != "count"


def given(c):
    return is_sum(c) and isinstance(c.get("laws"), dict)


def all_rows(c):
    return is_sum(c) and c.get("contribution", "rows") == "rows" and c["unit"] is not None


def network(c):
    return "network" in c


def estimated(c):
    return not group(c) and "estimated" in (str(c.get("chain")), str(c.get("initial")))


def group(c):
    return is_series(c) and c.get("mechanism") == "group"


def broken(c):
    return is_series(c) and (len(c["frame"]) == 57 or c.get("nulls") == "drop")


def pieces(c):
    return c.get("gaps") == "independent"


def several(c):
    return is_sum(c) and (c.get("query") in (("sum", "count"),) or (c.get("query") == "mean" and "divisor" not in c))


def population(c):
    asked = c.get("beliefs", c.get("laws", c.get("chain", ())))
    return any(
        isinstance(one, Population) or (isinstance(one, str) and one == "population")
        for one in (asked if isinstance(asked, (tuple, list)) else [asked])
    )


# key of a sentence: when it appears, by what was asked for (and the name of the case)
TABLE = {
    "warning-seed": lambda c, name: "rng" in c,
    "records": lambda c, name: is_release(c) and not unit(c),
    "given": lambda c, name: strata(c),
    "given-alone": lambda c, name: strata(c),
    "given-lacking": lambda c, name: name == "release, given, lacking",
    "strata-unbound": lambda c, name: name == "release, given, lacking",
    "strata-merged": lambda c, name: "merged" in name,
    "strata-small": lambda c, name: name == "release, given, small",
    "unit-independent": lambda c, name: unit(c, "independent"),
    "unit-repeated": lambda c, name: unit(c, "repeated"),
    "unit-any": lambda c, name: unit(c, "any"),
    "unit-sampled": lambda c, name: unit(c) and c["unit"].over == "sample",
    "unit-rows-most": lambda c, name: unit(c),
    "unit-numbers": lambda c, name: unit(c),
    "measured-of-one": lambda c, name: unit(c) and not unit(c, "repeated") and not composed(c),
    "measured-of-unit": lambda c, name: composed(c),
    "measured-of-all": lambda c, name: copies(c),
    "refined-order": lambda c, name: not c.get("noted", True),
    "refines": lambda c, name: "refined" in c,
    "null-values": lambda c, name: "null_values" in c,
    "shuffled": lambda c, name: "shuffle" in c,
    "planned-releases": lambda c, name: "releases" in c,
    "randomised": lambda c, name: name == "rows, labels",
    "joint-coupled": lambda c, name: coupled(c),
    "adds-up-rows": lambda c, name: coupled(c),
    "beliefs": lambda c, name: is_release(c),
    "per-record": lambda c, name: is_release(c) and not unit(c),
    "other-knowledge": lambda c, name: is_release(c) and not columns(c),
    "kept-unread": lambda c, name: name == "release, kept objects",
    "kept-tells": lambda c, name: name in ("release, kept copy", "labels, kept copy"),
    "order-tells": lambda c, name: name in ("release, sorted", "labels, sorted"),
    "other-columns": lambda c, name: is_release(c),
    "learned": lambda c, name: (
        is_noisy(c)
        or (by_law(c) and summed(c) and not given(c))
        or all_rows(c)
        or (is_series(c) and estimated(c))
        or (population(c) and not channel(c))
    ),
    "population-rows": lambda c, name: (is_noisy(c) or channel(c)) and population(c),
    "channel-population": lambda c, name: channel(c) and population(c),
    "population": lambda c, name: is_noisy(c) and population(c),
    "population-units": lambda c, name: is_sum(c) and population(c),
    "unit-rows": lambda c, name: is_sum(c) and population(c),
    "population-chain": lambda c, name: is_series(c) and population(c),
    "one-matrix": lambda c, name: is_series(c) and population(c),
    "one-confidence": lambda c, name: population(c),
    "clipped-to-range": lambda c, name: name in ("release, population", "batch, population", "release, wider beliefs"),
    "wider": lambda c, name: is_release(c),
    "few-rows": lambda c, name: name == "release, few rows",
    "few-rows-here": lambda c, name: False,  # of earlier versions
    "rare-levels": lambda c, name: name.startswith("labels, rare"),
    "weak-epsilon": lambda c, name: c["epsilon"] > 10,
    "weak-delta": lambda c, name: c.get("delta", 0) * len(c["frame"]) >= 1 and is_release(c),
    "from-file": lambda c, name: False,
    "batches": lambda c, name: False,
    "other-rows": lambda c, name: "batch" in c and not channel(c),
    "observed-exceeds": lambda c, name: name in (WRONG, *ELSEWHERE, *DRIFTED),
    "range-exceeds": lambda c, name: False,
    "observed-unknown": lambda c, name: False,
    "absent-secrets": lambda c, name: False,  # of earlier versions
    "joint-exact": lambda c, name: rows(c) and not coupled(c) and not by_delta(c),
    "joint-delta": lambda c, name: by_delta(c),
    "joint-any-law": lambda c, name: rows(c) and not strata(c),
    "joint-rule": lambda c, name: columns(c),
    "fit-left-out": lambda c, name: False,
    "fit-decides": lambda c, name: False,
    "fit-refuted": lambda c, name: False,
    "shares": lambda c, name: columns(c),
    "secrets-each": lambda c, name: c.get("secrets") == "each",
    "listed-pairs": lambda c, name: is_release(c) and "pairs" in c,
    "kept": lambda c, name: "keep" in c or c.get("index") == "keep",
    "nulls": lambda c, name: c.get("nulls") == "drop",
    "cells": lambda c, name: is_noisy(c) and len(c["frame"]) > 131_072,
    "no-noise": lambda c, name: name in (*NO_NOISE, "release, none needed"),
    "clipped": lambda c, name: is_noisy(c) and "domain" in c,
    "clipped-answers": lambda c, name: is_sum(c) and "domain" in c,
    "remap": lambda c, name: c.get("mechanism") == "remap" and name != "release, remap of no noise",
    "remap-values": lambda c, name: c.get("mechanism") == "remap" and name != "release, remap of no noise",
    "after": lambda c, name: "clip" in c or "round" in c or name == "release, dates",
    "dates": lambda c, name: name == "release, dates",
    "units": lambda c, name: is_sum(c) or unit(c),
    "draw": lambda c, name: summed(c) and not all_rows(c) and not given(c),
    "given-law": lambda c, name: given(c),
    "counted": lambda c, name: is_sum(c) and (c.get("query") == "count" or several(c)),
    "useless": lambda c, name: is_release(c) and is_useless(c, name),
    "useless-strata": lambda c, name: False,
    "remap-shares": lambda c, name: (c.get("mechanism") == "remap" and name not in WELL_REMAPPED) or name in NUMBERS,
    "remap-means": lambda c, name: name == "columns, remap",
    "after-bounds": lambda c, name: name == "columns, remap",
    "after-rounding": lambda c, name: False,
    "refuted": lambda c, name: name == "release, refuted theorem",
    "all-rows": lambda c, name: all_rows(c) and by_law(c) and summed(c),
    "equal-rows": lambda c, name: all_rows(c) and not by_law(c),
    "law": lambda c, name: by_law(c) and summed(c) and not given(c),
    "groups": lambda c, name: "by" in c,
    "divisor": lambda c, name: "divisor" in c,
    "quotient": lambda c, name: is_sum(c) and c.get("query") == "mean" and "divisor" not in c,
    "shared": lambda c, name: (several(c) and not c.get("allow_zero_noise")) or c.get("per") == "both",
    "without-noise": lambda c, name: "one constant" in name or name == "sum and count that needs no noise",
    "upper-bound": lambda c, name: name == "sum, all rows of both signs",
    "pure-only": lambda c, name: rows(c) and c.get("delta", 0) > 0 and not by_delta(c),
    "other-units": lambda c, name: c.get("protect") == "presence" and "pairs" in c,
    "class": lambda c, name: by_law(c) and summed(c) and not given(c) and not all_rows(c) and c["unit"] is not None,
    "other-answers": lambda c, name: not is_release(c),
    "integer-noise": lambda c, name: c.get("integer", False),
    "grid": lambda c, name: not c.get("integer") and name not in NO_NOISE and not channel(c),
    "network": lambda c, name: network(c),
    "range-of-networks": lambda c, name: name == "networks in a range",
    "several-networks": lambda c, name: name == "networks",
    "nodes-public": lambda c, name: network(c),
    "per-node": lambda c, name: network(c),
    "impossible-table": lambda c, name: name in ("sum, given laws", "network, a sure node"),
    "listed-states": lambda c, name: name == "network, listed pairs",
    "impossible-states": lambda c, name: name == "network, a sure node",
    "chain": lambda c, name: is_series(c) and not group(c) and not network(c),
    "several-chains": lambda c, name: name in ("series, several chains", "series, a class of chains"),
    "any-dependence": lambda c, name: group(c),
    "no-gaps": lambda c, name: is_series(c) and not group(c) and not broken(c) and not network(c),
    "bridged": lambda c, name: broken(c) and not pieces(c) and not group(c),
    "independent-gaps": lambda c, name: broken(c) and pieces(c),
    "series-public": lambda c, name: is_series(c) and not network(c),
    "states-read": lambda c, name: is_series(c) and not network(c) and "states" not in c,
    "lipschitz": lambda c, name: is_series(c),
    "derived-count": lambda c, name: is_series(c) and len(c["frame"]) != 200 and not {"bins", "query"} & set(c),
    "group-noise": lambda c, name: name in (SLOW, "network, quilts"),
    "adds-up-series": lambda c, name: is_series(c) and c.get("mechanism", "exact") not in ("exact", "transport"),
    "stable-counts": lambda c, name: name == "series of three states, stable noise",
    "per-time": lambda c, name: is_series(c) and not network(c),
    "impossible-starts": lambda c, name: name == "series, sure start",
    "mean-of-series": lambda c, name: c.get("query") == "mean" and is_series(c),
    "frequencies": lambda c, name: c.get("counts") is False,
    "channel": lambda c, name: channel(c) and isinstance(c["public"], str),
    "channel-rows": lambda c, name: channel(c) and not isinstance(c["public"], str),
    "channel-exact": lambda c, name: channel(c),
    "channel-learned": lambda c, name: channel(c),
    "channel-loose": lambda c, name: name in ("columns, remap", "batch, remap"),
    "channel-tail": lambda c, name: False,
    "response-shares": lambda c, name: False,
    "channel-lost": lambda c, name: False,
    "channel-shares": lambda c, name: name in SHIFTED,
    "channel-draw": lambda c, name: channel(c),
    "channel-radius": lambda c, name: channel(c) and some_radius(c) and believed(c),
    "channel-cap": lambda c, name: channel(c) and options(c).cap is not None,
    "channel-reader": lambda c, name: name == "labels, seeing the secret",
    "channel-reader-any": lambda c, name: name == "labels, seeing the secret, no caps",
    "channel-unlike": lambda c, name: channel(c) and options(c).sees == "secret",
    "channel-again-capped": lambda c, name: channel(c) and options(c).cap is not None,
    "channel-again": lambda c, name: channel(c) and options(c).cap is None,
    "channel-brittle": lambda c, name: channel(c) and options(c).cap is None,
    "channel-figures": lambda c, name: name == "labels, published",
    "channel-levels": lambda c, name: channel(c) and (not declared(c) or "merge_rare" in c),
    "channel-matrix": lambda c, name: channel(c) and options(c).publish_matrix,
    "channel-other-rows": lambda c, name: channel(c) and "batch" in c and name != "batch of labels, other order",
    "channel-missing": lambda c, name: c.get("nulls") == "level",
    "channel-much-merged": lambda c, name: False,
    "channel-merged": lambda c, name: name in ("labels, rare", "labels, rare, declared"),
    "channel-cells": lambda c, name: name == "numbers, channel of cells",
    "channel-clipped": lambda c, name: channel(c) and any(isinstance(of, tuple) for of in c.get("domain", {}).values()),
}
BY_MEASURE = {"adds-up", "one-release", "other-rows-again"}
"""These follow from the scale: see the tests below."""
