"""Parts of work in two threads."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from puffer_frames.numbers import threads
from puffer_frames.numbers.threads import ahead, each_of


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def test_order_of_results_small_work_and_errors():
    waiting = threading.Barrier(2, timeout=600)

    def work(part):
        if part < 2:
            waiting.wait()  # the first two parts are worked on at once
        return -part

    assert each_of(range(9), work, large=True) == [-part for part in range(9)]

    def name(_part):
        return threading.current_thread().name

    mine = threading.current_thread().name
    assert set(each_of(range(4), name, large=False)) == {mine}
    assert mine not in each_of(range(4), name, large=True)
    with pytest.raises(ZeroDivisionError):
        each_of([1, 0], lambda part: 1 // part, large=True)


def test_floating_point_errors_are_handled_as_outside():
    def work(part):
        return np.float64(part) / np.float64(0.0)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        each_of([1.0, 2.0], work, large=True)
    with np.errstate(divide="ignore"):
        assert each_of([1.0, -2.0], work, large=True) == [np.inf, -np.inf]


def test_nothing_is_made_any_more_once_it_is_closed():
    making, busy = threading.Event(), []

    def items():
        for k in range(100):
            busy.append(k)
            if k == 1:
                making.set()
                time.sleep(0.1)
            yield k
            busy.pop()

    found = ahead(items(), wait=True)
    assert next(found) == 0
    making.wait(20)
    found.close()
    made = list(busy)
    time.sleep(0.05)
    assert busy == made == [1]


def test_a_limit_in_several_threads_is_gone_after_the_last_one():
    """Two that overlap left the process with one thread of linear algebra: each restored what it had found."""

    def limits():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(limits=3, user_api="blas"):
        before, first, second = limits(), threads.one_blas_thread(), threads.one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(limits()) <= {1}
        second.__exit__(None, None, None)
        assert limits() == before
