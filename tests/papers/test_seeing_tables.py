"""Least errors of channels that see the secret, for every cap of readers: the note on tables, parts A2 and A4.

Numbers in cells have the error of the cells too.
"""

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from conftest import few, table

from puffer_frames import Channel
from puffer_frames.mechanisms.channel.best import best_channel, best_of_subsets
from puffer_frames.mechanisms.channel.program import fault, in_integers

ADULT = {0: "age", 1: "workclass", 3: "education", 4: "education-num", 5: "marital-status", 6: "occupation"}
ADULT |= {7: "relationship", 8: "race", 9: "sex", 10: "capital-gain", 12: "hours"}
ROWS = [(0.3, None, 0), (0.3, 8.0, 2), (1.0, None, 0), (1.0, 8.0, 0), (1.0, 8.0, 2), (1.0, 4.0, 0), (2.0, 8.0, 2)]
"""Epsilon, cap, and how many times 1/sqrt(rows of the secret) of contamination."""
READER_CAPS = (0, 0.5, 1, 2, 3, None)
"""Times epsilon; 0 is a channel that sees the value alone."""

# table, public column, secret; then the rows
TABLES = """
adult education-num race
    1.182515, 1.055882, 0.899377, 0.645793, 0.465325, 0.055833
    1.555762, 1.451444, 1.287608, 1.034305, 0.843398, 0.182824
    0.302694, 0.177110, 0.097325, 0.040386, 0.021303, 0.010011
    0.308832, 0.183622, 0.107541, 0.054193, 0.038032, 0.028792
    0.656273, 0.490259, 0.307322, 0.134254, 0.076487, 0.048785
    0.542701, 0.489621, 0.442553, 0.371586, 0.335209, 0.318171
    0.114745, 0.058998, 0.035979, 0.026042, 0.024507, 0.024323
adult education-num sex
    0.060320, 0.049211, 0.038057, 0.025658, 0.018635, 0.006558
    0.257489, 0.226841, 0.202421, 0.173005, 0.153529, 0.118386
    0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000
    0.022856, 0.022856, 0.022856, 0.022856, 0.022844, 0.022832
    0.041096, 0.035072, 0.032101, 0.029138, 0.027817, 0.027022
    0.510300, 0.505840, 0.490292, 0.466470, 0.455041, 0.450242
    0.022856, 0.022856, 0.022856, 0.022856, 0.022856, 0.022856
adult workclass race
    0.217652, 0.174300, 0.134147, 0.086528, 0.061402, 0.007064
    0.302970, 0.302970, 0.288532, 0.244895, 0.197006, 0.028426
    0.018866, 0.009933, 0.005903, 0.002742, 0.001718, 0.001100
    0.020034, 0.011209, 0.007301, 0.004250, 0.003405, 0.003181
    0.183541, 0.116567, 0.069958, 0.030644, 0.015940, 0.008406
    0.099594, 0.097160, 0.093509, 0.078961, 0.067152, 0.061530
    0.016642, 0.007924, 0.005051, 0.003362, 0.003219, 0.003203
adult relationship sex
    0.229538, 0.229535, 0.229117, 0.224222, 0.207913, 0.154572
    0.246359, 0.246204, 0.246042, 0.245673, 0.232691, 0.172715
    0.103187, 0.098037, 0.094914, 0.091870, 0.090702, 0.089977
    0.104145, 0.099025, 0.095919, 0.092893, 0.091779, 0.091065
    0.108790, 0.103260, 0.099906, 0.096635, 0.095415, 0.094670
    0.152478, 0.148575, 0.146146, 0.141591, 0.139027, 0.138325
    0.035094, 0.035091, 0.035088, 0.035078, 0.035075, 0.035075
adult marital-status sex
    0.241269, 0.228895, 0.214541, 0.182515, 0.163472, 0.106316
    0.264287, 0.249856, 0.235017, 0.207956, 0.188240, 0.130119
    0.040859, 0.038931, 0.033973, 0.030330, 0.029165, 0.028471
    0.042034, 0.040048, 0.035184, 0.031653, 0.030492, 0.029891
    0.057869, 0.054684, 0.048119, 0.043490, 0.041980, 0.040976
    0.090792, 0.088902, 0.088304, 0.086913, 0.086076, 0.085793
    0.006037, 0.005668, 0.005467, 0.005370, 0.005362, 0.005358
bank job marital
    0.102496, 0.084176, 0.072874, 0.058313, 0.050124, 0.032499
    0.209114, 0.182574, 0.160838, 0.133172, 0.114645, 0.071444
    0.019633, 0.018321, 0.017830, 0.017366, 0.017198, 0.017102
    0.022924, 0.021663, 0.021198, 0.020758, 0.020608, 0.020500
    0.029259, 0.027069, 0.025598, 0.024106, 0.023535, 0.023346
    0.163930, 0.161729, 0.160795, 0.158962, 0.158703, 0.158615
    0.012095, 0.011435, 0.011248, 0.011124, 0.011114, 0.011114
adult occupation sex
    0.164793, 0.158931, 0.151703, 0.135737, 0.125717, 0.086755
    0.209776, 0.205769, 0.198832, 0.179309, 0.162177, 0.108283
    0.053265, 0.043571, 0.038102, 0.032637, 0.030722, 0.029632
    0.056414, 0.046869, 0.041485, 0.036239, 0.034365, 0.033431
    0.070032, 0.057081, 0.049695, 0.042736, 0.040190, 0.038856
    0.196804, 0.188855, 0.181521, 0.168573, 0.164879, 0.163201
    0.008286, 0.007955, 0.007850, 0.007798, 0.007792, 0.007791
student G3 sex
    0.171904, 0.148839, 0.131744, 0.113218, 0.100983, 0.063471
    1.814520, 1.613186, 1.480721, 1.336265, 1.275895, 1.207838
    0.009083, 0.007503, 0.006646, 0.005481, 0.005105, 0.004897
    0.030746, 0.030558, 0.030001, 0.029377, 0.029131, 0.028993
    0.393369, 0.363665, 0.343641, 0.328471, 0.324140, 0.321902
    0.741448, 0.736460, 0.731861, 0.722461, 0.717810, 0.716403
    0.065256, 0.058457, 0.055147, 0.051612, 0.051136, 0.051075
adult education race
    0.232604, 0.208955, 0.182946, 0.132882, 0.095899, 0.012709
    0.402920, 0.365919, 0.347046, 0.326248, 0.286274, 0.057896
    0.058137, 0.034879, 0.020355, 0.009285, 0.005389, 0.002989
    0.060725, 0.037697, 0.023582, 0.012842, 0.009281, 0.007744
    0.173731, 0.143318, 0.096608, 0.042886, 0.025324, 0.017510
    0.191235, 0.178485, 0.159647, 0.124374, 0.102781, 0.098809
    0.048153, 0.023854, 0.014221, 0.008538, 0.007997, 0.007989
adult hours sex
    4.433653, 4.052225, 3.662650, 2.979950, 2.564244, 1.746269
    5.621249, 5.174403, 4.681919, 3.897035, 3.356865, 2.298994
    0.562281, 0.554291, 0.546931, 0.540021, 0.538240, 0.537329
    0.638965, 0.632088, 0.626070, 0.621944, 0.620771, 0.620225
    1.099121, 0.944389, 0.882656, 0.829544, 0.800794, 0.780507
    2.783107, 2.768109, 2.753154, 2.722716, 2.675331, 2.648084
    0.619108, 0.619108, 0.619108, 0.619108, 0.619108, 0.619104
"""
FEW_CAPS = (0, 1, 2, None)

