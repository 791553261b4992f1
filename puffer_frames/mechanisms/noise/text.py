"""What a plan of noise says: titled rows of text, and the figures of its page and of notebooks."""

from __future__ import annotations

import math

from puffer_frames.loss.outcome import Verification, measured_text
from puffer_frames.mechanisms.noise.drift import target_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.rows_seen import spread_of
from puffer_frames.mechanisms.seam import PlanFigures, rows_text
from puffer_frames.noise.channel import changed_share
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import (
    Rows,
    aligned,
    at_most,
    odds_text,
    pairs_text,
    shown,
    shown_names,
    upper_text,
)
from puffer_frames.papers.catalogue import BOUNDED, PUBLISHED_FOR
from puffer_frames.scales.cautions import moved_text, share_at_ends
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.joint.coupled import any_joint_loss
from puffer_frames.scales.strata import StrataChoices

_MOST_SHOWN = 30


def strata_rows(plan: NoiseFit, strata: StrataChoices, /) -> Rows:
    """Labels and texts, in order."""
    given, how = shown_names(strata.given), "released as they are"
    if merged := plan.request.merged:
        label = plan.request.merged_as
        own, of = strata.rows[(label,) * len(strata.given)], sum(strata.rows.values())
        how = f"{len(merged):,} strata are merged: {own:,} of {of:,} rows ({100 * own / of:.3g} %) say {label!r}"
        how += ", the others are released as they are"
    lacking = "any amount: some stratum lacks a secret"
    alone = lacking if math.isinf(strata.alone) else f"pure loss {upper_text(strata.alone)}"
    rows = [
        ("given", f"{given}, {how}; the guarantee is beyond what they tell by themselves ({alone})"),
        ("strata", _table(plan, strata)),
    ]
    if strata.small:
        few = f"{len(strata.small):,} with fewer than {strata.minimum:,} rows of one of their secrets"
        rows.append(("small strata", f"{few}: noise for the whole range of the columns"))
    if strata.unbound:
        text = f"{len(strata.unbound):,}, where no two protected secrets occur: the largest scale of the others"
        rows.append(("nothing to hide", text))
    for name, choice in plan.choices.items():
        if name not in plan.levels:
            of_all = f"mean absolute {plan.request.noise.title} noise of all rows"
            rows.append((f"error of {shown(name)}", f"{plan.expected_error[name]:.6g} ({of_all})"))
        if where := plan.partly_useless().get(name):
            rows.append(("beside it", f"in {where}, that is more than the error of one constant"))
        rows += _shifted_rows(plan, name)
        if name in plan.refuted_fits:
            rows.append((f"model of {shown(name)}", _refuted_text(plan, choice)))
        if not plan.is_joint:
            rows += _loss_rows(plan, choice, of=shown(name))
    if plan.is_joint:
        rows += _loss_rows(plan, next(iter(plan.choices.values())), of="a unit" if plan.request.unit else "a row")
    return rows


def _loss_rows(plan: NoiseFit, choice: Choice, *, of: str) -> Rows:
    strata = plan.strata
    enough = strata is not None and bool(strata.small) and len(strata.small) + len(strata.unbound) < len(strata.choices)
    where = "in any stratum" + " of enough rows" * enough
    return [
        (f"{belief} belief", f"measured: {_loss_text(plan, found)} of {of} {where}")
        for belief, found in choice.verified.items()
    ]


def _table(plan: NoiseFit, strata: StrataChoices) -> str:
    """A line per stratum: its values, rows, theorem and scales."""
    names = list(plan.choices)
    if strata.one_scale:
        return "one scale for all: " + ", ".join(
            f"{shown(name)} {_cell(plan, name, plan.choices[name])}" for name in names
        )
    listed = list(strata.choices.items())[:_MOST_SHOWN]
    lines = [("", "rows", "theorem", *map(shown, names))]
    for z, choices in listed:
        theorem = next(iter(choices.values())).theorem.name
        scales = (_cell(plan, name, choices[name]) for name in names)
        lines.append((shown(", ".join(map(str, z))), f"{strata.rows[z]:,}", theorem, *scales))
    return aligned(lines, more=len(strata.choices) - len(listed))


def _cell(plan: NoiseFit, name: str, choice: Choice) -> str:
    """The scale of a column, or the share of changed labels."""
    if name not in plan.levels:
        return f"{choice.scale:.6g}"
    return f"{100 * changed_share(len(plan.levels[name]), choice.scale):.4g} % changed"


_SHOWN_SECRETS = 12


