"""Messages of aggregates and histograms, of users and chains, and the calls that follow their hints."""

import numpy as np
import pandas as pd

from puffer_frames import MarkovChain, aggregate, binary_class, histogram
from puffer_frames.core import BayesianNetwork, Prior, smallest_scale, transport_plan
from puffer_frames.papers import (
    bernoulli_presence_scale,
    gaussian_presence_scale,
    presence_bound_scale,
    presence_scale,
    quilt_approx_scale,
    quilt_scale,
    sum_of_users,
    value_scale,
)

VISITS = pd.DataFrame(
    {
        "patient": list("aabbcc"),
        "visits": [1, 2, 2, 4, 0, 3],
        "town": list("xxxyyy"),
        "home": list("xxyyyy"),
        "day": pd.date_range("2026-01-01", periods=6),
    }
)
HALVES = VISITS.assign(visits=VISITS["visits"] / 2)
GAPS = VISITS.assign(patient=VISITS["patient"].where(VISITS.index > 0))
MANY = pd.DataFrame({"patient": np.repeat(range(500), 2), "visits": np.arange(1000) % 7})
LONG = pd.DataFrame({"patient": ["a"] * 8200 + ["b"], "visits": np.random.default_rng(0).normal(size=8201)})
ONE = pd.DataFrame({"patient": ["a"] * 3, "visits": [1, 2, 3]})
SERIES = pd.DataFrame({"time": range(12), "state": list("aabbabbbaabb"), "who": list("pq") * 6})
TURNS = SERIES.assign(state=list("ab") * 6)
APART = pd.DataFrame({"time": [*range(6)] * 2, "state": ["a"] * 6 + ["b"] * 6, "who": ["p"] * 6 + ["q"] * 6})
TWICE = pd.DataFrame({"time": [0, 1, 2] * 2, "state": list("aababb"), "who": list("pppqqq")})
NO_TIME = SERIES.assign(time=SERIES["time"].where(SERIES.index > 0))
NO_WHO = SERIES.assign(who=SERIES["who"].where(SERIES.index > 0))
NO_STATE = SERIES.assign(state=SERIES["state"].where(SERIES.index > 0))
EVERY_SECOND = SERIES.assign(state=SERIES["state"].where(SERIES.index % 2 == 0))
TEXT = SERIES.assign(time=SERIES["time"].astype(str))
ENDLESS = SERIES.assign(time=SERIES["time"].astype(float).replace(3.0, np.inf))
ALIKE = SERIES.assign(state="a")
MANY_GAPS = pd.DataFrame(
    {
        "unit": np.repeat(np.arange(25), 5),
        "time": [t for k in range(25) for t in (0, 1, 2, 3, 900 + k)],
        "state": list("aabba") * 25,
    }
)
LONGEST = pd.DataFrame({"time": [0, *range(2, 2101)], "state": list("ab") * 1050})
CHAIN = [[0.9, 0.1], [0.4, 0.6]]
HOME = BayesianNetwork.of({"ann": [0.9, 0.1], "ben": [[0.9, 0.1], [0.5, 0.5]]}, parents={"ben": ["ann"]})
CERTAIN = BayesianNetwork.of({"ann": [0.5, 0.5], "ben": [[0, 1], [1, 0]]}, parents={"ben": ["ann"]})
SURE = BayesianNetwork.of({"ann": [1.0, 0.0], "ben": [0.0, 1.0]})
ALONE = BayesianNetwork.of({"ann": [0.9, 0.1]})
THREE = BayesianNetwork.of({"ann": [0.2, 0.3, 0.5], "ben": [0.2, 0.3, 0.5]})
SURE_OF_THREE = BayesianNetwork.of({"ann": [0.5, 0.5, 0.0], "ben": [0.5, 0.5, 0.0]})
UNEVEN = BayesianNetwork.of({"ann": [0.5, 0.5], "ben": [0.2, 0.3, 0.5]})
PUPILS = pd.DataFrame({"who": ["ben", "ann"], "flu": ["no", "yes"], "age": [9, 9]})
STUCK = [[1.0, 0.0], [0.0, 1.0]]
NORMAL, PEAKS = Prior.gaussian(0, 1), Prior.mixture([0.5, 0.5], [0, 1], [1, 1])


