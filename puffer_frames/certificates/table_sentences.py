"""The sentences of a certificate about a whole table that was released column by column."""

from __future__ import annotations

from collections.abc import Mapping

from puffer_frames.certificates.statement import Kind

TABLE_SENTENCES: Mapping[str, tuple[Kind, str]] = {
    "table-loss": (
        "proved",
        "Whatever was released of a row: the released values of the row together change the log-odds of two secrets by "
        "at most epsilon, rounding of the arithmetic included, under each network among the beliefs. A network is a "
        "model of the table, not the table.",
    ),
    "table-readers": (
        "proved",
        "A reader who knows a whole row as it was: its release changes the log-odds of two secrets by at most {known}. "
        "Any reader, whatever is believed: by at most {cap}. These bounds are sums over {columns} columns: "
        "bounds far above epsilon give no practical protection. They add up over several releases of the row.",
    ),
    "table-refits": (
        "measured",
        "Under networks that were fitted again, to other draws of the rows and with more trees, delta is at most "
        "{delta} at this epsilon ({confidence} % confidence); about 99 % of the changes of the log-odds are at most "
        "{tail}, and the best guess between two secrets has an AUC of about {auc}. These networks say how far the "
        "fitted one may be off; no bound follows for the laws of the population.",
    ),
    "table-attacks": (
        "measured",
        "On {rows} rows{some} that the network was not fitted to, {attackers} attackers that were fixed beforehand "
        "guessed the secret with an AUC of at most {auc}, from the raw columns {raw}; under the network none has more "
        "than {allowed}. They showed a loss of at least {shown} ({confidence} % confidence). Other attackers may do "
        "better.",
    ),
    "table-unattacked": (
        "not covered",
        "Attacks: none was tried on rows that the network was not fitted to.",
    ),
    "table-exceeds": (
        "measured",
        "ATTACKERS SHOWED MORE THAN EPSILON on rows that the network was not fitted to: the network misses what these "
        "columns tell together. The release was asked for all the same.",
    ),
    "table-far": (
        "measured",
        "Under networks that were fitted again, at least 1 % of the changes of the log-odds are more than 1.5 times "
        "epsilon: the rows do not settle the network, or it misses what columns tell together.",
    ),
    "table-planned": (
        "not covered",
        "The rows of the table: a reader who holds them recognises them in the release, whether or not the network was "
        "fitted to them. What the plan tells of the rows that it was made from is not bounded.",
    ),
    "table-laws": (
        "not covered",
        "Other laws of the columns: the observed frequencies of whole rows, and those of the population. Epsilon holds "
        "under the network.",
    ),
    "table-some": (
        "not covered",
        "A reader who knows some columns of a row as they were: epsilon does not bound what such a reader learns.",
    ),
    "table-again": (
        "not covered",
        "A second release of the same rows: the two epsilons may not be added. Together the releases can lose "
        "more, and nothing is promised of them.",
    ),
    "table-shifted": (
        "not covered",
        "Associations: those of the columns with the secret are weakened on purpose, others change with them, and a "
        "released row may combine values that no row of the table has.",
    ),
    "table": (
        "done",
        "Each of {what} was replaced, one after another, by a random value of the column, often by its own. The "
        "probabilities depend on the secret of the row{known} and on what was released of it before.",
    ),
    "table-numbers": (
        "done",
        "Of {what} a cell of values was drawn, and one value of the cell is released: exact values are not kept.",
    ),
    "table-derived": ("done", "Columns that are functions of others were computed from the release of these: {what}."),
}
"""Kind and text per sentence, a part of `sentences.SENTENCES`."""
