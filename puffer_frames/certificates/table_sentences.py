"""The sentences of a certificate about a whole table that was released column by column."""

from __future__ import annotations

from collections.abc import Mapping

from puffer_frames.certificates.statement import Kind

TABLE_SENTENCES: Mapping[str, tuple[Kind, str]] = {
    "table-loss": (
        "proved",
        "Whatever was released of a row: the released values of the row together change the odds of two secrets by a "
        "factor of at most e^epsilon, rounding of the arithmetic included, under each network among the beliefs. A "
        "network is a model of the table, not the table.",
    ),
    "table-readers": (
        "proved",
        "A reader who knows a whole row as it was: its release changes the odds of two secrets by a factor of at most "
        "e^{known}. Any reader, whatever is believed: of at most e^{cap}. These exponents are sums over {columns} "
        "columns: far above epsilon they give no practical protection. They add up over several releases of the row.",
    ),
    "table-refits": (
        "measured",
        "Under networks that are not among the beliefs, fitted again to other draws of the rows and with more trees, "
        "delta is at most {delta} at this epsilon ({confidence} % confidence); about 99 % of the rows change the odds "
        "by a factor of at most {tail}, and the best guess between two secrets has an AUC of about {auc} (0.5 is a "
        "blind guess, 1 is always right). These networks say how far the fitted one may be off; no bound follows for "
        "the laws of the population.",
    ),
    "table-attacks": (
        "measured",
        "On {rows} rows that the network was not fitted to{some}, {attackers} attackers that were fixed beforehand "
        "guessed the secret with an AUC of at most {auc} (0.5 is a blind guess, 1 is always right), from the raw "
        "columns {raw}; under the network none has more than {allowed}. They showed {shown} ({confidence} % "
        "confidence). Other attackers may do better.",
    ),
    "table-few-attacked": (
        "not covered",
        "NO ATTACK WAS TRIED ON {secrets}: too few of their rows could be held out. How well an attacker guesses these "
        "is not known; the AUC printed here is of the other secrets.",
    ),
    "table-changed": (
        "measured",
        "The shares of changed values printed here are means over rows that were simulated from the fitted network, "
        "not counts of this release, which differs by chance and where the network is off. Of rare secrets the network "
        "knows little: of their values far more may be changed.",
    ),
    "table-figures": (
        "not covered",
        "What the shares of changed values tell: they follow from the plan, which the guarantee takes for known, so "
        "that they add nothing to what a row may lose under the network. The plan was computed from the table: a "
        "reader who knows all of its rows but one can compute the shares for each row that the last one may be, and "
        "compare.",
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
        "Under networks that were fitted again, the loss of at least 1 % of the rows is more than 1.5 times epsilon: "
        "the rows do not settle the network, or it misses what columns tell together.",
    ),
    "table-unchanged": (
        "measured",
        "HARDLY ANYTHING WAS CHANGED: fewer than 1 % of the cells. The network sees next to nothing in these columns "
        "that tells the secret; what it cannot see, such as a rule over many columns together, is released as it was.",
    ),
    "table-planned": (
        "not covered",
        "The rows of the table: a reader who holds them recognises them in the release, whether or not the network was "
        "fitted to them. What the plan tells of the rows that it was made from is not bounded.",
    ),
    "table-laws": (
        "not covered",
        "The true laws of the columns: the observed frequencies of whole rows, and those of the population. Epsilon "
        "holds only under the network, which is a model of them.",
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
