"""Plans from files, whatever they release by."""

from __future__ import annotations

from pathlib import Path

from puffer_frames.errors import short_traceback
from puffer_frames.verbs.calibrating.calibration import Calibration
from puffer_frames.verbs.calibrating.channel_calibration import ChannelCalibration
from puffer_frames.verbs.plans.file import read_plan
from puffer_frames.verbs.plans.planned import believed


@short_traceback
def load_plan(path: str | Path, /, *, password: str | bytes | None = None) -> Calibration | ChannelCalibration:
    """Read a plan that `save` wrote: `people.puffer.calibrate(...).save("plan.json")`.

    Parameters
    ----------
    path : str or Path
    password : str or bytes, optional
        That with which the file was saved; left out for a file that is not encrypted.

    Returns
    -------
    Calibration, or ChannelCalibration for a channel
        It releases the rows that the plan was made from as that plan does: for a seed, the same numbers. Its
        `left_out` says what it lacks; `robustness()` is an error.

    Raises
    ------
    PlanFileError
        For a file that is no plan of this version of the package or an earlier one, that was changed or cut short,
        whose parts do not agree, or that has another password.
    ArgumentError, ArgumentTypeError
        For a password that is none.
    OSError
        Where there is no such file, or it cannot be read.

    Notes
    -----
    No code is run from the file, and no other classes are made than those of a plan. A digest finds accidents. What a
    release states is computed again from the counts in the file, and a channel is verified in integers; of strata and
    of columns whose scales were found together `release` measures the rows. Whoever may edit the file can still make
    a plan of their own, of another table. With a password they cannot. **Cost**: some evaluations of the loss per
    column; of a channel of at most 32 levels a linear program; with a password 0.4 seconds and 128 MB of memory.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan, path = people.puffer.calibrate(secret="group", public="score", epsilon=0.5), tempfile.mkdtemp() + "/plan"
    >>> plan.save(path)
    >>> again = puffer_frames.load_plan(path)
    >>> again.scale == plan.scale, again.release(people, rng=7).equals(plan.release(people, rng=7)), again.left_out
    (True, True, ('the laws of its beliefs',))
    """
    return believed(read_plan(path, password=password), [Calibration, ChannelCalibration])