# column, secret, quantiles, epsilon, cells: error of the cells; four without and four with contamination and a cap of 8
CELLS = """
hours sex 16 1.0 8: 1.1985, 1.1985, 1.1985, 1.1985, 1.1985, 1.5741, 1.4063, 1.3493, 1.3143
hours sex 32 1.0 16: 0.5340, 0.5623, 0.5469, 0.5400, 0.5373, 1.0991, 0.8827, 0.8295, 0.7805
hours sex 64 1.0 23: 0.2731, 0.3140, 0.2909, 0.2823, 0.2786, 1.0685, 0.8054, 0.7353, 0.6757
hours sex 16 0.3 8: 1.1985, 5.1475, 4.2186, 3.4916, 2.2629, 5.9465, 4.9429, 4.1140, 2.6313
hours sex 32 0.3 16: 0.5340, 4.4337, 3.6627, 2.9800, 1.7463, 5.6212, 4.6819, 3.8970, 2.2990
hours sex 64 0.3 23: 0.2731, 4.0560, 3.3529, 2.7369, 1.5180, 5.5089, 4.6235, 3.8568, 2.2446
age sex 16 1.0 16: 0.9315, 0.9315, 0.9315, 0.9315, 0.9315, 1.0078, 1.0078, 1.0078, 1.0078
age sex 32 1.0 32: 0.4278, 0.4278, 0.4278, 0.4278, 0.4278, 0.5895, 0.5878, 0.5872, 0.5870
age sex 64 1.0 46: 0.1277, 0.1277, 0.1277, 0.1277, 0.1277, 0.3849, 0.3776, 0.3747, 0.3729
age sex 16 0.3 16: 0.9315, 1.7700, 1.3862, 1.2328, 1.0381, 2.6818, 2.1601, 1.8543, 1.3186
age sex 32 0.3 32: 0.4278, 1.3042, 0.9087, 0.7506, 0.5436, 2.5841, 2.0239, 1.7391, 1.2081
age sex 64 0.3 46: 0.1277, 1.0286, 0.6269, 0.4651, 0.2566, 2.5059, 1.9494, 1.6440, 1.0800
capital-gain sex 16 1.0 3: 682.2, 682.2, 682.2, 682.2, 682.2, 685.6, 685.6, 685.6, 685.6
capital-gain sex 32 1.0 4: 536.7, 536.7, 536.7, 536.7, 536.7, 560.3, 549.4, 548.4, 547.4
capital-gain sex 64 1.0 7: 286.8, 286.8, 286.8, 286.8, 286.8, 530.7, 521.2, 494.2, 479.2
capital-gain sex 16 0.3 3: 682.2, 994.1, 869.6, 816.7, 722.8, 1075.8, 951.3, 873.6, 760.1
capital-gain sex 32 0.3 4: 536.7, 991.3, 799.9, 717.1, 589.8, 1075.8, 946.5, 882.5, 711.1
capital-gain sex 64 0.3 7: 286.8, 826.4, 679.3, 576.8, 421.8, 1058.0, 939.2, 862.0, 695.4
chol sex 16 1.0 16: 7.1181, 7.1181, 7.1181, 7.1181, 7.1181, 15.4395, 13.7316, 13.4457, 13.2665
chol sex 32 1.0 32: 4.0406, 4.2785, 4.1745, 4.1439, 4.1250, 14.5391, 12.9633, 12.6249, 12.4301
"""