def plan_rows(plan: NoiseFit, _: object = None, /) -> Rows:
    """Labels and texts, in order."""
    rows = [
        ("pairs", pairs_text(plan.pairs, apart=plan.request.apart)),
        ("meaning", odds_text(plan.request.what, epsilon=plan.request.target.epsilon, delta=plan.request.target.delta)),
    ]
    rows += _repeats_rows(plan)
    if plan.strata is not None:
        rows += strata_rows(plan, plan.strata)
    for name, choice in plan.choices.items() if plan.strata is None else ():
        if len(plan.choices) > 1:
            rows.append(("column", shown(name)))
        rows += _label_rows(plan, name, choice) if name in plan.levels else _column_rows(plan, name, choice)
    if plan.is_joint and plan.strata is None:
        loss = plan.request.repeats.of_all(any_joint_loss(plan.choices.values()))
        rows.append(
            ("at these scales", f"under any law on the ranges of the columns: pure loss at most {upper_text(loss)}")
        )
    rows.append(("secrets", _secrets_text(plan)))
    return rows


def _label_rows(plan: NoiseFit, name: str, choice: Choice) -> Rows:
    """A column of labels beside others."""
    levels, changed, pair = plan.levels[name], plan.changed[name], choice.worst_pair
    constant = plan.constant_share(name)
    stays = f"each stays with probability {1 - changed:.6g}, else any other takes its place"
    if not changed:
        stays = "released as they are"
    useless = ". About as many labels change, or more: single labels are of little or no use"
    useless *= name in plan.useless_columns()
    return [
        ("theorem", f"{choice.theorem.name}: {choice.theorem.model} ({choice.theorem.source})"),
        ("labels", f"{len(levels):,}; {stays}"),
        ("beside it", f"the most frequent label in place of every one changes {constant:.4g} of them{useless}"),
        *_shifted_rows(plan, name),
        ("worst pair", f"{pair[0]!r} / {pair[1]!r}, {choice.binding_belief} belief"),
    ]


def _shifted_rows(plan: NoiseFit, name: str) -> Rows:
    """How far shares of labels are off, where they are by far."""
    off = plan.shifted_labels().get(name)
    return [] if off is None else [("beside it", f"SHARES OF SOME LABELS ARE OFF: {shown(name)} {off.shift_text}")]


def _repeats_rows(plan: NoiseFit) -> Rows:
    """Units and planned releases."""
    repeats, rows = plan.request.repeats, list[tuple[str, str]]()
    if plan.request.unit is not None:
        words = {"independent": "independent given the secret", "repeated": "all the same", "any": "nothing"}
        text = f"at most {repeats.rows:,} rows of one {shown(plan.request.unit.column)}; assumed of them: "
        rows.append(("units", text + words[repeats.assumed]))
    if repeats.releases > 1:
        factor = f"each scale is {repeats.of_releases(plan.request.noise):,.6g} times that of a single release"
        rows.append(("releases", f"{repeats.releases:,} with these scales have the guarantee together; {factor}"))
    measured = ["all rows of a unit together"] * (repeats.shares > 1 or repeats.composed)
    measured += ["all noisy copies together"] * (repeats.copies > 1)
    return [*rows, ("losses below", f"of {', '.join(measured)}")] if measured else rows


def _loss_text(plan: NoiseFit, found: Verification, *, any_law: bool = False) -> str:
    """What is lost of one row; of a unit whose rows share epsilon a bound for all of its rows."""
    target, repeats = plan.request.target, plan.request.repeats
    if repeats.shares > 1:
        pure = repeats.of_unit(found.pure_loss.upper, any_law=any_law)
        stick = repeats.of_unit(found.hockey_stick.upper, any_law=any_law, delta=1.0)
        share = repeats.shares * found.epsilon
        if math.isnan(pure):  # the noise is for the range, whatever the law
            pure, stick = math.inf if target.delta else share, target.delta
        found = Verification.proved(pure=pure, delta=stick, epsilon=share)
    return measured_text(found, delta=target.delta)


