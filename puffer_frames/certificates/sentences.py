"""Every sentence of a certificate, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from puffer_frames.certificates.statement import KINDS, Sentence, Statement, of_keys
from puffer_frames.numbers.presentation import shown_names
from puffer_frames.scales.cautions import warn_of_weak_guarantee, warn_of_width

proved, measured, assumed, uncovered, done, technical, _ = KINDS

CAUTIONS: Mapping[str, Sentence] = {
    "warning-seed": uncovered(
        "WARNING: the noise came from a seed. Whoever knows the seed can subtract it: this release is not private.",
    ),
    "observed-exceeds": measured(
        "Measured for {what} under the observed frequencies of these rows: {found}. The guarantee is under the "
        "beliefs named here, not under these frequencies.",
    ),
    "range-exceeds": proved(
        "The range of {what} is wider in these rows than in the table of the plan, for whose range the noise was made. "
        "Under any law on their own range, rounded up: {loss}.",
    ),
    "order-tells": measured("The order of the rows tells more than a random one: {reasons}."),
    "kept-tells": measured("From {kept}, which {are},{beside} {determines} can be told ({measured})."),
    "kept-unread": uncovered(
        "What {kept}, which is kept, tells of the secret: its entries have neither an order nor a text to look at.",
    ),
    "few-rows": measured(
        "These secrets have fewer than {fewest} rows each{table}: {secrets}. Their observed frequencies say little "
        "about anybody else's, and the scale leans on single records.",
    ),
    "few-rows-here": measured(  # of earlier versions: one row could decide whether it was said
        "Not every secret of the plan has {fewest} rows here. Which have fewer, or none, is not said: it might tell "
        "the secret of a record.",
    ),
    "rare-levels": measured(
        "{levels} of the levels have fewer than {fewest} rows each: a released one may be that of one person.",
    ),
    "weak-epsilon": proved(
        "Epsilon is above 10: a reader who thought a secret 50 % likely may end up at 99.99 % or more.",
        warning="epsilon {epsilon:g} promises next to nothing: a reader who gave a secret 50 % may come to 99.99 % "
        "and more",
        hint="Values from 0.1 to 2 are usual.",
    ),
    "weak-delta": proved(
        "Delta times the number of rows is 1 or more: publishing one row's secret in full would satisfy it.",
        warning="delta {delta:g} promises next to nothing for {rows:,} {of}: a release that publishes the secret of "
        "one of them in full meets it",
        hint="Choose a delta far below {least:.2g}.",
    ),
    "refuted": measured(
        "The published scale of {what} is NOT private under the laws that its theorem assumes: {loss}. It is not used.",
    ),
    "no-noise": proved("No noise was needed for this guarantee: the values without noise have it too."),
    "without-noise": proved("No noise was needed for {what}: it has this guarantee without noise."),
    "impossible-table": uncovered(
        "The given {laws} impossible what the table holds: the guarantee is for readers who are wrong about it.",
        warning="the given {laws} impossible {what}: the guarantee is for a reader who is wrong about the table",
        hint="Give a positive probability to all that may occur.",
    ),
    "channel-reader-any": uncovered(
        "A reader who knows the value itself: the probabilities depend on the secret of the row too, and nothing "
        "bounds what the released value tells him of it.",
        warning="with reader_cap=None there is no guarantee against a reader who knows the value: {most}",
        hint="Leave it out for epsilon, and at least 1.",
    ),
    "table-exceeds": measured(
        "ATTACKERS SHOWED MORE THAN EPSILON on rows that the network was not fitted to: the network misses what these "
        "columns tell together. The release was asked for all the same.",
    ),
    "table-beyond": measured(
        "ATTACKERS TELL MORE THAN EPSILON ALLOWS, on rows that the network was not fitted to: the best with an AUC of "
        "{auc}, where none could have more than {allowed} if the network were the truth. The difference is more than "
        "two standard errors of an AUC of so many rows (Hanley and McNeil). The network misses what these columns tell "
        "together. Before you sign, have the release made again with {step}, at a smaller epsilon, or of fewer "
        "columns.",
        warning="attackers tell the secret of held-out rows from the release with an AUC of {auc}, more than the "
        "{allowed} that epsilon allows under the network, by over two standard errors: the network misses what columns "
        "tell together; the certificate says so",
        hint="{hint}",
    ),
    "table-few-attacked": uncovered(
        "NO ATTACK WAS TRIED ON {secrets}: {why}. How well an attacker guesses these was not measured{others}. The "
        "guarantee covers these rows all the same: "
        "under each network among the beliefs, no attack on released rows alone tells one of these secrets from "
        "another, or from any mixture of others, with an AUC above {allowed} on average. This is proved, not measured, "
        "and it rests on the network, which knows less of rare secrets.{needed}",
        warning="no attack was tried on {secrets}: it takes {held} held-out rows of a secret, and two such secrets. "
        "How well an attacker guesses these is not known; the certificate says so",
        hint="{hint}",
    ),
    "table-far": measured(
        "Under other networks that were fitted again, 1 % of the rows lose more than {tail}, over 1.5 times epsilon: "
        "the rows are too few to settle the network, or it misses what columns tell together. Before you sign, have "
        "the release made again with {more}, with {step}, or of fewer columns: at 1.5 times epsilon or less there is "
        "no such warning.",
        warning="under networks that are fitted again, 1 % of the rows lose more than {tail}, over {most:g} times the "
        "epsilon asked for, {epsilon:g}; the certificate says so",
        hint="Say {more}, {step}, or release fewer columns.",
    ),
    "table-unchanged": measured(
        "HARDLY ANYTHING WAS CHANGED: fewer than 1 % of the cells. The network sees next to nothing in these columns "
        "that tells the secret; what it cannot see, such as a rule over many columns together, is released as it was.",
        warning="fewer than 1 % of the cells are changed: the network sees next to nothing in these columns that "
        "tells the secret, and what it cannot see (a rule over many columns together) is released as it is",
        hint="Look whether a column is a code or a check digit of the secret, and leave it out.",
    ),
    "table-idle": measured(
        "ATTACKERS TELL ABOUT AS MUCH FROM THIS RELEASE AS FROM THE RAW COLUMNS, on rows that the network was not "
        "fitted to: an AUC of {best}, and of {raw}. If a release hid half of what the raw columns tell beyond a blind "
        "guess, this would be off by more than two standard errors.",
        warning="attackers tell the secret of held-out rows from the release about as well as from the raw columns "
        "(AUC {best}, and {raw}): what is changed hides little from them{small}; the certificate says so",
        hint="{hint}",
    ),
    "table-useless": measured(
        "ONE CONSTANT IS ABOUT AS NEAR to the values of {columns} as this release, or nearer, on average under the "
        "fitted network: the most frequent label, or the median, in place of every value would do about as well or "
        "better. Single values of these columns are of little or no use.",
    ),
    "table-unrelated": measured(
        "CORRELATIONS ARE MOSTLY LOST between {pairs}: in one simulated release of the rows that the plan was made "
        "from, less than half of what one column explains of the other (r squared, with labels eta squared) was left, "
        "or the sign was another one. Correlations, slopes and counts of both together that are computed from the "
        "release are far from those of the table.",
        warning="the correlation of {pairs} is mostly lost in a release: less than half of r squared (with labels, of "
        "eta squared) is left, or the sign is another one",
        hint="{hint} A correlation that the secret makes is hidden with it.",
        reason="unrelated",
    ),
    "table-shares": measured(
        "SHARES OF LEVELS ARE OFF, on average under the fitted network: {shifts} (of numbers in cells: of a cell). "
        "Counts of these levels in the release are not those of the table.",
        warning="the shares of some levels of {columns} are off on average, by more than {most:g} or by a factor of "
        "more than {times:g}",
        hint="{hint} The plan and the certificate have the figures.",
        reason="shares",
    ),
    "channel-much-merged": measured(
        "MANY ROWS LOSE THEIR LEVEL in {columns}: more than {share} of {rows} have a rare one, which was merged with "
        "the others. The release does not tell these apart, and all errors here are those of the levels as merged.",
        warning="rare levels of {columns} with {share:.0%} of the rows are merged into one: the release does not tell "
        "them apart, and the errors of plan and certificate are those of the merged levels",
        hint="Say fewer rows in merge_rare, or merge levels that are alike into a coarser column.",
        reason="shares",
    ),
    "channel-loose": measured(
        "RELEASED VALUES HARDLY FOLLOW THE RAW ONES in {columns}: over {rows}, their expected correlation is below "
        "0.5, or their mean squared error above the variance. High values may come out low: single values and "
        "comparisons of groups are of no use.",
        warning="the released values of {columns} hardly follow the raw ones: high values may come out low",
        hint='Ask for a larger epsilon, leave the column out, or say mechanism="noise": its error may be larger, but '
        "is 0 on average. The plan has the correlation.",
        reason="correlation",
    ),
    "channel-tail": measured(
        "VALUES FAR OUT COME OUT NEARER TO THE OTHERS in {columns}: on average over {rows}, the mean is off by more "
        "than a tenth of the mean distance to the median, or would be with the highest or the lowest values alone. "
        "Sums, the spread and shares of high and low values in the release are not those of the table.",
        warning="values of {columns} far from the others come out nearer: the mean is off on average by more than a "
        "tenth of the mean distance to the median, or would be with the highest or the lowest values alone. Sums, the "
        "spread and shares of high and low values are off, too",
        hint='Where these matter, say mechanism="noise": its error is larger, but 0 on average. A logarithm of the '
        "column has a shorter tail. The plan has the figures.",
        reason="tail",
    ),
    "channel-shares": measured(
        "SHARES OF LEVELS ARE OFF by more than {most}, or by a factor of more than {times}, on average over {rows}: "
        "{shifts}. Counts of these levels in the release are not those of the table.",
        warning="the shares of some levels of {columns} are off on average, by more than {most:g} or by a factor of "
        "more than {times:g}{lost}",
        hint='Ask for a larger epsilon, or leave the column out. Channel(preserve="marginal") keeps the shares, and '
        "changes more labels. The plan has the figures.",
        reason="shares",
    ),
    "response-shares": measured(
        "SHARES OF LABELS ARE OFF in {columns} by more than {most}, or by a factor of more than {times}, on average "
        "over the rows of the protected secrets that the plan was made from: rare labels come out too often, frequent "
        "ones too seldom. Counts of these labels in the release are not those of the table; `estimate` corrects them.",
        warning="the shares of some labels of {columns} are off on average, by more than {most:g} or by a factor of "
        "more than {times:g}: rare ones come out too often, frequent ones too seldom",
        hint="Take shares and counts from puffer_frames.estimate, which corrects them, ask for a larger epsilon, or "
        "release fewer columns together.",
        reason="shares",
    ),
    "channel-lost": measured(
        "THE TABLE OF PROBABILITIES HAS NO INVERSE: under it some levels of {columns} cannot be told apart, and no "
        "figure of the release can be corrected with it.",
        warning="the published table of probabilities of {columns} has no inverse: some levels cannot be told apart, "
        "and a receiver can correct nothing with it",
        hint='Ask for a larger epsilon, merge levels, or leave publish_matrix out; Channel(preserve="marginal") keeps '
        "the shares on average.",
        reason="inverse",
    ),
    "useless": measured(
        "ONE CONSTANT IS ABOUT AS NEAR to the values of {columns} as this release, or nearer, clipping to bounds left "
        "aside, over the rows of the protected secrets that the plan was made from: the median in place of every "
        "value, or the most frequent label, does about as well. Single values of these columns are of little or no "
        "use.",
        warning="the error of {columns} is larger than that of a constant{where}, or hardly smaller: the median in "
        "place of every value, or the most frequent label, does about as well",
        hint="{hint}",
        reason="constant",
    ),
    "useless-strata": measured(
        "IN SOME STRATA ONE CONSTANT IS NEARER to the values than this release: {parts} of the table that the plan was "
        "made from. There the median of the stratum in place of every value, or its most frequent label, does better "
        "(of strata with few rows, or with nothing to hide, this is judged by the spread of the whole table), and "
        "single values are of no use.",
        warning="the error of {columns} is larger than that of a constant in {where}",
        hint="{first}, condition on fewer columns, or leave these strata out.",
        reason="constant",
    ),
    "remap-shares": measured(
        "VALUES FAR OUT ARE NEVER RELEASED in {columns}: those that take the place of noisy ones lie nearer to the "
        "middle than more than 5 % of {rows}.",
        warning="the values of {share:.0%} of the rows{most} of {columns} are never released: those that take the "
        "place of noisy ones lie nearer to the middle",
        hint="Ask for a larger epsilon, or leave remap out: the error is then larger, but 0 on average.",
        reason="shares",
    ),
    "remap-means": measured(
        "MEANS ARE OFF in {columns}: over {rows}, the expected mean of the released values is further from that of the "
        "raw ones than a tenth of their mean distance from the median. Rare high or low values become common ones: "
        "neither single values nor means tell of them.",
        warning="the mean of {columns} is off: the values that take the place of noisy ones move it by "
        "{share:.0%}{most} of the mean distance of the values from their median",
        hint="Ask for a larger epsilon, or leave remap out: the error is then larger, but 0 on average. The plan has "
        "the figures.",
        reason="tail",
    ),
    "after-bounds": measured(
        "VALUES LIE BEYOND THE BOUNDS that noisy ones are clipped to, in {columns}: more than 1 % of the rows that the "
        "plan was made from. The error that is printed here is the one before that; up to their distance from the "
        "bounds is added to it.",
        warning="about {share:.2%} of the values of {columns} lie beyond the bounds that noisy values are clipped to, "
        "by {away:.3g} on average: up to so much is added to their error, and plan and certificate have that of the "
        "noise alone",
        hint="Give Layout(clip=...) the bounds of the values before the noise, or leave it out.",
        reason="clip",
    ),
    "after-rounding": measured(
        "VALUES THAT ARE NO WHOLE NUMBERS ARE ROUNDED TO INTEGERS in {columns}: over the rows that the plan was made "
        "from, this alone moves them by more than half the error of the noise, on average. The error that is printed "
        "here is the one before that; up to 0.5 is added to it. Where the values span only a few integers, hardly "
        "anything of them is left.",
        warning="rounding to integers alone moves the values of {columns} by {away:.3g} on average, and the mean error "
        "without it is {error:.3g}: up to 0.5 is added, and plan and certificate have the error before rounding",
        hint="Leave out Layout(round=True), or make whole numbers of these columns first, as percent of shares.",
        reason="round",
    ),
}
"""Sentences that warn of a release, in the order in which they are shown; with the words of the warning, where one is
given when the plan is made."""
WARNINGS = tuple(CAUTIONS)


SENTENCES: Mapping[str, Sentence] = {
    **CAUTIONS,
    # of channels
    "channel-exact": proved(
        "The probabilities of the released levels meet the guarantee under every belief named here. This was checked "
        "in whole numbers, which no rounding falsifies.",
    ),
    "channel-population": proved(
        "Where what is assumed here holds: with {confidence} % confidence over the draw of the rows that the plan was "
        "made from, the guarantee holds for the laws of the population behind them, within the declared levels.",
    ),
    "channel-radius": proved(
        "The guarantee also holds where the law is somewhat off: under every law that results when each row, "
        "with probability {radius}, whatever its value, has any level of the column in place of its own.",
    ),
    "channel-cap": proved(
        "Under any law of these levels at all, the loss of one release is at most {cap}; the losses of several add.",
    ),
    "channel-reader": proved(
        "The probabilities depend on the secret of the row too. A reader who knows the value itself: the released one "
        "changes the log-odds of two secrets by at most {most}. Any reader: by at most this more than the values "
        "themselves could. The losses of several releases add.",
    ),
    "channel-unlike": uncovered(
        "Equal treatment: equal values of rows with different secrets are released with different probabilities.",
    ),
    "channel-brittle": uncovered(
        "The value itself: most values may be released unchanged, and under another law of the levels the loss may "
        "have no bound.",
    ),
    "channel-again": uncovered(
        "A second release of this column of the same records: the guarantee rests on the randomness of the values.",
    ),
    "channel-again-capped": uncovered(
        "A second release of this column of the same records: its guarantee rests on the randomness of the values. "
        "Only the bound under any law adds up.",
    ),
    "channel-learned": uncovered(
        "What the choice of the probabilities tells: they were computed from the table.{printed}",
    ),
    "channel-levels": uncovered(
        "Which levels (values) there are{of}: they were learned from the table, and the release shows those that "
        "come in it, which need not be all.{declared}",
    ),
    "channel-matrix": uncovered(
        "What the printed table of probabilities tells: it was computed from the counts of every secret.",
    ),
    "channel-figures": uncovered(
        "What the printed {figures} tell: exact statistics of the table, which can give away a record to a reader who "
        "knows all others.",
    ),
    "channel-other-rows": assumed(
        "The probabilities were computed from other rows than these. The beliefs are those learned there.",
    ),
    "channel": done(
        "Each value of {what} was replaced by a random level of the column, often by itself. Counts and means of the "
        "release are not those of the table.{kept}",
    ),
    "channel-rows": done(
        "The values of {what} in a row were replaced together by a random row of levels, often by themselves. Counts "
        "and means of the release are not those of the table.{kept}",
    ),
    "channel-missing": done("A missing value is a level like the others, and may be released for any."),
    "channel-merged": done(
        "Rare levels were merged into one before that. What is said here of changed values and of errors is of the "
        "merged ones."
    ),
    "channel-cells": done("Values were put into cells first; the released levels are medians of the cells."),
    "channel-clipped": done(
        "Values beyond the domain were moved to its ends first. What is said here of changed values and of errors is "
        "of the moved ones.",
    ),
    "channel-draw": technical(
        "How the levels are drawn: each with 62 random bits, which come from AES-256 in counter mode, a standard "
        "cipher. Each probability is a whole multiple of 2^-62, exactly.",
    ),
    # of whole tables
    "table-loss": proved(
        "Whatever was released of a row: the released values of the row together change the odds of two secrets by a "
        "factor of at most e^epsilon under each network among the beliefs; the bound allows for what the computer "
        "rounds. A network is a model of the table, not the table.",
    ),
    "table-readers": proved(
        "A reader who knows a whole row as it was: its release changes the odds of two secrets by a factor of at most "
        "e^{known}. Any reader, whatever is believed: of at most e^{cap}. An exponent far above epsilon gives no "
        "practical protection; these are sums over {columns} columns. If the row is released again, these two "
        "exponents add up; epsilon does not.",
    ),
    "table-refits": measured(
        "Networks that are not among the beliefs were fitted to other draws of the rows, with more trees. Under these, "
        "and for the worst pair of secrets, rare ones included, delta is at most {delta} at this epsilon ({confidence} "
        "% confidence); about 99 % of the rows change the odds by a factor of at most {tail}, and the best guess "
        "between the two secrets has an AUC of about {auc} (0.5 is a blind guess, 1 is always right). They say how far "
        "the fitted network may be off; no bound follows for the laws of the population.",
    ),
    "table-not-here": uncovered(
        "What these rows hold that the network misses: networks were fitted again, and attackers tried, with the rows "
        "of the plan, not with these.",
    ),
    "table-attacks": measured(
        "{attackers} attackers, fixed beforehand, guessed the secrets of {rows} rows: about half of those that the "
        "network was not fitted to{some}; attackers could learn from the other half. From the release the best had an "
        "AUC of {auc} (0.5 is a blind guess, 1 is always right); from the raw columns, {raw} ({errors}the "
        "best of several is a little too large).{apart} If the network were the truth, no attacker could have an AUC "
        "above {allowed}. {shown} Other attackers may do better.",
    ),
    "table-sizes": uncovered(
        "What the sizes of secrets that no attack was tried on tell: this certificate says whether {whose} has fewer "
        "than 20 rows, or at least 20, 100 or 1,000{few}. A reader who knows all rows but one may learn the secret of "
        "that one from it.",
    ),
    "table-changed": measured(
        "The shares of changed values (of numbers in cells: of those in another cell) are averages over rows that were "
        "drawn from the fitted network. They are not counted in this release, which differs by chance and where the "
        "network is off. Of rare secrets the network knows little: far more of their values may be changed.",
    ),
    "table-figures": uncovered(
        "What the averages under the network tell, such as the shares of changed values: the guarantee takes the plan, "
        "and so these, for known. But the plan was computed from the table: a reader who knows all of its rows but one "
        "can compute them for each row that the last one may be, and compare.",
    ),
    "table-unattacked": uncovered(  # of earlier versions: it did not warn
        "Attacks: none was tried on rows that the network was not fitted to.",
    ),
    "table-planned": uncovered(
        "The rows of the table: a reader who holds them recognises them in the release, whether or not the network was "
        "fitted to them. What the plan tells of the rows that it was made from is not bounded.",
    ),
    "table-laws": uncovered(
        "The true laws of the columns: the observed frequencies of whole rows, and those of the population. Epsilon "
        "holds only under the network, which is a model of them.",
    ),
    "table-some": uncovered(
        "A reader who knows some columns of a row as they were: epsilon does not bound what such a reader learns.",
    ),
    "table-again": uncovered(
        "A second release of the same rows: two epsilons may not be added, and together the releases can lose more "
        "than their sum. All that adds up are the exponents for a reader who knows the whole row, and for any reader.",
    ),
    "table-shifted": uncovered(
        "Associations: those of the columns with the secret are weakened on purpose, others change with them, and a "
        "released row may combine values that no row of the table has.",
    ),
    "table": done(
        "Each of {what} was replaced, one after another, by a random value of the column, often by its own. The "
        "probabilities depend on the secret of the row{known} and on what was released of it before.",
    ),
    "table-numbers": done(
        "Of {what} a cell of values was drawn. One value is released for all values of a cell, and may by chance be "
        "the person's own; the other values of the cell never come out.",
        warning="columns of whole numbers or dates come out with fewer values: {merged}",
        hint="Where each value counts, as of hours and codes, make such a column text: labels keep all values. "
        "mechanism=Sequential(cells={cells}) keeps them too, takes longer and changes more. Where the next value is as "
        "good, as of ages, leave it.",
        reason="cells",
    ),
    "table-other-rows": done(
        "Numbers that the rows of the plan did not have were replaced by the nearest that they had, and computed "
        "columns by what is computed: what is said here of changed values is not of these.",
    ),
    "table-derived": done("Columns that are functions of others were computed from the release of these: {what}."),
    # what is assumed
    "records": assumed("Records are independent of one another."),
    "beliefs": assumed(
        "The guarantee covers readers who believe that the distribution of the true values behind the released ones, "
        "given each secret{strata}, is {beliefs}. Epsilon is promised to no other reader.",
    ),
    "units": assumed("Units are independent of one another. All rows of a person belong to one unit."),
    "draw": assumed("One row of each unit is drawn at random for the answers: a sum is over units, not over rows."),
    "given-law": assumed("What a unit adds has the law that was given for it."),
    "counted": assumed("A count is of {what}."),
    "all-rows": assumed("A unit adds all its rows, taken as independent draws of its law."),
    "equal-rows": assumed("A unit adds all its rows, and reports the same in each of them."),
    "law": assumed("The law of a unit is {law}."),
    "groups": assumed(
        "The groups are public. A unit lies in one of them. They are those of the table: a group that is there tells "
        "that it has a unit.",
    ),
    "divisor": assumed("The divisor {divisor} is public and independent of what is protected."),
    "chain": assumed(
        "Each series is a Markov chain, independent of the others. Its start is {start}, its transition matrix {law}.",
    ),
    "one-matrix": assumed("All series follow the same transition matrix."),
    "several-chains": assumed("The guarantee holds for each of {chains} chains."),
    "network": assumed(
        "The states of the {nodes} nodes depend on one another as the given Bayesian network says, on nothing else.",
    ),
    "range-of-networks": assumed(
        "The guarantee holds for two networks and all between them, whose tables are 1 - w times those of the first "
        "and w times those of the second, with one w for all nodes; for no others.",
    ),
    "several-networks": assumed("The guarantee holds for each of {networks} networks, and for no others."),
    "nodes-public": assumed("The nodes and the list of states are public."),
    "any-dependence": assumed("The values of a series may depend on one another in any way; series do not."),
    "no-gaps": assumed("{series} without gaps."),
    "bridged": assumed("{series} with {gaps}. The chain runs on through the gaps{too}."),
    "independent-gaps": assumed(
        "{series} with {gaps}. The series start anew after a gap, independent of what came before.",
    ),
    "series-public": assumed("Times, lengths of series and the list of states are public."),
    "states-read": uncovered(
        "Which states there are: their list was read from the table, and each has a row of the answer. A state that "
        "few have tells that one of them was in it.",
    ),
    "population-rows": assumed("The rows of each secret are independent draws from a population, one row per person."),
    "unit-rows": assumed("The rows of each unit are independent draws from a population of its own."),
    "from-file": assumed(
        "The plan was read from a file that does not hold these beliefs' laws: {beliefs}. That the noise hides the "
        "secret under them is what the file says; it was not computed again.",
    ),
    "batches": assumed(
        "These rows are the batch {batch!r} of the data set {dataset!r}, and no person{unit} is in two batches of it. "
        "Releases of its other batches are counted as telling nothing of a person in this one.",
    ),
    "other-rows": assumed("The scale was calibrated on other rows than these. The beliefs are those learned there."),
    # what was proved
    "adds-up": proved(
        "Several releases of {what} of the same {rows} add up, where each certificate has this sentence: their "
        "epsilons{deltas} add.",
    ),
    "adds-up-series": proved(
        "Several releases of the same {rows}{under} add up, where each certificate has this sentence: their "
        "epsilons{deltas} add.",
    ),
    "stable-counts": assumed(
        "The loss of a shift under stable noise grows ever more slowly with the shift, on which the scale of several "
        "counts rests: checked on a grid, not proved.",
    ),
    "population": proved(
        "Where what is assumed here holds: with {confidence} % confidence over the draw of the rows that the plan was "
        "made from, the guarantee holds for the laws of the population behind them, its values clipped as these were.",
    ),
    "population-chain": proved(
        "Where what is assumed here holds: with {confidence} % confidence over the draw of the series, the guarantee "
        "holds for the transition matrix that they follow.",
    ),
    "population-units": proved(
        "Where what is assumed here holds: with {confidence} % confidence over the draw of the rows, the guarantee "
        "holds for the laws of the populations behind the units.",
    ),
    "joint-rule": proved(
        "The columns of a row together have the guarantee, whatever their joint law within {range} "
        "(bounded-column rule).",
    ),
    "joint-exact": proved(
        "The columns of a row together have the guarantee under every belief named here: the loss of every possible "
        "released row was bounded. The bound allows for what the computer rounds.",
    ),
    "joint-delta": proved(
        "The columns of a row together have the guarantee under every belief named here: delta was bounded over all "
        "possible released rows. The bound allows for what the computer rounds.",
    ),
    "joint-coupled": proved(
        "The columns of a row together have the guarantee under every belief named here: the rows of any two protected "
        "secrets can be paired so that sum of (distance / scale) over the columns is at most epsilon in every pair.",
    ),
    "adds-up-rows": proved(
        "Several releases of these columns of the same records add up, where all scales of one are in the same "
        "proportions as those of the other: their epsilons add.",
    ),
    "unit-independent": assumed("The rows of one {unit} are independent draws of the law of a row, given its secret."),
    "unit-repeated": assumed("All rows of one {unit} hold the same values."),
    "unit-any": proved(
        "The guarantee holds whatever the joint law of the rows of one {unit}, within the ranges of the columns.",
    ),
    "unit-rows-most": proved(
        "The guarantee is for all rows of one {unit} together, of which there are at most {rows}.",
    ),
    "planned-releases": proved(
        "{releases} releases of these columns of the same {rows}, each with these scales or larger ones, have the "
        "guarantee together. A scale is {factor} times that of a single release.",
    ),
    "refines": proved(
        "This release and {earlier} that it refines ({fingerprints}) have the guarantee of this one together: the "
        "earlier noise is this noise and a random number of its own.",
    ),
    "refined-order": assumed(
        "The rows of the table had the order of the first release: of this, kept columns and the law of its noise were "
        "checked.",
    ),
    "measured-of-one": measured(
        "The losses that were measured under each belief are those of one row of a {unit} in the record; its text has "
        "the bound for all rows of one together.",
    ),
    "measured-of-unit": measured(
        "The losses that were measured are bounds for {rows} rows of a {unit} together: the law of the loss of one row "
        "was composed with itself.",
    ),
    "measured-of-all": measured(
        "The losses that were measured are those of all noisy copies of the values of {whose} together.",
    ),
    "unit-sampled": done(
        "Of each {unit} at most {rows} rows were used, chosen at random whatever they hold; the others were left out.",
    ),
    "unit-numbers": uncovered("How many rows a {unit} has: this number must be public, or independent of the secret."),
    "given": proved(
        "The guarantee is given {given}, released {how}: beyond what {given} tells by itself, the released values "
        "change the odds of two secrets by at most the factor above, for secrets that occur with the same {given}.",
    ),
    "cells": proved(
        "Values were counted in cells. The scale pays for their width: the guarantee is under the exact frequencies.",
    ),
    "shared": proved("{answers} share epsilon{deltas} evenly. Together they have the guarantee."),
    "pure-only": proved("The noise was held to pure privacy, which is more than was asked for."),
    "lipschitz": proved("One changed value changes {what}, before the noise, by at most {most}{how}."),
    "derived-count": proved("The first count is the public total less the second one, at no cost."),
    "group-noise": proved("No quilt helps the values of some {some}: the noise hides {all} as a whole."),
    # what was measured
    "fit-left-out": measured(
        "The fitted model of {what} is not among the beliefs: the table of the plan refutes it at 95 % "
        "(Kolmogorov-Smirnov), and it would need more than twice the noise of the observed frequencies.",
    ),
    "fit-decides": measured(
        "The fitted model of {what} decides the noise{strata}: it needs more than twice that of the observed "
        "frequencies{refuted}.",
        warning="the fitted model of {columns} needs more than twice the noise of the observed frequencies{refuted}",
        hint='Say beliefs="empirical", which leaves the model out, or bin the column first.',
        reason="fit",
    ),
    "fit-refuted": measured(
        "The fitted model of {what} decides the noise{strata}, and the table of the plan refutes it at 95 % "
        "(Kolmogorov-Smirnov){most}.",
    ),
    "shares": measured(
        "The engine has confirmed each column alone for its share of epsilon. The guarantee of a row rests on the "
        "bounded-column rule, not on these figures.",
    ),
    "joint-any-law": measured("Under any law of the columns within {range}, the pure loss of {of} is at most {loss}."),
    "upper-bound": measured(
        "The loss of a unit that adds several rows of both signs is an upper bound: less noise might do.",
    ),
    "wider": measured("Where the law is another one than is believed here, rounded up: {losses}."),
    # what is not covered
    "one-confidence": uncovered("Several certificates together: the confidence is that of this one alone."),
    "per-record": uncovered("Several records of one person: the guarantee is for one record."),
    "learned": uncovered(
        "What the numbers printed here tell: {what} were computed from the true rows, and are not protected "
        "themselves. A reader who knows all rows but one may learn something about the last one from them.",
    ),
    "one-release": uncovered(
        "A second release of {what} of the same {rows}: both together may tell much more than the sum of their "
        "epsilons, since the noise is only enough together with the randomness of {whose}.",
    ),
    "other-rows-again": uncovered(
        "A second release of {what} of the same {rows}: what several releases lose together is known of the rows that "
        "the plan was made from, not of these.",
    ),
    "given-alone": uncovered("What {given} tells by itself."),
    "given-lacking": uncovered(
        "A secret that does not occur with some {given} (this is so in {lacking} of {strata} strata): {given} itself "
        "tells that a record of this stratum has another one.",
    ),
    "other-columns": uncovered(
        "A release of another column of the same records: two columns can tell together what neither tells alone, and "
        "files can be joined row by row if their rows have the same order or share a kept key. The promise of a "
        "release is about its own columns alone.",
    ),
    "other-answers": uncovered("A release of anything else about the same {rows}."),
    "nulls": uncovered("That a value is missing: rows with a missing {entry} may have been left out."),
    "secrets-each": uncovered(
        "Several secret columns taken together: each has the guarantee by itself. The odds of what two of them are "
        "together may change by more.",
    ),
    "listed-pairs": uncovered("Records with a secret that no listed pair names."),
    "kept": uncovered(
        "Kept columns ({kept}), released as they were: they may tell the secret or a noisy value by themselves, and "
        "given them the noisy values are not epsilon-private.",
    ),
    "other-knowledge": uncovered(
        "A reader with another belief: one who knows more of a record, such as its other columns.",
    ),
    "other-units": uncovered(
        "Whether a unit that is not listed is in the table. That the listed ones are: no other can be listed, so this "
        "record tells it.",
    ),
    "class": uncovered(
        "The removal of a whole class of rows, where that is the unit: only the row that is drawn from it is hidden.",
    ),
    "per-time": uncovered("Several times of one series together: the guarantee is for the state at one time."),
    "per-node": uncovered("Several nodes together: the guarantee is for the state of one node."),
    "listed-states": uncovered("Pairs of states that are not listed."),
    "impossible-states": uncovered("What the networks make impossible for a node is not hidden there."),
    "impossible-starts": uncovered("What the given start makes impossible at a time is not hidden there."),
    "observed-unknown": uncovered(
        "The loss under the observed frequencies: there are too many pairs of secrets to compute it.",
    ),
    "absent-secrets": uncovered(  # of earlier versions: it told which secrets a batch has
        "{absent} of {of} secrets of the plan do not occur in these rows: {rest}.",
    ),
    "remap-values": uncovered(
        "Which values of {what} {table} has: the release shows them, and a rare one may be that of one person.",
    ),
    # what was done to the values
    "clipped": done("Values were clipped before the noise: {ends}."),
    "clipped-to-range": done(
        "Values of {what} were clipped before the noise to the range of the table that the plan was made from.",
    ),
    "clipped-answers": done("Values were clipped before they were added: {ends}."),
    "remap": done(
        "After the noise each value of {what} was replaced by one that {table} has before the noise{cells}, chosen "
        "from the noisy value alone. Released values are therefore biased. Which values there are, and how often, was "
        "learned from {table}.",
    ),
    "randomised": done(
        "A label of {what} stays as it is with probability {kept}; else any other of its {levels} levels takes its "
        "place, each as likely.",
    ),
    "strata-merged": done(
        "{merged} strata were merged into one, since at least one of them has fewer than {minimum} rows of a secret: "
        "their rows have the label {label} in {given}, also where it was released.",
    ),
    "strata-small": done(
        "Strata with fewer than {minimum} rows of one of their secrets ({small} of {strata}) have noise for the whole "
        "range of the columns, whatever the law.",
    ),
    "strata-unbound": done("Strata in which no two protected secrets occur have the largest scale of the others."),
    "shuffled": done("The rows were put into a random order."),
    "null-values": done("Codes were read as missing values, before anything else was done: {codes}."),
    "dates": done(
        "These columns hold dates, which were read as days since 1970-01-01: {names}. Their scales, errors and bounds "
        "are in days.",
    ),
    "after": done("After the noise, at no cost to the guarantee: {done}."),
    "frequencies": done("Frequencies are counts divided by the public number of values."),
    "quotient": done(
        "A mean is the noisy sum divided by the noisy count. It is not right on average, has no scale, and is missing "
        "where that count is not positive.",
    ),
    "mean-of-series": done("The mean is the sum divided by the public number of values."),
    # technical
    "grid": technical("{grid}."),
    "integer-noise": technical("Discrete Laplace noise, drawn exactly, with AES-256 for its random bits."),
}
"""Kind and text per sentence; braces are filled in by `say`. The words of "clipped", "clipped-to-range", "dates" and
"remap" count, too: `facts.py` holds them against the fields, also of records that were made long ago."""


def warnings_of(statements: Iterable[Statement], /) -> tuple[str, ...]:
    """Keys of the statements that warn."""
    found = {statement.key for statement in of_keys(statements, WARNINGS)}
    return tuple(key for key in WARNINGS if key in found)


def say_levels(learned: Sequence[str], declared: Iterable[str], /) -> Statement:
    """That the levels of some columns were learned, and of which others they were declared."""
    rest = [name for name in declared if name not in learned]
    of, also = f" in {shown_names(learned)}", f" Those of {shown_names(rest)} were declared."
    return say("channel-levels", of=of * bool(rest), declared=also * bool(rest))


def say(key: str, /, **parts: object) -> Statement:
    """A sentence with its parts filled in."""
    return Statement.of(SENTENCES, key, **parts)


def warn_of(key: str, columns: Sequence[str] = (), /, **parts: object) -> None:
    """Warn of what a sentence tells of, in the words that are for whoever makes the release."""
    one = SENTENCES[key]
    found, hint = (text.format(columns="{columns}", **parts) for text in (one.warning, one.hint))
    if one.reason:
        warn_of_width(columns, found, hint=hint, reason=one.reason)
    else:
        warn_of_weak_guarantee(found, hint=hint)
