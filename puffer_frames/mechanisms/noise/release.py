"""A release of noise: what is done to the values, and what its certificate says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from puffer_frames.certificates.build import of_choices
from puffer_frames.certificates.of_release import release_statements, wider_losses
from puffer_frames.certificates.record import MOST_VALUES, Certificate
from puffer_frames.certificates.release_facts import ReleaseFacts
from puffer_frames.certificates.sentences import warnings_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.mechanisms.seam import Release
from puffer_frames.noise.channel import ChannelTable, LabelChannel, randomised_response
from puffer_frames.noise.column_noise import ByStratum, ColumnNoise
from puffer_frames.noise.draw import Draw
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.presentation import pairs_text, shown, shown_names
from puffer_frames.scales.strata import StrataChoices


def release_certificate(plan: NoiseFit, release: Release, /, **refined: Any) -> Certificate:
    """The certificate of a release, its values not known yet; `refined` are further facts of a refinement."""
    asked, request = release.asked, plan.request
    facts = replace(release_facts(plan, release), **refined)
    kept, given, batch = tuple(facts.keep), asked.roles.given, release.batch
    statements = release_statements(facts)
    return Certificate(
        **_of_noise(plan, seeded=facts.seeded),
        **_of_rows(plan),
        processed=_processed(plan, asked),
        wider=wider_losses(facts),
        subject=f"{shown_names(request.secret)} of each {_whose(plan)}, {pairs_text(plan.pairs, apart=request.apart)}",
        answers=False,
        secret=request.secret,
        secret_values=release.secrets[:MOST_VALUES],
        secret_count=len(release.secrets),
        public=request.public,
        kept=kept,
        given=given,
        withheld=tuple(name for name in release.columns if name not in (*request.public, *kept, *given)),
        pairs="each" if request.apart else plan.pairs,
        beliefs=tuple(dict.fromkeys(belief for choice in plan.choices.values() for belief in choice.beliefs)),
        observed=plan.observed if batch is None else batch.observed,
        statements=statements,
        facts=facts.stated,
        warnings=warnings_of(statements),
        rows=release.rows,
        fingerprint="",
    )


def release_facts(plan: NoiseFit, release: Release, /) -> ReleaseFacts:
    """What its sentences depend on."""
    request, asked = plan.request, release.asked
    return ReleaseFacts(
        choices=plan.choices,
        target=request.target,
        noise=request.noise,
        pairs="each" if request.apart else plan.pairs,
        domain=request.domain,
        nulls=request.nulls,
        secrets=len(plan.secrets),
        batch=release.batch,
        remapped=tuple(plan.remaps),
        keep=release.kept,
        warnings=release.warnings,
        rows_per_secret=plan.protected_rows(release.rows_per_secret),
        unproved=release.unproved,
        done=asked.done,
        shuffled=asked.layout.shuffle,
        seeded=asked.seeded,
        responses={name: (len(found), *plan.changed_in_strata(name)) for name, found in plan.levels.items()},
        repeats=request.repeats,
        unit="" if request.unit is None else request.unit.column,
        merged=len(request.merged),
        sampled=request.unit is not None and request.unit.over == "sample",
        strata=plan.strata,
    )


def _of_noise(plan: NoiseFit, *, seeded: bool) -> dict[str, Any]:
    """Fields that follow from the scales; a column of labels has none."""
    fields = of_choices(
        plan.choices,
        plan.request.target,
        noises={name: plan.noise(scale) for name, scale in plan.all_scales.items()},
        family=plan.request.noise.title,
        calibration=plan.calibration,
        seeded=seeded,
    )
    fields["adds_up"] &= not _is_of_a_draw(plan)
    if plan.strata is not None:
        fields["expected_error"] = plan.expected_error
    for name in ("scales", "published_scales", "expected_error") if plan.levels else ():
        fields[name] = {column: value for column, value in fields[name].items() if column not in plan.levels}
    return fields


def _of_rows(plan: NoiseFit) -> dict[str, Any]:
    """Fields about units, planned releases, strata and labels."""
    request = plan.request
    return {
        "unit": None if request.unit is None else request.unit.column,
        "unit_rows": request.repeats.rows,
        "releases": request.repeats.releases,
        "strata": _strata_scales(plan.strata, plan.levels),
        "channels": _responses_said(plan),
    }


def _is_of_a_draw(plan: NoiseFit) -> bool:
    """Whether the guarantee rests on the law of some rows of each unit, of which another release may use others."""
    unit = plan.request.unit
    return unit is not None and unit.over == "sample" and unit.rows != "any"


def _whose(plan: NoiseFit) -> str:
    return "record" if plan.request.unit is None else shown(plan.request.unit.column)


def _strata_scales(strata: StrataChoices | None, labels: Collection[str]) -> tuple[Mapping[str, Any], ...]:
    """What a certificate says of them: the strata are public."""
    if strata is None or strata.one_scale:
        return ()
    found = []
    for z, scales in strata.scales.items():
        numbers = {name: scale for name, scale in scales.items() if name not in labels}
        caps = {name: _cap(scale) for name, scale in scales.items() if name in labels}
        found.append({"given": z, "scales": numbers} | ({"caps": caps} if caps else {}))
    return tuple(found)


def noise_draws(plan: NoiseFit, asked: RowsRequest, key: ReleaseKey, /) -> tuple[Draw, ...]:
    """What is done to the values of each column: the same to all rows, or to those of each stratum."""
    strata = plan.strata
    if strata is None or strata.one_scale:
        return _at_scales(plan, asked, plan.all_scales, key=key)
    parts = tuple(_at_scales(plan, asked, scales, key=key) for scales in strata.scales.values())
    return (ByStratum(given=strata.given, strata=tuple(strata.choices), parts=parts),)


def _at_scales(plan: NoiseFit, asked: RowsRequest, scales: Mapping[str, float], *, key: ReleaseKey) -> tuple[Draw, ...]:
    """Noise on each column of numbers, and randomised response of each column of labels."""
    noise = [
        ColumnNoise(
            column=name,
            noise=plan.noise(scales[name]),
            key=key,
            domain=plan.clipped.get(name),
            remap=plan.remaps[name].step if name in plan.remaps else None,
            bounds=asked.bounds.get(name),
            to_integers=asked.to_integers,
        )
        for name in plan.scales
    ]
    responses = [
        LabelChannel.of(
            name,
            key=key,
            codes={level: code for code, level in enumerate(levels)},
            outputs=levels,
            table=ChannelTable(randomised_response(len(levels), scales[name])),
        )
        for name, levels in plan.levels.items()
    ]
    return (*noise, *responses)


def _responses_said(plan: NoiseFit) -> dict[str, dict[str, Any]]:
    """What a certificate says of them."""
    scales = [plan.all_scales] if plan.strata is None else list(plan.strata.scales.values())
    return {
        name: {
            "cost": "change",
            "radius": None,
            "cap": _cap(min(one[name] for one in scales)),
            "preserve": None,
            "count": len(levels),
        }
        for name, levels in plan.levels.items()
    }


def _processed(plan: NoiseFit, asked: RowsRequest) -> dict[str, dict[str, Any]]:
    """What is done to the noisy values of each column of numbers, where anything is."""
    return {
        name: {"round": asked.to_integers, "clip": asked.bounds.get(name)}
        for name in plan.scales
        if asked.to_integers or name in asked.bounds
    }


def _cap(scale: float) -> float | None:
    """The largest loss of a label under any law; None of labels that stay as they are."""
    return 1 / scale if scale else None
