"""The small pictures of a certificate: of what it says, and of nothing else."""

from __future__ import annotations

import math

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.text import is_of_other_rows
from puffer_frames.numbers.presentation import bars, rounded_up, shown

_MOST_COLUMNS = 4
_DIGITS = 3


def certificate_pictures(certificate: Fields, /) -> list[str]:
    """Scales beside the published ones, and losses beside what was asked for, of up to four columns."""
    found = []
    named = list(certificate.scales)[:_MOST_COLUMNS]
    for name in named:
        published = certificate.published_scales.get(name)
        scale = certificate.scales[name]
        if published is not None and scale and math.isfinite(published) and not certificate.strata:
            entries = [("published", published, f"{published:.4g}"), ("used", scale, f"{scale:.4g}")]
            found.append(bars(entries, title=f"Scale of the noise: {_short(name)}"))
    for name in sorted(certificate.observed, key=lambda name: -_losses(certificate, name)[0][1]):
        if len(found) >= 2 * _MOST_COLUMNS:
            break
        losses = _losses(certificate, name)
        what = f"Delta at epsilon {certificate.epsilon:g}" if certificate.delta else "Pure loss"
        asked = certificate.delta or certificate.epsilon
        found.append(bars(losses, title=f"{what}: {_short(name)}; dashed: asked for", mark=asked))
    return found


def _losses(certificate: Fields, name: str) -> list[tuple[str, float, str]]:
    """Under the observed law, and under wider ones, as the certificate has them."""
    observed = certificate.observed[name]
    upper = (observed.hockey_stick if certificate.delta else observed.pure_loss).upper
    wider = {} if is_of_other_rows(certificate) else certificate.wider.get(name, {})  # of the table of the plan
    found = {"observed law": rounded_up(upper, digits=_DIGITS)} | dict(wider)
    return [(_short(law), loss, f"{loss:.4g}" if math.isfinite(loss) else "no bound") for law, loss in found.items()]


def _short(name: str) -> str:
    text = shown(name)
    return text if len(text) <= 15 else text[:14] + "…"
