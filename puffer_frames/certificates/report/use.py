"""What a receiver of the file has to know of its columns before computing anything."""

from __future__ import annotations

import math

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.words import Claim, claim
from puffer_frames.numbers.presentation import shown, shown_names

_VARIANCES = {"Laplace": 2.0, "Gaussian": 1.0}
"""Variance of noise of scale 1, by its title."""


def use_of(certificate: Fields, /) -> list[tuple[str, list[Claim]]]:
    """Columns, and what to do about their noise; none of answers, which are estimates already."""
    if certificate.answers:
        return []
    if certificate.table:
        margins = [claim("use-margins")] if "changed" in certificate.table else [claim("use-no-margins")]
        return [("All columns", [*margins, claim("use-table", secret=shown_names(certificate.secret))])]
    found = _of_noise(certificate)
    found += [(shown(name), _of_channel(certificate, name)) for name in certificate.channels]
    exact = [name for name, scale in certificate.scales.items() if not scale]
    if beside := (*exact, *certificate.given, *certificate.kept):
        found.append((shown_names(beside), [claim("use-kept")]))
    return found


def can_be_estimated(certificate: Fields, /) -> bool:
    """Whether `estimate` has figures of any released column that are not those of the file itself."""
    known = ("matrix", "count")
    channels = certificate.channels.values()
    return any(certificate.scales.values()) or any(word in found for found in channels for word in known)


def _of_noise(certificate: Fields) -> list[tuple[str, list[Claim]]]:
    """All columns of noise, in one row where nothing else was done to them."""
    noisy = [name for name, scale in certificate.scales.items() if scale]
    done = noisy if certificate.facts.replaced else [name for name in noisy if name in certificate.processed]
    plain = [name for name in noisy if name not in done]
    found = [(shown_names(done), [claim("use-processed")])] if done else []
    if plain and certificate.noise not in _VARIANCES:
        return [*found, (shown_names(plain), [claim("use-heavy")])]
    if plain:
        sizes = [_variances(certificate, name) for name in plain]
        said = [claim("use-noise", variance=", ".join(text for text, _ in sizes))]
        spreads = [certificate.estimated.get(name) for name in plain]
        if all(one is not None for one in spreads) and not certificate.strata:
            shares = [
                "no known share" if one.spread_is_bound else f"{one.spread**2 / (one.spread**2 + size):.2g}"
                for one, (_, size) in zip(spreads, sizes, strict=True)
                if one is not None
            ]
            said.append(claim("use-slope", share=", ".join(shares)))
        found.append((shown_names(plain), [*said, claim("use-csv")]))
    return found


def _variances(certificate: Fields, name: str) -> tuple[str, float]:
    """The variance of the noise of a column in words, and the largest one of any stratum."""
    scales = [float(found["scales"][name]) for found in certificate.strata] or [float(certificate.scales[name])]
    sizes = [_VARIANCES[certificate.noise] * scale**2 for scale in scales]
    text = f"{min(sizes):.4g}"
    if min(sizes) < max(sizes):
        text += f" to {max(sizes):.4g} (by {shown_names(certificate.given)})"
    return text, max(sizes)


def _of_channel(certificate: Fields, name: str) -> list[Claim]:
    found = certificate.channels[name]
    if "matrix" in found:
        return [claim("use-matrix")]
    if "count" in found and certificate.strata:
        return [claim("use-response-strata", given=shown_names(certificate.given))]
    if "count" in found:
        cap = found.get("cap")
        kept = 1.0 if cap is None else 1.0 / (1.0 + (int(found["count"]) - 1) * math.exp(-float(cap)))
        other = (1 - kept) / max(1, int(found["count"]) - 1)
        return [claim("use-response", kept=f"{kept:.3g}", other=f"{other:.3g}")] if kept < 1 else [claim("use-kept")]
    preserved = {"marginal": "use-shares", "mean": "use-mean"}
    return [claim(preserved.get(found.get("preserve") or "", "use-unknown"))]