@cache
def rows_of(name):
    if name == "adult":
        return table("adult.data", header=None, skipinitialspace=True, usecols=list(ADULT)).rename(columns=ADULT)
    if name == "heart":
        heart = table("processed.hungarian.data", header=None, na_values="?", usecols=[1, 4])
        return heart.set_axis(["sex", "chol"], axis=1).dropna(ignore_index=True)
    return table({"bank": "bank-full.csv", "student": "student-por.csv"}[name], sep=";")


quantiles_of = partial(np.quantile, method="inverted_cdf")  # values that occur


def cells_of(values, quantiles):
    """The cell of each value between quantiles, a value on an edge in the lower one; and the medians of the cells."""
    edges = np.unique(quantiles_of(values, np.arange(1, quantiles) / quantiles))
    cell = np.unique(np.searchsorted(edges, values, side="left"), return_inverse=True)[1]
    return cell, np.array([quantiles_of(values[cell == k], 0.5) for k in range(cell.max() + 1)])


def costs_of(values, cell, medians):
    """What each median costs in place of the values of each cell, on average; of a cell without values, its median."""
    own = [values[cell == k] if (cell == k).any() else medians[k : k + 1] for k in range(len(medians))]
    return np.array([np.abs(each[:, None] - medians).mean(axis=0) for each in own])


