"""What a report refers to."""

from __future__ import annotations

from collections.abc import Mapping

from puffer_frames.certificates.fields import Fields

_PAPERS: Mapping[str, str] = {
    "[SWC17]": "Song, Wang, Chaudhuri, Pufferfish privacy mechanisms for correlated data, SIGMOD 2017",
    "[D22]": "Ding, Kantorovich mechanism for pufferfish privacy, AISTATS 2022",
    "[D24]": "Ding, Approximation of pufferfish privacy for Gaussian priors, IEEE TIFS 19, 2024",
    "[DLYZ]": "Ding, Lu, Yang, Zhang, Multi-user pufferfish privacy",
    "[SC17]": "Song, Chaudhuri, Composition properties of inferential privacy for time-series data, Allerton 2017",
}
"""As in the README."""
_ALWAYS = (
    "Kifer, Machanavajjhala, Pufferfish: a framework for mathematical privacy definitions, ACM TODS 39(1), 2014: the "
    "definition",
    "NIST SP 800-226, Guidelines for evaluating differential privacy guarantees, 2025",
    "ISO/IEC 27559:2022, Privacy enhancing data de-identification framework",
)


def references(certificate: Fields, /) -> list[str]:
    """The definition, the papers that the certificate names, and the standards of the checklist."""
    first, *standards = _ALWAYS
    return [first, *(f"{key} {text}" for key, text in _PAPERS.items() if key in certificate.source), *standards]
