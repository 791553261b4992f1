"""The columns of a release, and its error beside what it can be compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from puffer_frames.certificates.fields import Fields, WholeTable
from puffer_frames.certificates.report.words import claim
from puffer_frames.certificates.statement import of_given
from puffer_frames.certificates.text import (
    channel_texts,
    headline,
    is_clipped_after,
    is_rounded_far,
    on_own_range,
    scale_text,
)
from puffer_frames.numbers.presentation import (
    EMPTY,
    Bar,
    Bars,
    Section,
    at_most,
    listed,
    plain,
    rounded_up,
    shown,
    shown_names,
)

_HEADS = ("Column", "What was done", "Scale", "Mean error", "Spread", "Error of a constant")
_CHANGED_HEADS = (
    "Column",
    "What was done",
    "Values changed; of numbers, cells",
    "For the secret with most changes",
    "Numbers move from cell to cell by, on average",
)
ANY_LEVELS = "any law of these levels (pure loss)"
_OF_ROWS, _ON_THEIR_RANGE = "the frequencies of these rows", "any law on the range of these rows"
_MOST_NAMES = 40
MOST_FIGURES, _MOST_USELESS = 3, 6


def column_rows(certificate: Fields, /) -> list[tuple[str, ...]]:
    """What became of every column: a row of the table each, or of all that share a fate."""
    rows = [_noisy(certificate, name) for name in certificate.scales]
    for names, text in zip(channel_groups(certificate), channel_texts(certificate), strict=True):
        error = certificate.channels[names[0]].get("expected_error")
        merged = "merged" in certificate.facts.prepared
        printed = EMPTY if error is None else f"{error:.4g}" + " (of the levels as merged)" * merged
        named = listed(list(map(shown, names)), most=_MOST_NAMES)
        rows.append((named, text.removeprefix(f"{named}: "), EMPTY, printed, EMPTY, EMPTY))
    whole = certificate.table
    derived = {} if whole is None else whole.derived
    drawn = () if whole is None else tuple(name for name in whole.order if name not in derived)
    if whole is not None and whole.changed:
        rows, drawn, derived = [_changed(whole, name) for name in certificate.public], (), {}
    beside = "beside the answers: labels, and figures of the noise" if certificate.answers else "released as it was"
    fates = (
        (drawn, "each value was replaced by a random one of its column, often by its own"),
        (tuple(derived), f"computed from the released {shown_names(tuple(dict.fromkeys(derived.values())))}"),
        (certificate.given, f"released {of_given(certificate.statements)}; the guarantee is beyond what it tells"),
        (certificate.kept, beside if certificate.answers else f"{beside}, outside the guarantee"),
    )
    blank = [EMPTY] * (len(column_heads(certificate)) - 2)
    return rows + [(listed(list(map(shown, names)), most=_MOST_NAMES), done, *blank) for names, done in fates if names]


def column_heads(certificate: Fields, /) -> tuple[str, ...]:
    """The heads of the table whose rows these are."""
    return _CHANGED_HEADS if certificate.changed else _HEADS


def _changed(found: WholeTable, name: str) -> tuple[str, ...]:
    """A column of a whole table, and what a release does to it under the network."""
    source, far = found.derived.get(name), (found.moved or {}).get(name)
    return (
        shown(name),
        f"computed from the released {shown(source)}" if source else "replaced at random",
        f"about {100 * found.changed[name]:.0f} %",
        f"about {100 * found.changed_most[name]:.0f} %",
        EMPTY if far is None else f"about {far:g}",
    )


def channel_groups(certificate: Fields, /) -> list[tuple[str, ...]]:
    """Columns that were released through one channel."""
    found = [tuple(one.get("columns", [name])) for name, one in certificate.channels.items()]
    return list(dict.fromkeys(found))


def _noisy(certificate: Fields, name: str) -> tuple[str, ...]:
    scale = certificate.scales[name]
    found = certificate.estimated.get(name)
    of_noise = bool(certificate.facts.replaced) or is_clipped_after(certificate, name)
    of = " (before rounding)" if is_rounded_far(certificate, name) else " (of the noise)" * of_noise
    error = f"{certificate.expected_error[name]:.4g}{of}"
    done = f"{certificate.noise} noise" if scale else "no noise was added"
    beside = [EMPTY, EMPTY] if found is None else found.texts
    return (shown(name), done, scale_text(certificate, name), error, *beside)


def instead(
    useless: Mapping[str, tuple[float, float, str] | None],
    /,
    *,
    before: str,
    columns: int,
    one_draw: bool,
    means: bool,
    how: str = "",
) -> Section | None:
    """What to do where noise is larger than the error of one constant.

    - `useless`: Such columns, with the mean error, that of a constant, and the same in words, where these are known.
    - `before`: What this has to be done before.
    - `columns`: How many are released together.
    - `one_draw`: Whether a channel could be asked for.
    - `means`: Whether means of many rows are known with less noise.
    - `how`: How this is known, where the plan has not found it.
    """
    if not useless:
        return None
    told = [
        shown(name) + ("" if one is None else f" (mean error {one[0]:.3g}; of a constant {one[2]})")
        for name, one in useless.items()
    ]
    known = [one for one in useless.values() if one is not None]
    # of a column whose constant is known to be below something, or not at all, nobody knows how much is lacking
    known_all = None not in useless.values() and not any(text.startswith("below") for _, _, text in known)
    times = max((error / constant if constant else math.inf for error, constant, _ in known), default=math.inf)
    smaller = f": the noise must become about {rounded_up(times, digits=2):g} times smaller before single values tell"
    said = {
        "useless": True,
        "instead-fewer": columns > 1,
        "instead-channel": columns == 1 and one_draw,
        "instead-epsilon": times < math.inf,
        "instead-means": means,
    }
    parts = {"names": listed(told, most=_MOST_USELESS), "how": how, "times": f"{smaller} anything" * known_all}
    texts = [claim(key, **parts).text for key, holds in said.items() if holds]
    return Section("instead", f"Before {before}: the noise drowns the values", [texts], "box instead")


def error_figures(certificate: Fields, /) -> list[Bars]:
    """A figure for each of the first columns whose noise can be compared with something."""
    return [
        error_figure(
            name,
            error=certificate.expected_error[name],
            spread=(one.spread, one.texts[0]),
            constant=(one.constant_error, one.texts[1]),
        )
        for name, one in list(certificate.estimated.items())[:MOST_FIGURES]
    ]


def error_figure(name: str, /, *, error: float, spread: tuple[float, str] | None, constant: tuple[float, str]) -> Bars:
    """The mean error of a column beside that of one constant, and beside its spread where it has one."""
    rows = [
        Bar(label="mean error of a released value", value=error, text=f"{error:.3g}"),
        Bar(label="error of one constant instead", value=constant[0], text=constant[1], kind="rest"),
    ]
    if spread is not None:
        rows.append(Bar(label="spread of the column", value=spread[0], text=spread[1], kind="rest"))
    units = "in its units" if spread else "in its units; of labels the share that changes"
    return Bars(title=f"Error of {shown(name)}, {units}", bars=rows)


def loss_figure(title: str, rows: Sequence[tuple[str, float, str]], /, *, asked: float) -> Bars:
    """Under which laws what is lost, with a line at what was asked for; in red that of rows that lose more."""
    own = (_OF_ROWS, _ON_THEIR_RANGE)
    bars = [
        Bar(label=laws, value=value, text=text, kind="alarm" if laws in own else "rest" if k else "bar")
        for k, (laws, value, text) in enumerate(rows)
    ]
    return Bars(title=f"{title}; the line is what was asked for", bars=bars, mark=asked)


def robustness(certificate: Fields, /) -> list[tuple[str, float, str]]:
    """Under which laws, and what is lost there at most: the largest loss of any column, rounded up.

    The pure loss, or delta where there is one. What was not computed of a release of rows is not a number.
    """
    asked, most = certificate.delta or certificate.epsilon, headline(certificate)
    rows = [("the beliefs named here", asked, f"at most {plain(asked)}, as asked for")]
    if most.exceeds:
        laws = _ON_THEIR_RANGE if on_own_range(certificate) else _OF_ROWS
        rows.insert(0, (laws, *at_most(math.inf if math.isinf(most.epsilon) else most.delta or most.epsilon)))
    channel = certificate.theorem == "channel" or bool(certificate.table)
    of_plan = " of the plan" * certificate.facts.other_rows  # whose figures these are, not those of the rows
    ranges = f"domain, or the range of the table{of_plan}" if of_plan else "range or domain"
    named = {
        "population": f"every law that the table{of_plan} does not refute at 95 %",
        "any law": ANY_LEVELS if channel else f"any law on the {ranges}",
    }
    for word, laws in named.items():
        losses = [found[word] for found in certificate.wider.values() if word in found]
        if losses:
            rows.append((laws, *at_most(max(losses))))
        elif certificate.table:
            tail = certificate.table.refits["tail"]
            rows.append(
                ("networks beyond the beliefs", tail, f"about {rounded_up(tail, digits=3):g} at most in 99 % of rows")
            )
        elif not certificate.answers and not (channel and word == "any law"):
            alone = certificate.facts.whole_rows or bool(certificate.strata)
            reason = "possible for one column by itself only" if alone else "too many secrets, or no bound was found"
            reason = "nothing is assumed of the rows of a unit" if certificate.facts.rows_of_unit == "any" else reason
            rows.append((laws, math.nan, f"not computed: {reason}"))
    caps = [found.get("cap") for found in certificate.channels.values()]
    if caps and channel and not any("any law" in found for found in certificate.wider.values()):
        cap = math.inf if None in caps else max(float(cap) for cap in caps if cap is not None)
        rows.append((ANY_LEVELS, *at_most(cap)))
    return rows


def robustness_figure(certificate: Fields, /) -> Bars | None:
    """The same as bars; None where there is nothing to compare."""
    what = "Delta at this epsilon" if certificate.delta else "Pure loss"
    aside = bool(certificate.delta or certificate.table)  # of another measure, or far off the picture
    rows = [
        (laws, value, text.partition(",")[0])
        for laws, value, text in robustness(certificate)
        if not (math.isnan(value) or (aside and laws == ANY_LEVELS))
    ]
    asked = certificate.delta or certificate.epsilon
    return None if len(rows) < 2 else loss_figure(f"{what} under wider laws", rows, asked=asked)