def _column_rows(plan: NoiseFit, name: str, choice: Choice) -> list[tuple[str, str]]:
    scale, published = choice.scale, choice.published_scale
    exact = "smallest confirmed" if plan.calibration == "exact" else "published, raised where not confirmed"
    if plan.is_joint:
        rests = "a coupling of whole rows" if choice.theorem.coupled else "the smallest confirmed sum found"
        exact = f"with those of the other columns {rests}"
    ratio = f", {published / scale:.2f} times smaller than published" if published and 0 < scale < published else ""
    theorem, pair = choice.theorem, choice.worst_pair
    listed = " in the rows of the listed secrets" if plan.lists_some else ""
    learned = theorem is BOUNDED and name not in plan.request.domain
    ranges = f"; the range is that{listed}" if plan.lists_some and learned else ""
    spread, constant = spread_of(choice.empirical, plan.rows_per_secret)
    error, of_noise = plan.expected_error[name], f"mean absolute {plan.request.noise.title} noise"
    useless = ". The noise is larger than that error: single values are of no use" if error > constant else ""
    rows = [
        ("theorem", f"{theorem.name}: {theorem.model}{ranges} ({theorem.source})"),
        *([] if plan.is_joint else [("published scale", _published_text(plan, choice))]),
        ("scale used", f"{scale:.6g} ({exact}{ratio})"),
        ("expected error", f"{error:.6g} ({'mean absolute, after remap' if name in plan.remaps else of_noise})"),
        *_remap_rows(plan, name, choice),
        *(("beside it", own[name].cautions[key]) for key, own in plan.little_use().items() if name in own),
        *_moved_rows(plan, name),
        (
            "beside it",
            f"spread of the column (standard deviation){listed} {spread:.4g}; the median in place of every value has a "
            f"mean error of {constant:.4g}{useless}",
        ),
        ("worst pair", f"{pair[0]!r} / {pair[1]!r}, {choice.binding_belief} belief"),
    ]
    for belief, need in choice.scale_per_belief.items():
        others = [other for name, other in choice.scale_per_belief.items() if name != belief]
        binds = ", binds" if others and need > max(others) else ""
        verb = "needs" if plan.calibration == "exact" and not plan.is_joint else "confirms"
        measured = choice.verified.get(belief)
        loss = "" if measured is None else f"; measured: {_loss_text(plan, measured)}"
        together = f" of {'a unit' if plan.request.unit else 'a row'}, all columns together" * plan.is_joint
        text = f"{verb} {need:.6g}{binds}{loss}{together}"
        rows.append((f"{belief} belief", text if measured else "proved by the theorem"))
    if choice.left_out is not None:
        text = "left out: the table refutes it (Kolmogorov-Smirnov, 95 %); it would need a scale of "
        rows.append(("fitted model", f"{text}{choice.left_out:.6g}"))
    if "wide fit" in choice.remarks:
        refuted = "the table refutes it (Kolmogorov-Smirnov, 95 %), and it" if "refuted fit" in choice.remarks else "it"
        rows.append(("fitted model", f"{refuted} needs more than twice the noise of the observed frequencies"))
    elif name in plan.refuted_fits:
        rows.append(("fitted model", _refuted_text(plan, choice)))
    if not set(choice.beliefs) & {"empirical"}:
        rows.append(("observed law", _observed_text(plan, choice)))
    if not plan.is_joint:
        rows.append(("at this scale", _wider_text(plan, choice)))
    return rows


def _refuted_text(plan: NoiseFit, choice: Choice) -> str:
    """That the table refutes the fitted model which decides the scale, and how much noise the model costs."""
    text = "the table refutes it (Kolmogorov-Smirnov, 95 %), and it decides the scale"
    exact = plan.calibration == "exact"
    observed = choice.scale_per_belief.get("empirical")
    if plan.strata is not None and not plan.strata.one_scale:
        text += " of some strata"
    elif observed and exact:
        text += f": {choice.scale / observed:.4g} times that of the observed frequencies alone"
    without = 'beliefs="empirical"' if exact else 'Noise(theorem="kantorovich")'
    return f"{text}; {without} leaves it out"


def _moved_rows(plan: NoiseFit, name: str) -> Rows:
    bounds = plan.request.domain.get(name)
    if bounds is None:
        return []
    share = None if plan.lists_some else share_at_ends(plan.summaries[name], bounds)
    return [("moved", moved_text(share))]


def _remap_rows(plan: NoiseFit, name: str, choice: Choice) -> list[tuple[str, str]]:
    """What the posterior median makes of the noisy values, where it replaces them."""
    remap = plan.remaps.get(name)
    if remap is None:
        return []
    kinds = "cells" if any(prior.radius for prior in choice.empirical.values()) else "values"
    text = (
        f"a mean absolute error of {remap.expected_error:.6g}, {plan.error_of(choice.scale):.6g} without it; a value "
    )
    text += f"is unchanged with probability {remap.unchanged:.4g}; {remap.values.size:,} of {remap.values_before:,} "
    return [("remap", f"{text}{kinds} can be released")]


