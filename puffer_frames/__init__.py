"""Pufferfish privacy for pandas, Polars and Spark: publish a table, keep a column secret.

>>> import numpy as np, pandas as pd, puffer_frames
>>> rng = np.random.default_rng(0)
>>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
>>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1)
>>> released.puffer.verify()
'unsigned: cannot be trusted'

Here are the verbs and what they take. `puffer_frames.core` has the numeric core, `puffer_frames.papers` the published
conditions, `puffer_frames.errors` every error and warning.
"""

import sys
from typing import TYPE_CHECKING, Any

from puffer_frames import core, errors, papers
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.version import __version__
from puffer_frames.doors.accessor import of, register
from puffer_frames.errors import (
    FewRowsWarning,
    KeptColumnWarning,
    LedgerWarning,
    PufferError,
    PufferWarning,
    RareLevelsWarning,
    RowOrderWarning,
    SuspectValuesWarning,
    UnreadColumnWarning,
    UnsoundTheoremWarning,
    WeakGuaranteeWarning,
    WideNoiseWarning,
)
from puffer_frames.mechanisms.arguments import Layout
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.priors.markov import MarkovChain, binary_class
from puffer_frames.scales.learned import Bootstrap, Contamination, Population
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs import pictures as pictures
from puffer_frames.verbs.answers.aggregates import aggregate
from puffer_frames.verbs.answers.series import histogram
from puffer_frames.verbs.attached import certificate_of, read_certificate, verify, write_parquet
from puffer_frames.verbs.auditing.audited import audit
from puffer_frames.verbs.comparing import compare
from puffer_frames.verbs.estimating.estimation import estimate
from puffer_frames.verbs.ledgers.composition import compose
from puffer_frames.verbs.ledgers.release_ledger import Ledger, ledger
from puffer_frames.verbs.plans.plan import Plan, calibrate, load_plan
from puffer_frames.verbs.quality import compare_tables
from puffer_frames.verbs.release import privatize

if TYPE_CHECKING:
    from puffer_frames.doors.transformer import PufferTransformer

register()


def __getattr__(name: str) -> Any:
    """The transformer, imported when it is asked for: scikit-learn takes a second. Where a name is that has moved."""
    if name == "PufferTransformer":
        from puffer_frames.doors.transformer import PufferTransformer

        return PufferTransformer
    kinds = [each for each in vars(errors) if each.endswith(("Error", "Warning"))]
    homes = {"core": core.__all__, "papers": papers.__all__, "errors": kinds}
    home = next((home for home, names in homes.items() if name in names), None)
    said = f"module {__name__!r} has no attribute {name!r}"
    if home is None:
        raise AttributeError(said)
    # `from puffer_frames import name` would replace the message of an AttributeError, but not that of an ImportError
    imported = sys._getframe(1).f_code.co_name == "_handle_fromlist"
    raise (ImportError if imported else AttributeError)(f"{said}. Write {__name__}.{home}.{name}")


__all__ = [
    "Bootstrap",
    "Certificate",
    "Channel",
    "Contamination",
    "FewRowsWarning",
    "Gaussian",
    "KeptColumnWarning",
    "Laplace",
    "Layout",
    "Ledger",
    "LedgerWarning",
    "MarkovChain",
    "Noise",
    "Plan",
    "Population",
    "PufferError",
    "PufferTransformer",
    "PufferWarning",
    "RareLevelsWarning",
    "RowOrderWarning",
    "Sequential",
    "Stable",
    "Strata",
    "SuspectValuesWarning",
    "Unit",
    "UnreadColumnWarning",
    "UnsoundTheoremWarning",
    "WeakGuaranteeWarning",
    "WideNoiseWarning",
    "__version__",
    "aggregate",
    "audit",
    "binary_class",
    "calibrate",
    "certificate_of",
    "compare",
    "compare_tables",
    "compose",
    "estimate",
    "histogram",
    "ledger",
    "load_plan",
    "of",
    "privatize",
    "read_certificate",
    "verify",
    "write_parquet",
]
