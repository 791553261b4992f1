"""Every sentence that a report adds to those of its certificate, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.statement import KINDS, Sentence, Statement, of_keys

NOT_SAID = "not said"
proved, measured, assumed, uncovered, done, technical, said = KINDS

REPORT_SENTENCES: Mapping[str, Sentence] = {
    # the promise
    "example": proved(
        "Example: a reader who has a belief named here and knows nothing else {whom} takes {first} to be true with "
        "probability 1 in 10 and {second} with 9 in 10. After looking at {what}, this reader may take {again} to be "
        "true with probability at most {after} in 100{but}.",
    ),
    "seen": proved(
        "In other words: if {what} had some outcome with a probability of 10 % under one secret, the probability of "
        "this outcome is at most {seen} % under the other secret of a protected pair.",
    ),
    "auc": proved(
        "In an attacker's terms: under each belief named here, whoever looks at {what} and guesses which of two "
        "protected secrets is behind it has, by whatever attack, an AUC of at most {auc} on average (0.5 is a blind "
        "guess, 1 is always right). The same holds for one secret against any mixture of those that it is protected "
        "from, and for rare secrets{rare} as for others. It is a bound, not a measurement.",
    ),
    "no-promise": uncovered(
        "No promise: the noise came from a seed, and whoever knows the seed can subtract it. The other figures of "
        "this report are those of noise that nobody could draw again.",
    ),
    "weaker-limits": uncovered("For others there are at best the weaker limits under “How robust the promise is”."),
    "sure": proved(
        "How sure: the bound is proved for readers with these beliefs, and it allows for what the computer rounds. "
        "A reader who knows more is not one of them; nothing here tests whether there is one.",
    ),
    "less-sure": measured(
        "How sure: the bound was computed for readers with these beliefs, but is not proved throughout: for such "
        "noise, or for laws that only a plan file has, there is no proof. A reader who knows more is not one of them.",
    ),
    "sure-records": assumed(
        "The bound takes {rows} to be independent of one another: those of one family or household may break it.",
    ),
    "sure-network": measured("Under other networks the promise may be weaker: see “How robust the promise is”."),
    "no-end": proved(
        "The promise does not expire, but it covers only readers with the beliefs named here, and only the released "
        "values and what is computed from them. It does not cover a reader who learns more of a record, now or later, "
        "from another release, a kept column or another table.",
    ),
    "not-dp": uncovered(
        "This is Pufferfish privacy of the secret named here, for readers with the beliefs named here. It is not "
        "differential privacy of all that a record holds.",
    ),
    "not-anonymous": uncovered(
        "Nor is it anonymisation: rows of single persons are released, and they are likely still personal data.",
    ),
    "who-is-in": uncovered("Who is in the table, and how many rows it has{order}."),
    "values-told": uncovered(
        "The values themselves: a released value may be the person's own, or near it. The promise is about {secret} "
        "alone; there is none about anything else.",
    ),
    "open-to-all": uncovered(
        "Open publication: these are rows of single persons, whose values may be their own, so this release alone does "
        "not make them fit for everybody. That takes anonymisation too: no identifiers, unusual values and "
        "combinations made coarser or left out, and a test whether persons can be found (ISO/IEC 27559:2022). "
        "Declared recipients: {recipients}.",
    ),
    "one-row": said("The issuer states: each person has one row. The guarantee of one row is then one of each person."),
    "one-row-unsaid": uncovered(
        "The guarantee is of one row, and nobody has stated that each person has one row: of a person with several "
        "rows, more may be learned.",
    ),
    "smallest-group": measured("The rarest secret has at least {rows} rows."),
    "smallest-few": measured("The rarest secret has fewer than 20 rows."),
    "smallest-tells": uncovered(
        "What the size of the smallest group tells: the page says whether it has fewer than 20 rows, or at least 20, "
        "100 or 1,000. A reader who knows all rows but one may learn the secret of that one from it.",
    ),
    # how to use the file
    "use-noise": technical(
        "The noise has a variance of {variance}: subtract it from that of the column. Means of all rows are right on "
        "average.",
    ),
    "use-slope": measured(
        "The slope of a regression on a noisy column alone comes out smaller than in the raw rows: {share}.",
    ),
    "use-heavy": technical(
        "The noise has no variance: take quantiles and histograms, as `estimate` gives them, and no means.",
    ),
    "use-processed": technical(
        "Values were clipped, rounded or replaced after the noise: take quantiles and histograms, as `estimate` gives "
        "them where it can.",
    ),
    "use-response": technical(
        "A label is the raw one with probability {kept}, else any other, each with {other}: counts of rare labels "
        "come out too large, those of frequent ones too small, and differences between groups too small. The raw share "
        "of a label is about (its released share - {other}) / ({kept} - {other}); `estimate` corrects means by group, "
        "too.",
    ),
    "use-response-strata": technical(
        "With what probability a label is the raw one depends on {given}: `estimate` corrects counts and means by "
        "group.",
    ),
    "use-matrix": technical(
        "The certificate has the table of probabilities, which can be inverted: `estimate` corrects {what} with it.",
    ),
    "use-matrix-lost": measured(
        "The certificate has the table of probabilities, but it has no inverse: some levels cannot be told apart. "
        "`estimate` corrects nothing with it, and figures from the file as it is are biased where nothing else is said "
        "here.",
    ),
    "use-cells": uncovered(
        "Each released value is the median of a cell of values: no mean or slope of the raw values can be computed."
    ),
    "use-moved": technical(
        "Values beyond the bounds (the domain, or the range of the plan's table) were moved to them first: means and "
        "all other figures are of the moved ones.",
    ),
    "use-shares": proved("Shares of {what} are right on average over all rows of the release, and nowhere else."),
    "use-mean": proved("The mean of all rows of the release is right on average, and no other figure."),
    "use-unknown": uncovered(
        "Levels are changed with probabilities that are not published: figures are biased, and nobody outside can say "
        "by how much. Where you need figures, ask for a release that publishes the probabilities, "
        'mechanism=Channel(sees="value", publish_matrix=True): they may then be corrected, and its page says whether.',
    ),
    "use-no-margins": uncovered("Compute figures from the file as it is. Nothing here tells their errors."),
    "use-shares-of-rows": measured(
        "Compute figures from the file as it is. The share of rows with given values of a column (of numbers in cells: "
        "in whole cells) is off by at most the share of its values that change, and for several columns by at most the "
        "sum of their shares: on average, and under the network.",
    ),
    "use-mean-of-rows": measured(
        "Off by at most what the column moves on average, under the network. For numbers in cells the average distance "
        "between a value and the one that is released for its cell comes on top: this page does not print it, so by "
        "hand there is no limit for them.",
    ),
    "use-mean-by-group": measured(
        "Off by at most C / (rows of the group) times the range of possible values, and for numbers in cells by the "
        "gap between neighbouring released values more. C is how many rows may have changed in the column of the "
        "values or in that of the groups: add up the shares of both and 1 %; multiply by the number of all rows; "
        "add three times the square root of that. For groups of fewer than C rows this is the whole range. Mostly "
        "such a mean is off by far less, but nobody outside can say by how much.",
    ),
    "use-no-slope": uncovered(
        "Slopes have no margin, since how a row was changed depends on its secret. Where you need one, ask before this "
        'release is handed over for one with mechanism="noise" in its place.',
    ),
    "use-table": uncovered(
        "Whatever rests on {secret}, or on what tells of it, was changed on purpose: such comparisons are biased, "
        "mostly too small.",
    ),
    "use-kept": technical("Released as it was: figures of it alone are exact."),
    "use-secret": uncovered("Left out: no figure by it can be computed from this file."),
    "use-call": technical(
        'In Python, from a Parquet file: figures = puffer_frames.estimate(pandas.read_parquet("FILE"), '
        'puffer_frames.read_certificate("FILE")). Then {methods} of these columns: estimates for the raw rows, with '
        "standard errors and intervals.",
    ),
    "use-support": technical(
        "Quantiles and histograms of whole numbers take support=1 where the released values span at most 1,024: say "
        '.quantile("X", 0.5, support=1). Where their range is known too, and holds at most as many, say '
        "support=range(LOWEST, HIGHEST + 1): without it figures reach beyond the ends of the range. Where many rows "
        "share a few values, as 40 hours a week, intervals of histograms and quantiles hold less often than they say.",
    ),
    "use-call-table": technical(
        'In Python, from a Parquet file: figures = puffer_frames.estimate(pandas.read_parquet("FILE"), '
        'puffer_frames.read_certificate("FILE")). Then figures.mean("X", by="GROUP", support=(LOWEST, HIGHEST)), '
        '.histogram("X", bins=10, support=(LOWEST, HIGHEST)) or .value_counts("LABEL"): figures of the release, with '
        "bounds for the raw rows that hold at 95 % where the averages under the network do. LOWEST and HIGHEST are the "
        "least and the largest value that there may be.",
    ),
    "use-csv": technical(
        "With a CSV file and this page alone, by hand: a mean of noisy values, of all rows{by_kept}, has a standard "
        "error of at most their standard deviation divided by the square root of their number; {corrected} "
        "corrected as said above. Histograms and quantiles need the certificate: ask for its JSON file, and give"
        ' puffer_frames.Certificate.load("CERTIFICATE.json") to estimate.',
    ),
    "changed": uncovered(
        "The frame or file with this certificate was changed after the release: this report is about the release.",
    ),
    "far-exponent": technical("An exponent far above epsilon gives no practical protection."),
    # where the noise drowns the values
    "useless": measured(
        "One constant in place of every value is about as near as what is released, or nearer, clipping to bounds left "
        "aside, in {names}{how}: single values are of little or no use.",
    ),
    "instead-fewer": said(
        "Leave out columns that nobody needs: the fewer are released together, the less noise they need.",
    ),
    "instead-channel": said(
        'Or take a channel, mechanism="channel": values become other ones of the column at random, and the mean error '
        "is never larger than that of a constant; a warning says where they hardly follow the raw ones. Bins, such as "
        "ages in groups of ten years, change less often than exact values.",
    ),
    "instead-epsilon": said(
        "Or ask for a larger epsilon, if the weaker promise can be justified{times}.",
    ),
    "instead-means": said("Or publish it for means of many rows alone, and say so to whoever gets it."),
    # words
    "word-pair": technical(
        "Two values of what is protected. How well a reader can tell them apart is limited by epsilon.",
    ),
    "word-belief": technical(
        "What a reader takes for true before seeing the release: how often each value occurs, given each secret.",
    ),
    "word-law": technical("How often each value occurs, or with which probability."),
    "word-network": technical("A model of which values depend on which, and how much. It simplifies the truth."),
    "word-quilt": technical(
        "Values around the hidden one, in time or in a network. Once they are known, values beyond tell no more of it: "
        "only what lies between has to be hidden.",
    ),
    "word-plan": technical(
        "What was computed from the table for the release: the noise or the probabilities, and exact statistics of "
        "every secret. The promise holds for a reader who knows the noise or the probabilities, too. Nothing protects "
        "the statistics, so the plan is not published.",
    ),
    "word-epsilon": technical(
        "How strong the promise is: the smaller, the stronger. Odds of two secrets change by a factor of at most "
        "e^epsilon: 1.11 for 0.1, 2.72 for 1, 20.1 for 3.",
    ),
    "word-delta": technical("By how much a probability may be above what epsilon allows; 0 is no exception."),
    "word-loss": technical("What a release gives away, on the scale of epsilon; pure where delta plays no part."),
    "about-how": technical(
        "What is not said here can be said when the release is made, with privatize(..., about=...), a mapping of "
        "issuer, dataset, created, intended_use, contact, recipients, legal_basis and review to texts, and of "
        'rows_per_person to "one"; why this epsilon was chosen, with report(..., justification=...).',
    ),
    # the checklist
    "unit-row": proved("One record: a row of the table."),
    "unit-rows": proved("All rows of one {unit} together, of which there are at most {rows}."),
    "unit-answer": proved("Protected is {subject}."),
    "delta-zero": proved("Delta is 0 under the beliefs named here."),
    "delta-rows": measured(
        "Delta times the number of released rows is at most {product}, below 1 as it should be; the smaller, the "
        "better.",
    ),
    "delta-weak": measured(
        "Delta times the number of released rows may be 1 or more: a release that publishes the secret of one row in "
        "full would meet this delta.",
    ),
    "delta-answers": uncovered(
        "Delta is {delta}. How many units the table has is not in the certificate: compare delta with 1 / (number of "
        "units).",
    ),
    "nothing-beside": done("No column is released as it was."),
    "rows-public": uncovered("The number of rows: it is released as it is."),
    "worst-case": proved(
        "The bound is on the largest risk, not on an average: for readers with the beliefs named here it holds for "
        "every protected pair of secrets{but}.",
    ),
    "in-the-table": proved(
        "The bound holds for a reader who knows that the record is in the table. It does not rely on the rows being a "
        "sample of a larger population.",
    ),
    "central": assumed(
        "Central: whoever made the release held the raw table and the key of the {key}, and is trusted with both.",
    ),
    "machine": uncovered(
        "The machine that made the release: its memory, its running time, and what it wrote elsewhere.",
    ),
    "closed": proved("Whatever is computed from the released values alone keeps the guarantee."),
    "nothing-after": done("Nothing was done to the noisy values."),
    "small-groups": technical(
        "The smaller a group of rows is, the more the noise hides of its totals and means: they are less exact.",
    ),
    "no-bias": technical(
        "The noise is symmetric about 0: up is as likely as down. Nothing else that was done to the values is in the "
        "record.",
    ),
    "audit-none": uncovered("No audit of the release against its table was given to this report."),
    "audit-none-beside": uncovered(
        "Besides the attacks above, no audit of the release against its table was given to this report.",
    ),
    "audit-passed": measured(
        "An audit of the release against its table ({kind}) found no fault. It looks for raw values, for an order or a "
        "seed that tells, and for more of the secret in single released columns than the certificate allows.",
    ),
    "audit-failed": measured("An audit of the release against its table ({kind}) FAILED: do not publish it."),
    "recipients-said": said("{text}"),
    "recipients-unsaid": said("Not said who gets the release. Who may read the raw table is not known here."),
    "law-said": said("Legal basis: {text}."),
    "law-unsaid": said("Not said on what legal basis the release is made."),
    "harm-unsaid": uncovered(
        "What the persons in the table were told, how their data were collected, and what harm a right or wrong guess "
        "of the secret would do: not on this page, but for what it quotes of the issuer.",
    ),
    "identity": uncovered(
        "Whether a row can be found to be a certain person's: that is not measured, and must be assumed of a row with "
        "unusual values.",
    ),
    "review-said": said("Review date: {text}."),
    "review-unsaid": said("Not said when the release is to be reviewed."),
    "review-look": technical(
        "At the review date nothing expires by itself: whoever reviews has to look at new rows, at new releases of the "
        "same persons in the ledger, and at what has become known that readers may know beyond the beliefs named here.",
    ),
    "recall": uncovered(
        "A release cannot be called back. If the raw table, the key of the {key} or the plan become known, another "
        "release of these rows is made, the file is lost, or a person in it is recognised: stop using the file and "
        "passing it on, and at once tell {contact}, who decides what follows.",
    ),
    "epsilon-said": said("{text}"),
    "epsilon-unsaid": said("Not said why this epsilon was chosen."),
    "use-said": said("{text}"),
    "use-unsaid": said("Not said."),
    "issuer-said": said("{issuer}{contact}."),
    "issuer-unsaid": said("Not said who answers for the release."),
    "signed": uncovered(
        "Signed in the name of {issuer}, with the Ed25519 key {key}. This page cannot check that: take the public key, "
        "PUBLIC.pem, from the issuer, not from whoever sent the file, compare its fingerprint with this one, and use "
        "`puffer verify`, which must say “intact”.",
    ),
    "unsigned": uncovered(
        "Unsigned: cannot be trusted. Nothing would show that somebody changed this certificate. What is missing is a "
        "signature with the issuer's Ed25519 key; write the file and this page again once it is signed.",
    ),
    # the ledger
    "ledger-total": proved("All releases of this data set in the ledger together: {total} ({rule})."),
    "ledger-unknown": uncovered("Nothing is known of all releases of this data set together: {reason}."),
    "ledger-lacks": uncovered("This release is not among those of the ledger."),
    "ledger-only": uncovered("A release that was made without this ledger is not in it."),
    "ledger-none": uncovered(
        "No ledger was given to this report, so it knows of no other release: ask the issuer for them before you sign.",
    ),
    # the records for registries
    "relation": uncovered(
        "The privacy relation is of Pufferfish privacy (Kifer, Machanavajjhala 2014), not of differential privacy.",
    ),
    "relation-compared": proved(
        "Compared are the laws of {what} under two protected secrets ({secrets}){given}, under each belief that is "
        "covered: {beliefs}.",
    ),
    "relation-distance": proved("Input distance: 1 for the two secrets of a protected pair; others are not compared."),
    "relation-output": proved("Output measure: {measure}, in both orders. Output distance: at most {bound}."),
    "nothing-before": done("The record names nothing that was done to the values before."),
}
"""Ground and text per sentence; braces are filled in by `claim`."""


def claim(key: str, /, **parts: object) -> Statement:
    """A sentence of the report with its parts filled in."""
    return Statement.of(REPORT_SENTENCES, key, **parts)


def stated(certificate: Fields, keys: Iterable[str], /) -> list[Statement]:
    """The sentences of the certificate with these keys, in its order."""
    return of_keys(certificate.statements, frozenset(keys))
