"""The sentences of a certificate about a release through a channel."""

from __future__ import annotations

from collections.abc import Mapping

from puffer_frames.certificates.statement import Kind

CHANNEL_SENTENCES: Mapping[str, tuple[Kind, str]] = {
    "channel-exact": (
        "proved",
        "The probabilities of the released levels meet the guarantee under every belief named here: checked in whole "
        "numbers, without rounding.",
    ),
    "channel-population": (
        "proved",
        "Where what is assumed here holds: with {confidence} % confidence over the draw of the rows that the plan was "
        "made from, the guarantee holds for the laws of the population behind them, within the declared levels.",
    ),
    "channel-radius": (
        "proved",
        "The guarantee also holds where the law is somewhat off: under every law that results when each row, "
        "with probability {radius}, whatever its value, has any level of the column in place of its own.",
    ),
    "channel-cap": (
        "proved",
        "Under any law of these levels at all, the loss of one release is at most {cap}; the losses of several add.",
    ),
    "channel-reader": (
        "proved",
        "The probabilities depend on the secret of the row too. A reader who knows the value itself: the released one "
        "changes the log-odds of two secrets by at most {most}. Any reader: by at most this more than the values "
        "themselves could. The losses of several releases add.",
    ),
    "channel-reader-any": (
        "not covered",
        "A reader who knows the value itself: the probabilities depend on the secret of the row too, and nothing "
        "bounds what the released value tells him of it.",
    ),
    "channel-unlike": (
        "not covered",
        "Equal treatment: equal values of rows with different secrets are released with different probabilities.",
    ),
    "channel-brittle": (
        "not covered",
        "The value itself: most values may be released unchanged, and under another law of the levels the loss may "
        "have no bound.",
    ),
    "channel-again": (
        "not covered",
        "A second release of this column of the same records: the guarantee rests on the randomness of the values.",
    ),
    "channel-again-capped": (
        "not covered",
        "A second release of this column of the same records: its guarantee rests on the randomness of the values. "
        "Only the bound under any law adds up.",
    ),
    "channel-learned": (
        "not covered",
        "What the choice of the probabilities tells: they were computed from the table, and are not printed here "
        "unless this certificate says so.",
    ),
    "channel-levels": (
        "not covered",
        "Which levels there are: they were learned from the table, and the release shows them.",
    ),
    "channel-matrix": (
        "not covered",
        "What the printed table of probabilities tells: it was computed from the counts of every secret.",
    ),
    "channel-figures": (
        "not covered",
        "What the printed {figures} tell: exact statistics of the table, which can give away a record to a reader who "
        "knows all others.",
    ),
    "channel-other-rows": (
        "assumed",
        "The probabilities were computed from other rows than these. The beliefs are those learned there.",
    ),
    "channel": (
        "done",
        "Each value of {what} was replaced by a random level of the column, often by itself. Counts and means of the "
        "release are not those of the table.{kept}",
    ),
    "channel-rows": (
        "done",
        "The values of {what} in a row were replaced together by a random row of levels, often by themselves. Counts "
        "and means of the release are not those of the table.{kept}",
    ),
    "channel-missing": ("done", "A missing value is a level like the others, and may be released for any."),
    "channel-merged": ("done", "Rare levels were merged into one before that."),
    "channel-cells": ("done", "Values were put into cells first; the released levels are medians of the cells."),
    "channel-clipped": ("done", "Values beyond the domain were moved to its ends first."),
    "channel-draw": (
        "technical",
        "Each level was drawn with 62 bits of AES-256 in counter mode, so that its probability is a whole multiple of "
        "2**-62, exactly.",
    ),
}
"""Kind and text per sentence, a part of `sentences.SENTENCES`."""