def _wider_text(plan: NoiseFit, choice: Choice) -> str:
    """The loss at the scale: of the observed law, of those that the table does not refute, of any."""
    several = len(plan.request.public) > 1
    bounds = "the domain" if set(plan.request.domain) == set(plan.request.public) else "the range"
    found = {"under the observed law": choice.observed} | {
        words: choice.wider.get(laws)
        for laws, words in (
            ("population", "under every law that the table does not refute at 95 %"),
            ("any law", f"under any law on {bounds}"),
        )
    }
    texts = [
        f"{words}: "
        + ("not measured" if each is None else _loss_text(plan, each, any_law=words.startswith("under any law")))
        for words, each in found.items()
    ]
    return "; ".join(texts) + (" (of this column alone)" if several else "")


def _observed_text(plan: NoiseFit, choice: Choice) -> str:
    """The loss under the observed frequencies, where no belief is that."""
    found = choice.observed
    if found is None:
        return "not measured: too many pairs of secrets"
    loss = f"measured: {_loss_text(plan, found)}"
    if len(plan.request.public) > 1:
        return f"{loss} of this column alone"
    confirmed = found.confirms(target_of(plan))
    return loss if confirmed else f"{loss}: MORE than was asked for; the guarantee is under the beliefs above alone"


def verdict_of(choice: Choice, target: Target, /) -> str:
    """What the engine says of a published scale, under the priors that its theorem assumes."""
    if choice.published_scale is None or choice.published_loss is None:
        return "not available"
    if choice.published_loss.refutes(target):
        return "refuted"
    return "sound" if choice.published_loss.confirms(target) else "sound up to rounding"


def _published_text(plan: NoiseFit, choice: Choice) -> str:
    if choice.published_scale is None or choice.published_loss is None:
        return "none: the theorem has no condition for this noise and delta"
    repeats = plan.request.repeats
    loss = _loss_text(plan, choice.published_loss) + " (of one row)" * repeats.composed
    # of the theorem's scale the loss is that of one row
    verdict = verdict_of(choice, target_of(plan).share(repeats.measured)).replace("refuted", "NOT private")
    published_for = plan.request.noise == PUBLISHED_FOR
    condition = choice.theorem.condition if published_for else "for a shift by the largest distance of two priors"
    asked = f"{choice.published_scale:.6g} ({condition})"
    return f"{asked}; {verdict} under its own priors: {loss}"


def _secrets_text(plan: NoiseFit) -> str:
    numbers = [choice for name, choice in plan.choices.items() if name not in plan.levels]
    if not numbers:
        return f"{rows_text(plan.rows_per_secret)} rows"
    priors = numbers[0].priors
    listed = list(priors.items())[:_SHOWN_SECRETS]
    lines = [("", "rows", "parts", "mean", "std")]
    for secret, prior in listed:
        counts = f"{plan.rows_per_secret[secret]:,}", f"{prior.means.size:,}"
        lines.append((repr(secret), *counts, f"{prior.mean:.6g}", f"{prior.std:.6g}"))
    return aligned(lines, more=len(priors) - len(listed))


def plan_figures(plan: NoiseFit, /) -> PlanFigures:
    """The figures of a plan of noise; for strata no losses under wider laws are known."""
    return PlanFigures(
        errors=plan.column_errors(), losses=tuple(_losses(plan)), partly_useless=tuple(plan.partly_useless())
    )


def _losses(plan: NoiseFit) -> list[tuple[str, float, str]]:
    """The largest loss of any column, under each kind of law."""
    if plan.strata is not None:
        return []
    delta, choices = plan.request.target.delta, plan.choices.values()
    alone = " (of a column alone)" if len(plan.choices) > 1 and not plan.is_joint else ""
    kinds = {
        "the observed law": [choice.observed for choice in choices],
        "every law that the table does not refute at 95 %": [choice.wider.get("population") for choice in choices],
        "any law on the range or domain": [choice.wider.get("any law") for choice in choices],
    }
    rows = []
    for laws, found in kinds.items():
        any_law, known = laws.startswith("any law"), [one.loss(delta=delta).upper for one in found if one is not None]
        known = [plan.request.repeats.of_unit(loss, any_law=any_law, delta=delta) for loss in known]
        if known and len(known) == len(found) and not any(map(math.isnan, known)):
            rows.append((laws + alone, *at_most(max(known))))
    if plan.is_joint and not delta:
        most = plan.request.repeats.of_unit(any_joint_loss(choices), any_law=True)
        rows.append(("any law on the ranges of the columns", *at_most(most)))
    return rows