def mixtures(many):
    """As many priors of two components."""
    return {k: Prior.mixture([0.5, 0.5], [k, k + 9], [1, 1 + k]) for k in range(many)}


def ask(frame=VISITS, **options):
    return lambda: aggregate(frame, **{"unit": "patient", "value": "visits", "epsilon": 0.5, **options})


def show(frame=SERIES, **options):
    return lambda: histogram(frame, **{"state": "state", "time": "time", "epsilon": 1.0, "chain": CHAIN, **options})


def count(frame=PUPILS, **options):
    return lambda: histogram(frame, **{"state": "flu", "unit": "who", "network": HOME, "epsilon": 1.0, **options})


def two(call, bad, good, *frame, **asked):
    """One call with either options."""
    return call(*frame, **asked, **bad), call(*frame, **asked, **good)


# name: (call that meets the message, call that follows its hint)
ANSWERS = {
    "protect": (ask(protect="all"), ask(protect="presence")),
    "query": (ask(query="median"), ask(query="sum")),
    "a count of values": (ask(query="count", protect="value", domain=(0, 9)), ask(query="count", protect="presence")),
    "a divisor of a sum": (ask(divisor=3), ask()),
    "a divisor of 0": (ask(query="mean", divisor=0), ask(query="mean", divisor=100)),
    "a mean without a divisor": two(ask, {}, {"divisor": 3}, query="mean", protect="replacement"),
    "contribution": (ask(contribution="row"), ask(contribution="draw")),
    "laws": (ask(laws="normal"), ask(laws="empirical")),
    "laws of some units": (
        ask(laws={"a": NORMAL, "b": NORMAL}),
        ask(laws={"a": NORMAL, "b": NORMAL, "c": Prior.empirical([3, 4])}),
    ),
    "nulls of an aggregate": (ask(nulls="fill"), ask(nulls="drop")),
    "integers with a delta": (ask(integer=True, delta=1e-6), lambda: ask(delta=1e-6)().round({"answer": 0})),
    "integers of halves": (ask(HALVES, integer=True), ask(HALVES)),
    "several units": (ask(unit=["patient", "town"]), ask(unit="patient")),
    "no value": (ask(value=None), ask(value="visits")),
    "text as the value": (ask(value="town"), ask(value="visits")),
    "dates as the value": (ask(value="day"), ask(VISITS.assign(day=VISITS["day"].dt.day), value="day")),
    "a column with two roles": (ask(value="patient"), ask(value="visits")),
    "a group called answer": (
        ask(VISITS.rename(columns={"home": "answer"}), by="answer"),
        ask(VISITS.assign(home=VISITS["patient"]), by="home"),
    ),
    "values that are not declared": (ask(protect="value"), ask(protect="value", domain=(0, 100))),
    "pairs of words": (ask(protect="value", pairs=["ab"]), ask(protect="value", pairs=[(3, 5)])),
    "values without absence": two(ask, {"pairs": [(5, 3)]}, {"pairs": [(5, None)]}, protect="value-or-absence"),
    "pairs of presence": (ask(pairs=[("a", "b")]), ask()),
    "a unit in two groups": (ask(by="town"), ask()),
    "groups of dates": (ask(by="day"), ask(VISITS.assign(day=VISITS["patient"].astype("category")), by="day")),
    "a unit that is missing": (ask(GAPS), ask(GAPS, nulls="drop")),
    "no largest contribution": (
        lambda: presence_bound_scale({0: NORMAL}, epsilon=1),
        lambda: presence_scale({0: NORMAL}, epsilon=1),
    ),
    "too many laws to replace": two(ask, {"contribution": "rows", "laws": "gaussian"}, {}, MANY, protect="replacement"),
    "unbounded laws of many units": (
        ask(MANY, laws=dict.fromkeys(range(500), NORMAL), noise="gaussian", delta=1e-6),
        ask(MANY, noise="gaussian", delta=1e-6),
    ),
    "one unit that is replaced": (ask(ONE, protect="replacement"), ask(ONE, protect="presence")),
    "too many sums of rows": two(ask, {"contribution": "rows"}, {"contribution": "draw"}, LONG, protect="replacement"),
    "too many secrets with a delta": (
        lambda: smallest_scale({k: Prior.empirical([k, 0]) for k in range(1, 10_002)}, epsilon=1, delta=1e-6),
        lambda: smallest_scale({k: Prior.empirical([k % 9, 0]) for k in range(1, 10_002)}, epsilon=1),
    ),
    "too many secrets of mixtures": (
        lambda: smallest_scale(mixtures(2001), epsilon=1),
        lambda: smallest_scale(mixtures(2001), epsilon=1, pairs=[(0, 1)]),
    ),
    "laws up to a radius": (
        ask(laws=dict.fromkeys("abc", Prior.empirical([1, 2], radius=0.5))),
        ask(laws=dict.fromkeys("abc", Prior.empirical([3, 6]))),
    ),
    "presence up to a radius": (
        lambda: presence_scale({0: Prior.empirical([1, 2], radius=0.5)}, epsilon=1),
        lambda: presence_scale({0: Prior.empirical([1, 2])}, epsilon=1),
    ),
    "a radius below 0": (lambda: Prior.empirical([1], radius=-1), lambda: Prior.empirical([1])),
    "no pair of values": (lambda: value_scale([], epsilon=1), lambda: value_scale([(0, 5)], epsilon=1)),
    "several components of a user": (
        lambda: gaussian_presence_scale({0: PEAKS}, epsilon=1, delta=0.1),
        lambda: presence_scale({0: PEAKS}, epsilon=1),
    ),
    "a sum of Gaussians": (lambda: sum_of_users([Prior.gaussian(0, 1)]), lambda: sum_of_users([Prior.bernoulli(0.5)])),
    "a probability above 1": (
        lambda: bernoulli_presence_scale(1.5, epsilon=1),
        lambda: bernoulli_presence_scale(0.5, epsilon=1),
    ),
    "a matrix of one row": (lambda: MarkovChain.of([0.5, 0.5]), lambda: MarkovChain.of(CHAIN)),
    "rows that do not sum to 1": (show(chain=[[0.9, 0.2], [0.4, 0.6]]), show()),
    "a probability below 0": (show(chain=[[1.1, -0.1], [0.4, 0.6]]), show()),
    "initial": (show(initial="start"), show(initial="any")),
    "an initial law of three": (show(initial=[0.2, 0.3, 0.5]), show(initial=[0.5, 0.5])),
    "a reducible chain": two(show, {}, {"initial": [0.5, 0.5]}, APART, unit="who", chain=STUCK),
    "a reducible chain and its mixing": (
        show(APART, unit="who", chain=STUCK, initial=[0.5, 0.5], mechanism="quilt-approx"),
        show(APART, unit="who", chain=STUCK, initial=[0.5, 0.5], mechanism="quilt"),
    ),
    "a class of no chain": (lambda: binary_class(0.7), lambda: binary_class(0.3)),
    "a length of 0": (
        lambda: quilt_scale(MarkovChain.of(CHAIN), length=0, epsilon=1),
        lambda: quilt_scale(MarkovChain.of(CHAIN), length=10, epsilon=1),
    ),
    "rule": (
        lambda: quilt_approx_scale(MarkovChain.of(CHAIN), length=10, epsilon=1, rule="best"),
        lambda: quilt_approx_scale(MarkovChain.of(CHAIN), length=10, epsilon=1, rule="tight"),
    ),
    "a matrix for a chain": (
        lambda: quilt_scale(CHAIN, length=10, epsilon=1),
        lambda: quilt_scale(MarkovChain.of(CHAIN), length=10, epsilon=1),
    ),
    "too long for an exact count": (show(LONGEST, mechanism="exact"), show(LONGEST, mechanism="quilt")),
    "an exact count of any start": (show(mechanism="exact", initial="any"), show(mechanism="quilt", initial="any")),
    "exact counts of three": (
        show(SERIES.assign(state=list("abcabcabcabc")), mechanism="exact", chain="estimated"),
        show(SERIES.assign(state=list("abcabcabcabc")), mechanism="exact", chain="estimated", bins=["a"]),
    ),
    "mechanism": (show(mechanism="markov"), show(mechanism="quilt")),
    "no mechanism to compare": (show(mechanism=[]), show(mechanism=["auto"])),
    "one entry": (show(mechanism="entry"), show(mechanism="quilt")),
    "neighbours that tell much": (show(mechanism="gk16"), show(mechanism="quilt")),
    "neighbours and delta": two(show, {"mechanism": "gk16"}, {"mechanism": "quilt"}, noise="gaussian", delta=1e-5),
    "compared with a ledger": (show(mechanism="all", ledger="book"), show(mechanism="all")),
    "per": (show(per="state"), show(per="pooled")),
    "query of a series": (show(query="median"), show(query="counts")),
    "a sum of words": (show(query="sum"), show(SERIES.assign(state=[1, 4] * 6), query="sum")),
    "a sum of counts of bins": (show(query="sum", bins=["a"]), show(bins=["a"])),
    "a mean and frequencies": (show(query="mean", counts=False), show(counts=False)),
    "a sum of very large numbers": (
        show(SERIES.assign(state=[1, 2**60] * 6), query="sum"),
        show(SERIES.assign(state=[1, 4] * 6), query="sum"),
    ),
    "a sum of one state": (
        show(SERIES.assign(state=5), query="sum", mechanism="group"),
        show(SERIES.assign(state=[1, 4] * 6), query="sum", mechanism="group"),
    ),
    "a plan of no priors": (
        lambda: transport_plan([1, 2], [2]),
        lambda: transport_plan(Prior.empirical([1, 2]), Prior.empirical([2])),
    ),
    "an exact sum": (show(query="sum", mechanism="exact"), show(SERIES.assign(state=[1, 4] * 6), query="sum")),
    "a network of another kind": (count(network={"ann": [0.5, 0.5]}), count()),
    "no network": (count(network=[]), count(network=[HOME])),
    "networks of different nodes": (count(network=[HOME, ALONE]), count(network=[HOME, HOME])),
    "pairs of states of a series": (show(pairs=[("a", "b")]), show()),
    "a pair of a state that there is not": (count(pairs=[("no", "so")]), count(pairs=[("no", "yes")])),
    "no pairs": (count(pairs="some"), count(pairs="all")),
    "a pair that no node may have": (
        count(network=SURE_OF_THREE, states=["no", "yes", "so"], pairs=[("no", "so")], mechanism="exact"),
        count(network=SURE_OF_THREE, states=["no", "yes", "so"], pairs=[("no", "yes")], mechanism="exact"),
    ),
    "a range of networks of different nodes": (lambda: HOME.to(ALONE), lambda: HOME.to(HOME)),
    "quilts for a range of networks": (
        count(network=HOME.to(HOME), mechanism="quilt"),
        count(network=[HOME, HOME, HOME], mechanism="quilt"),
    ),
    "several counts and a range of networks": (
        count(PUPILS.assign(flu=["no", "so"]), states=["no", "so", "yes"], network=THREE.to(THREE)),
        count(PUPILS.assign(flu=["no", "so"]), states=["no", "so", "yes"], network=[THREE, THREE, THREE]),
    ),
    "the distance for a range of networks": (
        count(network=HOME.to(HOME), mechanism="wasserstein"),
        count(network=[HOME, HOME, HOME], mechanism="wasserstein"),
    ),
    "a network that leaves nothing open": (count(network=SURE), count()),
    "a network whose answers need no noise": (
        count(network=CERTAIN, mechanism="exact"),
        count(network=CERTAIN, mechanism="quilt"),
    ),
    "a node twice": (count(pd.concat([PUPILS, PUPILS.tail(1)])), count()),
    "a node twice with two states": (count(pd.concat([PUPILS, PUPILS.assign(flu="no")])), count()),
    "a node that is missing": (count(PUPILS.head(1)), count()),
    "a node of no network": (
        count(network=ALONE, states=["no", "yes"]),
        count(PUPILS.tail(1), network=ALONE, states=["no", "yes"]),
    ),
    "a node without a name": (count(PUPILS.assign(who=["ben", None])), count()),
    "a node without a state": (count(PUPILS.assign(flu=["no", None]), nulls="drop"), count()),
    "too few states": (count(PUPILS.assign(flu="no")), count(PUPILS.assign(flu="no"), states=["no", "yes"])),
    "a state that a node does not have": (
        count(PUPILS.assign(flu=["no", "so"]), network=UNEVEN, states=["no", "yes", "so"]),
        count(PUPILS.assign(flu=["so", "no"]), network=UNEVEN, states=["no", "yes", "so"]),
    ),
    "no node column": (count(unit=None), count()),
    "a time of a network": (count(time="age"), count()),
    "a chain and a network": (count(chain=CHAIN), count()),
    "a mechanism of chains": (count(mechanism="transport"), count()),
    "the distance of several counts": (
        count(PUPILS.assign(flu=["no", "so"]), states=["no", "so", "yes"], network=THREE, mechanism="wasserstein"),
        count(PUPILS.assign(flu=["no", "so"]), states=["no", "so", "yes"], network=THREE, mechanism="quilt"),
    ),
    "no time of a series": (show(time=None), show()),
    "bins": (show(bins=["c"]), show(bins=["a"])),
    "floor": (show(chain="estimated", floor=2), show(chain="estimated")),
    "chain": (show(chain="learned"), show(chain="estimated")),
    "states": (show(states=["a", "c"]), show(states=["a", "b"])),
    "a start beside a chain": (
        show(chain=MarkovChain.of(CHAIN), initial="any"),
        show(chain=MarkovChain.of(CHAIN, initial="any")),
    ),
    "a chain of other states": two(show, {}, {"states": list("abc")}, chain=np.eye(3) / 2 + 1 / 6),
    "one state": (show(ALIKE), show(ALIKE, states=["a", "b"])),
    "a chain that leaves nothing open": (
        show(TURNS, chain=[[0.0, 1.0], [1.0, 0.0]], initial=[1, 0]),
        show(TURNS, chain=[[0.0, 1.0], [1.0, 0.0]], initial="stationary"),
    ),
    "a count that leaves nothing open": (
        show(chain=[[0.0, 1.0], [1.0, 0.0]], initial=[1, 0], mechanism="exact"),
        show(chain="estimated", mechanism="exact"),
    ),
    "a count that is known": two(show, {"chain": [[0.0, 1.0], [1.0, 0.0]]}, {"chain": "estimated"}, mechanism="exact"),
    "a chain of words": (show(chain={"a": "b"}), show()),
    "no state": (show(state=[]), show(state="state")),
    "values of nothing": (ask(protect="value", pairs=None), ask(protect="value", pairs=[(3, 5)])),
    "an array for a word": (ask(protect=np.ones(2)), ask(protect="presence")),
    "a word for counts": (show(counts="shares"), show(counts=False)),
    "a word for a truth": (ask(integer="yes"), ask(integer=True)),
    "values too small for noise": (ask(VISITS.assign(visits=5e-324)), ask(VISITS.assign(visits=5e-324 * 2.0**60))),
    "times that occur twice": (show(TWICE), show(TWICE, unit="who")),
    "times as text": (show(TEXT), show(TEXT.astype({"time": int}))),
    "times as categories": (show(TEXT.astype({"time": "category"})), show(SERIES)),
    "a time that is missing": (show(NO_TIME), show(NO_TIME.dropna())),
    "a time that is missing where states may be": (
        show(NO_TIME, nulls="drop"),
        show(NO_TIME.fillna({"time": 0}), nulls="drop"),
    ),
    "a series that is missing": (show(NO_WHO, unit="who"), show(NO_WHO.fillna({"who": "p"}), unit="who")),
    "a state that is missing": (show(NO_STATE), show(NO_STATE, nulls="drop")),
    "no state at all": (show(SERIES.assign(state=None), nulls="drop"), show(SERIES, nulls="drop")),
    "no two neighbouring states": (
        show(EVERY_SECOND, nulls="drop", chain="estimated"),
        show(EVERY_SECOND, nulls="drop", chain=[[0.9, 0.1], [0.1, 0.9]]),
    ),
    "no first state": two(show, {"initial": "estimated"}, {"initial": "stationary"}, NO_STATE, nulls="drop"),
    "times too far apart": (show(SERIES.assign(time=SERIES["time"].astype(float).replace(11.0, 1e300))), show(SERIES)),
    "a time without end": (show(ENDLESS), show(SERIES)),
    "exact counts of units and of all": (
        show(unit="who", mechanism="exact", per="both"),
        show(unit="who", mechanism="quilt", per="both"),
    ),
    "one histogram twice": (show(per="both"), show(unit="who", per="both")),
    "counts of tiny probabilities": (
        show(mechanism="exact", chain=[[1 - 1e-200, 1e-200], [0.5, 0.5]], initial=[0.5, 0.5]),
        show(mechanism="quilt", chain=[[1 - 1e-200, 1e-200], [0.5, 0.5]], initial=[0.5, 0.5]),
    ),
    "an exact count over a long gap": (
        show(SERIES.assign(time=SERIES["time"].replace(11, 3000)), mechanism="exact"),
        show(SERIES.assign(time=SERIES["time"].replace(11, 3000)), mechanism="quilt"),
    ),
    "an exact count of many different series": (
        show(MANY_GAPS, unit="unit", mechanism="exact"),
        show(MANY_GAPS, unit="unit", mechanism="exact", gaps="independent"),
    ),
    "times of no step": (show(SERIES.assign(time=[0, 2, 4, 6, 8, 9, 11, 13, 15, 17, 19, 21])), show(SERIES)),
    "times of many steps": (
        show(SERIES.assign(time=np.cumsum(np.arange(12))), gaps="independent"),
        show(SERIES, gaps="independent"),
    ),
    "gaps": (show(gaps="cut"), show(gaps="independent")),
    "a delta of Laplace counts": (show(delta=1e-6), show(delta=1e-6, noise="gaussian")),
    "a floor of a given chain": (show(floor=0.1), show(chain="estimated", floor=0.1)),
    "no unit of a series": (show(unit=[]), show(unit="who")),
    "no unit of an aggregate": (ask(unit=()), ask(unit="patient")),
    "integers of given laws": (
        ask(integer=True, laws=dict.fromkeys("abc", Prior.empirical([0.5, 1]))),
        ask(laws=dict.fromkeys("abc", Prior.empirical([0.5, 3, 6]))),
    ),
    "integers of declared pairs": two(ask, {"integer": True}, {}, protect="value", pairs=[(0.5, 1)]),
    "a pair of equal values": (ask(protect="value", pairs=[(1, 1)]), ask(protect="value", pairs=[(1, 2)])),
    "a pair beyond the domain": two(ask, {"domain": (0, 10)}, {"domain": (0, 300)}, protect="value", pairs=[(1, 300)]),
    "laws beyond the domain": (
        ask(laws=dict.fromkeys("abc", Prior.empirical([0, 30])), domain=(0, 10), contribution="draw"),
        ask(laws=dict.fromkeys("abc", Prior.empirical(range(11))), domain=(0, 10), contribution="draw"),
    ),
    "a count that cannot change": (
        ask(query=("sum", "count"), protect="replacement"),
        ask(query=("sum", "count"), protect="replacement", allow_zero_noise=True),
    ),
    "absence of rows without a domain": (ask(unit=None), ask(unit=None, domain=(0, 10))),
    "a word for no noise": (ask(allow_zero_noise="yes"), ask(allow_zero_noise=True)),
    "several states at once": (show(state=["state", "who"]), show(state="state")),
}
