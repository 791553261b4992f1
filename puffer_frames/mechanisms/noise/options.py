"""The options of noise: its family, and how its scale is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

from puffer_frames.errors import short_traceback
from puffer_frames.frames.columns import Name
from puffer_frames.mechanisms.arguments import Options
from puffer_frames.noise.families import NoiseArgument, noise_family
from puffer_frames.numbers.arguments import check_flag, keep_own
from puffer_frames.papers.catalogue import BOUNDED, check_theorem
from puffer_frames.scales.beliefs import check_components
from puffer_frames.scales.choice import check_calibration
from puffer_frames.scales.remap import check_noise

TheoremWord: TypeAlias = Literal[
    "auto", "translation", "gaussian", "gmm", "coupling", "ubm", "kantorovich", "relaxed", "bernoulli", "bounded"
]
CalibrationWord: TypeAlias = Literal["exact", "theorem"]


@short_traceback
@dataclass(frozen=True)
class Noise(Options):
    """A random number is added to each value of a column of numbers; a label beside numbers may become another.

    Parameters
    ----------
    family : "laplace", "gaussian" or a noise such as Stable(alpha=1.7)
        Laplace noise has light tails, and for two known values the least error of the three at usual epsilons. Gaussian
        noise needs delta > 0; it earns its place with many columns or releases. Stable noise (delta 0) is the sum of
        equally stable shares of many contributors; its tail is heavy, its mean error can be below that of Laplace noise
        where laws overlap: compare `expected_error`. With it the theorems of a coupling within a distance hold
        (translation, kantorovich, bernoulli), and the exact search is one of observed frequencies.
    theorem : str
        "auto", "translation", "gaussian", "gmm", "coupling", "ubm", "kantorovich", "relaxed" or "bernoulli": the
        published condition, and with it the model of the public column given the secret. "auto" takes no model for up
        to 256 distinct values, or more than 100 secrets (bernoulli, kantorovich), else Gaussian mixtures of up to 5
        components by BIC. Of 2 to 4 columns with Laplace noise it finds all scales together, exact under the observed
        frequencies of whole rows, with a small sum of scale / standard deviation. "kantorovich" pairs the observed rows
        of two secrets so that no pair is far apart, for any number of columns; "auto" does so for more than 4.
        "bounded" gives columns noise for the range of each, which holds whatever their joint law, and whose epsilons
        add over releases; so does "auto" in all other cases.
    calibration : str
        "exact": the smallest scale that the engine confirms. "theorem": the published scale, raised where the
        engine does not confirm it; always so with theorem="bounded".
    components : int, optional
        Number of components with theorem="gmm", "coupling" or "ubm"; by default by BIC.
    weights : mapping of column to float, optional
        Of several columns with Laplace noise: what a unit of the scale of a column costs; by default 1 / standard
        deviation.
    remap : bool
        After Laplace or Gaussian noise each value is replaced by the value of the column with the least expected
        absolute error given the noisy one. It costs no epsilon. No function of the noisy value has a smaller error.
        Released values are biased, and means of many are better without it. The release shows which values occur.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a value out of range.

    References
    ----------
    docs/theory.md, sections 2 to 4; of `remap` section 15.

    Examples
    --------
    >>> from puffer_frames import Noise
    >>> Noise("gaussian", theorem="bounded").theorem
    'bounded'
    """

    family: NoiseArgument = "laplace"
    _: KW_ONLY
    theorem: TheoremWord = "auto"
    calibration: CalibrationWord = "exact"
    components: int | None = None
    weights: Mapping[Name, float] | None = None
    remap: bool = False

    def __post_init__(self) -> None:
        keep_own(self, "weights")
        family = noise_family(self.family, role="family")
        check_components(self.components, theorem=check_theorem(self.theorem, noise=family))
        check_calibration(self.calibration)
        if check_flag(self.remap, "remap"):
            check_noise(family)

    def asked(self) -> Mapping[str, Any]:
        """The word of a request is that of plan files."""
        own = {name: getattr(self, name) for name in ("theorem", "calibration", "components", "weights")}
        if self.theorem == BOUNDED.name:  # a scale that the engine finds for the laws of a table holds under no others
            own["calibration"] = "theorem"
        return own | {"mechanism": self.title, "noise": noise_family(self.family)}

    @property
    def title(self) -> str:
        return "remap" if self.remap else "noise"