@cache
def counted(name, public, secret, quantiles=None):
    """Counts by secret, the levels, and of cells the costs of all rows and of each secret."""
    frame = rows_of(name)
    column, costs = frame[public], None
    if quantiles:
        values = column.to_numpy(float)
        column, medians = cells_of(values, quantiles)
        groups = [np.ones(len(frame), bool)] + [np.array(frame[secret] == s) for s in sorted(frame[secret].unique())]
        costs = [costs_of(values[rows], column[rows], medians) for rows in groups]
    found = pd.crosstab(frame[secret], column)
    return {s: row.tolist() for s, row in zip(found.index, found.to_numpy())}, found.columns.tolist(), costs


def least_error(counts, levels, costs, *, epsilon, cap, times, reader_cap):
    """Of the channel of the package, verified in integers."""
    options = Channel(
        sees="secret",
        radius={s: min(0.5, times / math.sqrt(sum(row))) for s, row in counts.items()},
        cap=cap,
        reader_cap=None if reader_cap is None else reader_cap * epsilon,
    )
    found = best_channel(counts, levels=levels, epsilon=epsilon, options=options)
    if costs is None:
        return found.expected_error
    problem = replace(found.problem, cost=np.concatenate(costs[1:] if options.sees_secret else costs[:1]))
    matrix, _, _ = best_of_subsets(problem, most=None)
    weights = in_integers(matrix, problem)
    assert fault(weights.tolist(), problem) is None
    return problem.expected_cost(weights / 2.0**62)


def entries():
    """The rows of the tables of A2."""
    lines = TABLES.strip().splitlines()
    for heading, *rows in zip(*(lines[k::8] for k in range(8))):
        yield from ((heading, *asked, row) for asked, row in zip(ROWS, rows, strict=True))


@few(2)
@pytest.mark.parametrize(("heading", "epsilon", "cap", "times", "row"), list(entries()), ids=str)
def test_error_against_every_cap(heading, epsilon, cap, times, row):
    """Six printed digits: half of the last one, and a millionth."""
    name, public, secret = heading.split()
    known = counted(name, public, secret, 32 if public == "hours" else None)
    errors = [float(error) for error in row.split(",")]
    for reader_cap, error in zip(READER_CAPS, errors, strict=True):
        found = least_error(*known, epsilon=epsilon, cap=cap, times=times, reader_cap=reader_cap)
        assert found == pytest.approx(error, abs=6e-7 + 1e-6 * error), reader_cap


@few(1)
@pytest.mark.parametrize("line", CELLS.strip().splitlines())
def test_numbers_in_cells(line):
    """Four printed digits of most, one of capital-gain: half of the last one, and a little."""
    heading, numbers = line.split(": ")
    public, secret, quantiles, epsilon, cells = heading.split()
    counts, levels, costs = counted("heart" if public == "chol" else "adult", public, secret, int(quantiles))
    assert len(levels) == int(cells)
    binning, *errors = numbers.split(", ")
    near = 0.6 * 10.0 ** -len(binning.partition(".")[2])
    shares = np.sum(list(counts.values()), axis=0) / sum(map(sum, counts.values()))
    assert float(shares @ costs[0].diagonal()) == pytest.approx(float(binning), abs=near)
    for k, error in enumerate(errors):
        asked = {"cap": 8.0 if k >= 4 else None, "times": 2 if k >= 4 else 0, "reader_cap": FEW_CAPS[k % 4]}
        found = least_error(counts, levels, costs, epsilon=float(epsilon), **asked)
        assert found == pytest.approx(float(error), abs=near), asked
