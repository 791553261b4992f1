"""A plan as titled rows of text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from puffer_frames.loss.outcome import measured_text
from puffer_frames.mechanisms.noise.drift import target_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.strata_text import strata_rows
from puffer_frames.numbers.presentation import Rows, odds_text, pairs_text, shown, upper_text
from puffer_frames.papers.catalogue import PUBLISHED_FOR
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.cautions import moved_text, share_at_ends
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.joint.measured_rows import any_joint_loss
from puffer_frames.scales.observed import Belief

_SHOWN_SECRETS = 12


def plan_rows(plan: NoiseFit, /) -> Rows:
    """Labels and texts, in order."""
    whole = "the released values of one row together" if len(plan.request.public) > 1 else "one released value"
    if plan.request.unit is not None:
        whole = f"the released values of all rows of one {shown(plan.request.unit.column)} together"
    rows = [
        ("pairs", pairs_text(plan.pairs, apart=plan.request.apart)),
        ("meaning", odds_text(whole, epsilon=plan.request.target.epsilon, delta=plan.request.target.delta)),
    ]
    rows += _repeats_rows(plan)
    if plan.strata is not None:
        rows += strata_rows(plan, plan.strata)
    for name, choice in plan.choices.items() if plan.strata is None else ():
        if len(plan.choices) > 1:
            rows.append(("column", shown(name)))
        rows += _label_rows(plan, name, choice) if name in plan.levels else _column_rows(plan, name, choice)
    if plan.is_joint and plan.strata is None:
        loss = any_joint_loss(plan.choices.values())
        rows.append(
            ("at these scales", f"under any law on the ranges of the columns: pure loss at most {upper_text(loss)}")
        )
    rows.append(("secrets", _secrets_text(plan)))
    rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
    return rows


def _label_rows(plan: NoiseFit, name: str, choice: Choice) -> Rows:
    """A column of labels beside others."""
    levels, changed, pair = plan.levels[name], plan.changed[name], choice.worst_pair
    constant = constant_share(plan, name)
    stays = f"each stays with probability {1 - changed:.6g}, else any other takes its place"
    if not changed:
        stays = "released as they are"
    useless = ". More labels change than that: single labels are of no use" if changed > constant else ""
    return [
        ("theorem", f"{choice.theorem.name}: {choice.theorem.model} ({choice.theorem.source})"),
        ("labels", f"{len(levels):,}; {stays}"),
        ("beside it", f"the most frequent label in place of every one changes {constant:.4g} of them{useless}"),
        ("worst pair", f"{pair[0]!r} / {pair[1]!r}, {choice.binding_belief} belief"),
    ]


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
    measured = ["one row of a unit"] * (repeats.shares > 1) + ["all rows of a unit together"] * repeats.composed
    measured += ["all noisy copies together"] * (repeats.copies > 1)
    return [*rows, ("losses below", f"of {', '.join(measured)}")] if measured else rows


def _column_rows(plan: NoiseFit, name: str, choice: Choice) -> list[tuple[str, str]]:
    scale, published = choice.scale, choice.published_scale
    exact = "smallest confirmed" if plan.calibration == "exact" else "published, raised where not confirmed"
    if plan.is_joint:
        rests = "a coupling of whole rows" if choice.theorem.coupled else "the smallest confirmed sum found"
        exact = f"with those of the other columns {rests}"
    ratio = f", {published / scale:.2f} times smaller than published" if published and 0 < scale < published else ""
    theorem, pair = choice.theorem, choice.worst_pair
    spread, constant = spread_of(choice.empirical, plan.rows_per_secret)
    error, of_noise = plan.expected_error[name], f"mean absolute {plan.request.noise.title} noise"
    useless = ". The noise is larger than that error: single values are of no use" if error > constant else ""
    rows = [
        ("theorem", f"{theorem.name}: {theorem.model} ({theorem.source})"),
        *([] if plan.is_joint else [("published scale", _published_text(plan, choice))]),
        ("scale used", f"{scale:.6g} ({exact}{ratio})"),
        ("expected error", f"{error:.6g} ({'mean absolute, after remap' if name in plan.remaps else of_noise})"),
        *_remap_rows(plan, name, choice),
        *_moved_rows(plan, name),
        (
            "beside it",
            f"spread of the column (standard deviation) {spread:.4g}; the median in place of every value has a mean "
            f"error of {constant:.4g}{useless}",
        ),
        ("worst pair", f"{pair[0]!r} / {pair[1]!r}, {choice.binding_belief} belief"),
    ]
    for belief, need in choice.scale_per_belief.items():
        others = [other for name, other in choice.scale_per_belief.items() if name != belief]
        binds = ", binds" if others and need > max(others) else ""
        verb = "needs" if plan.calibration == "exact" and not plan.is_joint else "confirms"
        measured = choice.verified.get(belief)
        loss = "" if measured is None else f"; measured: {_loss(plan, choice, belief)}"
        together = " of a row, all columns together" * plan.is_joint
        text = f"{verb} {need:.6g}{binds}{loss}{together}"
        rows.append((f"{belief} belief", text if measured else "proved by the theorem"))
    if choice.left_out is not None:
        text = "left out: the table refutes it (Kolmogorov-Smirnov, 95 %); it would need a scale of "
        rows.append(("fitted model", f"{text}{choice.left_out:.6g}"))
    if "wide fit" in choice.remarks:
        refuted = "the table refutes it (Kolmogorov-Smirnov, 95 %), and it" if "refuted fit" in choice.remarks else "it"
        rows.append(("fitted model", f"{refuted} needs more than twice the noise of the observed frequencies"))
    if not set(choice.beliefs) & {"empirical"}:
        rows.append(("observed law", _observed_text(plan, choice)))
    if not plan.is_joint:
        rows.append(("at this scale", _wider_text(plan, choice)))
    return rows


def _moved_rows(plan: NoiseFit, name: str) -> Rows:
    bounds = plan.request.domain.get(name)
    return [] if bounds is None else [("moved", moved_text(share_at_ends(plan.summaries[name], bounds)))]


def _remap_rows(plan: NoiseFit, name: str, choice: Choice) -> list[tuple[str, str]]:
    """What the posterior median makes of the noisy values, where it replaces them."""
    remap = plan.remaps.get(name)
    if remap is None:
        return []
    kinds = "cells" if any(prior.radius for prior in choice.empirical.values()) else "values"
    return [
        (
            "remap",
            f"a mean absolute error of {remap.expected_error:.6g}, {plan.error_of(choice.scale):.6g} without it; a "
            f"value is unchanged with probability {remap.unchanged:.4g}; {remap.values.size:,} of "
            f"{remap.values_before:,} {kinds} can be released",
        )
    ]


def _wider_text(plan: NoiseFit, choice: Choice) -> str:
    """The loss at the scale: of the observed law, of those that the table does not refute, of any."""
    delta = plan.request.target.delta
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
        f"{words}: " + ("not measured" if each is None else measured_text(each, delta=delta))
        for words, each in found.items()
    ]
    return "; ".join(texts) + (" (of this column alone)" if several else "")


def _loss(plan: NoiseFit, choice: Choice, belief: str) -> str:
    return measured_text(choice.verified[belief], delta=plan.request.target.delta)


def _observed_text(plan: NoiseFit, choice: Choice) -> str:
    """The loss under the observed frequencies, where no belief is that."""
    found = choice.observed
    if found is None:
        return "not measured: too many pairs of secrets"
    loss = f"measured: {measured_text(found, delta=plan.request.target.delta)}"
    if len(plan.request.public) > 1:
        return f"{loss} of this column alone"
    confirmed = found.confirms(target_of(plan))
    return loss if confirmed else f"{loss}: MORE than was asked for; the guarantee is under the beliefs above alone"


def _published_text(plan: NoiseFit, choice: Choice) -> str:
    if choice.published_scale is None or choice.published_loss is None:
        return "none: the theorem has no condition for this noise and delta"
    repeats = plan.request.repeats
    target = target_of(plan).share(repeats.measured)  # of the theorem's scale the loss is that of one row
    refuted = choice.published_loss.refutes(target)
    loss = measured_text(choice.published_loss, delta=plan.request.target.delta) + " (of one row)" * repeats.composed
    confirmed = choice.published_loss.confirms(target)
    verdict = "NOT private" if refuted else "sound" if confirmed else "sound up to rounding"
    published_for = plan.request.noise == PUBLISHED_FOR
    condition = choice.theorem.condition if published_for else "for a shift by the largest distance of two priors"
    asked = f"{choice.published_scale:.6g} ({condition})"
    return f"{asked}; {verdict} under its own priors: {loss}"


def _secrets_text(plan: NoiseFit) -> str:
    numbers = [choice for name, choice in plan.choices.items() if name not in plan.levels]
    if not numbers:
        return ", ".join(
            f"{secret!r} {rows:,} rows" for secret, rows in list(plan.rows_per_secret.items())[:_SHOWN_SECRETS]
        )
    priors = numbers[0].priors
    listed = list(priors.items())[:_SHOWN_SECRETS]
    names = [repr(secret) for secret, _ in listed]
    width = max(len(name) for name in names)
    lines = [f"{'':<{width}}  {'rows':>9}  {'parts':>7}  {'mean':>12}  {'std':>12}"]
    for name, (secret, prior) in zip(names, listed, strict=True):
        n = plan.rows_per_secret[secret]
        lines.append(f"{name:<{width}}  {n:>9,}  {prior.means.size:>7,}  {prior.mean:>12.6g}  {prior.std:>12.6g}")
    if len(priors) > len(listed):
        lines.append(f"and {len(priors) - len(listed)} more")
    return "\n".join(lines)


def constant_share(plan: NoiseFit, name: str, /) -> float:
    """The share of the labels of a column that its most frequent one in place of each changes."""
    counts = sum(
        np.bincount(
            prior.means.astype(int),
            weights=prior.weights * plan.rows_per_secret[secret],
            minlength=len(plan.levels[name]),
        )
        for secret, prior in plan.choices[name].empirical.items()
    )
    return 1 - float(np.max(counts) / np.sum(counts))


def spread_of(empirical: Belief, rows: Mapping[Secret, int], /) -> tuple[float, float]:
    """Standard deviation of a column, and the mean error of its median in place of every value."""
    values = np.concatenate([prior.means for prior in empirical.values()])
    weights = np.concatenate([prior.weights * rows[secret] for secret, prior in empirical.items()])
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order] / weights.sum()
    median = values[min(int(np.searchsorted(np.cumsum(weights), 0.5)), values.size - 1)]
    unit = float(np.abs(values - median).max()) or 1.0  # squares of huge and tiny values stay in range
    away = (values - median) / unit
    variance = float(weights @ away**2) - float(weights @ away) ** 2
    return unit * max(variance, 0.0) ** 0.5, unit * float(weights @ np.abs(away))
