"""[D24] Figures 3 and 4, as drawn by examples/gaussian_mixtures.py."""

import contextlib
import importlib.util
import io
import re
import sys
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

EXAMPLE = Path(__file__).parents[2] / "examples" / "gaussian_mixtures.py"
DATA = Path(__file__).parents[3] / "shared" / "data"

# Theorem 2 at epsilon 1 for three Gaussians per secret, fitted to the real tables. Measured, not quoted: the fit is the
# library's (EM to a tolerance of 1e-7), the number is recomputed by brute force in test_published_scale. They depend on
# where EM stops: in the fourth digit for a tolerance of 1e-12 or another k-means seed (52.25 to 52.32, 59.80 to 59.91
# in figure 4); scikit-learn's default tolerance of 1e-3 gives 1.83, 1.93 and 28, 34.
PUBLISHED = {3: {0.5: 1.865, 0.3: 1.979}, 4: {0.5: 52.32, 0.3: 59.91}}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("matplotlib", reason="the extra `plot` (matplotlib) is not installed")
    spec = importlib.util.spec_from_file_location("gaussian_mixtures", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def drawn(example, tmp_path_factory):
    """What the command prints, and the folder that it draws into."""
    if not DATA.exists():
        pytest.skip("the real tables of the papers (../shared/data) are not beside this checkout")
    folder = tmp_path_factory.mktemp("figures") / "new"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        example.main(["--data", str(DATA), "--out", str(folder)])
    return printed.getvalue(), folder


def table(text, figure):
    """Numbers of the rows 0.5, 0.3, 1e-05 of a figure: published scale, delta*, scale used, exact scale, verdict."""
    section = text.split(f"Figure {figure}:")[1].split("Figure")[0]
    rows = re.findall(r"^ *([\d.e-]+) +(\S+) +(\S+) +(NOT private|private|undecided) +(\S+) +(\S+)", section, re.M)
    return {float(delta): (*map(float, (a, b, c, d)), verdict) for delta, a, b, verdict, c, d in rows}


@pytest.mark.parametrize("figure", [3, 4])
def test_figure_is_drawn(drawn, figure):
    png = (drawn[1] / f"d24_figure_{figure}.png").read_bytes()
    assert png.startswith(PNG)
    assert len(png) > 20_000


@pytest.mark.parametrize("figure", [3, 4])
def test_printed_scales(drawn, figure):
    rows = table(drawn[0], figure)
    assert list(rows) == [0.5, 0.3, 1e-5]
    for delta, expected in PUBLISHED[figure].items():
        published, measured, used, exact, verdict = rows[delta]
        assert published == pytest.approx(expected, rel=3e-3)
        assert used == published
        assert measured <= delta
        assert verdict == "private"
        assert exact == 0  # docs/theory.md, section 1: under the fitted priors the raw columns are private
    assert "seed 2024: reproducible, hence not private" in drawn[0]


def test_raw_columns(drawn):
    # docs/theory.md, section 1: education about 0.08 and chol about 0.03 under the fitted priors, chol observed 0.63.
    raw = re.findall(r"delta\* = (\S+) \(fitted mixtures\), (\S+) \(observed frequencies\)", drawn[0])
    assert [float(fitted) for fitted, _ in raw] == pytest.approx([0.0822, 0.0351], rel=0.02)
    assert float(raw[1][1]) == pytest.approx(0.635, abs=5e-4)


@pytest.mark.parametrize("delta", [0.5, 0.3])
@pytest.mark.parametrize("figure", [3, 4])
def test_published_scale(example, drawn, figure, delta):
    experiment = next(e for e in example.EXPERIMENTS if e.figure == figure)
    frame = example.read(DATA, experiment)
    plan = example.calibrate(frame, experiment, delta=delta, calibration="theorem")
    expected = brute_force_theorem_2(*plan.priors.values(), epsilon=1.0, delta=delta)
    assert plan.published_scale == pytest.approx(expected, rel=1e-9, abs=0)
    assert table(drawn[0], figure)[delta][0] == pytest.approx(expected, rel=1e-5)


def brute_force_theorem_2(p, q, *, epsilon, delta):
    """[D24] Theorem 2 without linear programming: the cheapest of all vertices of the polytope of couplings.

    A vertex has at most rows + columns - 1 positive entries, and its zeros determine it.
    """
    cells = list(product(range(p.means.size), range(q.means.size)))
    squared = np.array([(p.means[m] - q.means[k]) ** 2 + (p.stds[m] - q.stds[k]) ** 2 for m, k in cells])
    tau = norm.isf(delta / 2)
    asked = np.array([abs(p.means[m] - q.means[k]) + tau * abs(p.stds[m] - q.stds[k]) for m, k in cells])
    sums = np.array([[m == i for m, _ in cells] for i in range(p.means.size)])
    sums = np.vstack([sums, [[k == j for _, k in cells] for j in range(q.means.size)]]).astype(float)
    marginals = np.concatenate([p.weights, q.weights])
    vertices = []
    for basis in map(list, combinations(range(len(cells)), p.means.size + q.means.size - 1)):
        solved, _, rank, _ = np.linalg.lstsq(sums[:, basis], marginals, rcond=None)
        if rank == len(basis) and (solved >= -1e-12).all():
            vertices.append((squared[basis] @ solved, asked[basis] @ solved / epsilon))
    assert len(vertices) > 1
    return min(vertices)[1]


def test_a_missing_file_is_named(example, tmp_path):
    with pytest.raises(SystemExit, match=r"adult\.data is missing"):
        example.main(["--data", str(tmp_path)])


def test_without_matplotlib(example, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match=r"puffer_frames\[plot\]"):
        example.main(["--data", str(tmp_path)])
