"""The process that Spark forks its Python workers from, with the package in memory: a worker has not to import it."""

import gc

from pyspark.daemon import manager

import puffer_frames  # noqa: F401 - for the workers

if __name__ == "__main__":
    gc.freeze()  # a worker looks for garbage after every task: not among what is imported
    manager()
