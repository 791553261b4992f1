"""The entries of a ledger, and the lines of a file that they are written as."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from puffer_frames.certificates.about import APART
from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import LedgerError, LedgerNotFoundError, LedgerWarning, PufferError, warn
from puffer_frames.numbers.presentation import plain, shown, shown_names
from puffer_frames.papers.catalogue import BOUNDED
from puffer_frames.verbs.ledgers.composition import batch_of
from puffer_frames.verbs.ledgers.locked_lines import Beginning, BrokenLineError, Lines, parsed_line

SCHEMA = "1.1"
"""Version of the lines: another first number is another meaning. From 1.1 on a line ends with its digest."""
_WITHOUT_DIGEST = "1.0"
_CERTIFICATE, _DIGEST = ', "certificate": ', ', "digest": "'
"""What stands before these fields in a line. Text inside a field cannot look so: its quotes are escaped."""

State: TypeAlias = Literal["finished", "not finished", "withdrawn"]
_WORDS: Mapping[str, State] = {"reserved": "not finished", "finished": "finished", "withdrawn": "withdrawn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One release in a ledger."""

    entry: str
    """What the ledger calls it: 16 hexadecimal digits."""
    state: State
    """"finished"; "not finished" from before the noise is drawn until the release is known; "withdrawn" where somebody
    has said that it was never given to anybody."""
    time: str
    """When it was reserved: UTC, as 2026-01-31T12:00:00Z."""
    certificate: Certificate
    """What is guaranteed. Until the release is finished it has no fingerprint, and no labels of a kept index."""

    @property
    def counts(self) -> bool:
        """Whether it counts as spent: all do but those that were withdrawn."""
        return self.state != "withdrawn"

    @property
    def dataset(self) -> str:
        """The data set that it is of."""
        return self.certificate.dataset or ""

    @property
    def guarantee(self) -> str:
        """What kind of guarantee it has."""
        return guarantee_of(self.certificate)

    def columns(self) -> dict[str, Any]:
        """What a table of entries says of it."""
        one = self.certificate
        return {
            "time": self.time,
            "dataset": self.dataset,
            "batch": self.certificate.batch or "",
            "state": self.state,
            "secret": ", ".join(one.secret),
            "columns": ", ".join(one.public),
            "unit": one.unit or "",
            "given": ", ".join(one.given),
            "epsilon": one.epsilon,
            "delta": one.delta,
            "guarantee": self.guarantee,
            "fingerprint": one.fingerprint,
            "entry": self.entry,
        }

    def __str__(self) -> str:
        one = self.certificate
        delta = f", delta = {plain(one.delta)}" if one.delta else ""
        state = "" if self.state == "finished" else f"; {self.state} (entry {self.entry})"
        what = f"{shown_names(one.public)}; secret {shown_names(one.secret)}"
        unit = f" of each {shown(one.unit)}" if one.unit else ""
        return f"{what}{unit}; epsilon = {plain(one.epsilon)}{delta}, {self.guarantee}{state}"


def guarantee_of(certificate: Certificate, /) -> str:
    """What kind of guarantee a release has, which decides what it guarantees with others."""
    if certificate.answers:
        return "of answers"
    if certificate.noise == "channel":
        return "of a channel"
    if certificate.theorem == BOUNDED.name and certificate.calibration == "theorem":
        return "by the ranges of the columns"
    if certificate.facts.joint == "coupled":
        return "by a coupling of rows"
    if certificate.releases > 1:
        return f"planned for {certificate.releases:,} releases"
    if certificate.adds_up:
        return "by a coupling"
    return "by the randomness of the values"


def now() -> str:
    """The time, as a ledger and a certificate have it."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def entry_line(entry: str, word: str, certificate: Certificate | None, /) -> dict[str, Any]:
    """A line that says one thing of an entry: that it is "reserved", "finished" or "withdrawn"."""
    line: dict[str, Any] = {"schema": SCHEMA, "entry": entry, "state": word, "time": now()}
    if certificate is None:
        return line | {"digest": _digest(line)}
    line |= {
        "fingerprint": certificate.fingerprint,
        "dataset": certificate.dataset,
        "batch": batch_of(certificate),
        "secret": certificate.secret,
        "columns": certificate.public,
        "unit": certificate.unit,
        "given": certificate.given,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "guarantee": guarantee_of(certificate),
        "certificate": certificate.to_dict(),
    }
    return line | {"digest": _digest(line)}


def _digest(line: Mapping[str, Any] | str) -> str:
    """SHA-256 of a line as it is written. It finds accidents; whoever edits a line on purpose can compute it anew."""
    text = line if isinstance(line, str) else json.dumps(line, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _line(text: str) -> Mapping[str, Any] | None:
    """As `parsed_line`; the certificate of a line whose digest holds stays text, since most uses need few of them."""
    body, mark, end = text.rpartition(_DIGEST)
    if not mark or end != _digest(body + "}") + '"}':
        found = parsed_line(text)
        return {**found, "changed": True} if found and "digest" in found else found
    head, mark, certificate = body.partition(_CERTIFICATE)
    found = parsed_line(head + "}")
    return {**found, "certificate": certificate} if found and mark else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An entry as the lines have it, its certificate unread."""

    entry: str
    state: State
    time: str
    dataset: str
    batch: str | None
    """The batch whose people are declared to be in no other one."""
    certificate: Mapping[str, Any] | str
    """In JSON types, or as text in a line whose digest holds."""

    @property
    def counts(self) -> bool:
        """Whether it counts as spent."""
        return self.state != "withdrawn"

    def is_said_by(self, certificate: Mapping[str, Any] | str, /) -> bool:
        """Whether a certificate has the data set and batch of the entry; one that is text is not read for this."""
        said = {"dataset": self.dataset} | ({} if self.batch is None else {"batch": self.batch, "batches": APART})
        if isinstance(certificate, str):
            return all(f"{json.dumps(name)}: {json.dumps(text)}" in certificate for name, text in said.items())
        return isinstance(certificate, Mapping) and said == {name: certificate.get(name) for name in said}

    @property
    def plain(self) -> Any:
        """The certificate in JSON types."""
        return parsed_line(self.certificate) or {} if isinstance(self.certificate, str) else self.certificate

    def is_of(self, certificate: Certificate, fingerprint: str, /) -> bool:
        """Whether it is of the release that comes out with this fingerprint: finished so, or reserved for the same."""
        if self.state == "finished":
            return bool(self.plain.get("fingerprint") == fingerprint)
        fields, plain = ("refines", "scales", "epsilon"), self.plain
        return all(plain.get(name) == certificate.to_dict().get(name) for name in fields)

    def read(self, *, path: object) -> Entry:
        """With its certificate; raises LedgerError for one that is none."""
        certificate = self._certificate(path, _certificate)
        return Entry(entry=self.entry, state=self.state, time=self.time, certificate=certificate)

    def counted(self, *, path: object) -> Certificate:
        """The certificate, to be added to others and given to nobody: the next release has the same one."""
        return self._certificate(path, _kept_certificate)

    def _certificate(self, path: object, read: Callable[[str], Certificate]) -> Certificate:
        try:
            text = self.certificate
            return read(text) if isinstance(text, str) else Certificate.from_dict(text)
        except PufferError as error:
            raise _refused(path, f"a certificate that is none: {error.got}") from None


def _certificate(text: str) -> Certificate:
    """From a line whose digest holds."""
    return Certificate.from_dict(parsed_line(text) or {})


_kept_certificate = lru_cache(maxsize=2048)(_certificate)


_READ: dict[object, Beginning] = {}
"""The beginnings of files, with their records, so that a release reads only the lines that are new to this process."""
_MOST_READ = 8


def read_before(path: object, /) -> Beginning:
    """The lines of a file of which `records_of` has made records in this process."""
    return _READ.get(path) or Beginning()


def records_of(lines: Lines, /, *, path: object) -> dict[str, Record]:
    """The entries by name, in the order of their reservation; raises LedgerError for a line that no release wrote."""
    found, cut = lines.before.made or ({}, [])
    try:
        said, new = lines.records(_line)
    except BrokenLineError as error:
        raise _broken(path, lines, error.args[0]) from None
    found, cut = dict[str, Record](found), [*cut, *new]
    if cut:
        warn(LedgerWarning(path, lines=cut))
    for number, line in said:
        if _major(line) != _major({"schema": SCHEMA}):
            raise _refused(path, f"line {number:,} of schema {str(line.get('schema'))[:20]}")
        if "changed" in line:
            raise _refused(path, f"line {number:,} that was changed: its digest is another one")
        name, state = str(line.get("entry")), _WORDS.get(str(line.get("state")))
        known = found.get(name)
        taken_back = known is not None and known.state == "finished" and state == "withdrawn"
        if state is None or (known is None) != (state == "not finished") or taken_back:
            raise _refused(path, f"line {number:,} with another state")
        if known is None:
            time, dataset, certificate = (line.get(word) for word in ("time", "dataset", "certificate"))
            if not (isinstance(time, str) and isinstance(dataset, str)):
                raise _refused(path, f"line {number:,} without a time or a data set")
            known = Record(
                entry=name,
                state="not finished",
                time=time,
                dataset=dataset,
                batch=line.get("batch"),
                certificate=certificate or {},
            )
        if "certificate" in line and not known.is_said_by(line["certificate"]):
            raise _refused(path, f"line {number:,} with the certificate of another data set or batch")
        found[name] = replace(known, state=state, certificate=line.get("certificate") or known.certificate)
    if not lines.rest:  # which may be no line yet, and decides whether the line before it was cut off
        if len(_READ) >= _MOST_READ:
            _READ.clear()
        _READ[path] = replace(lines.read, made=(found, cut))
    return found


_SAID = ("dataset", "batch", "secret", "columns", "unit", "given", "epsilon", "delta")
"""What a line says of its certificate, and both lines of an entry alike."""


def check_lines(lines: Lines, /, *, path: object) -> dict[str, Record]:
    """As `records_of`, with every certificate checked, and with what lines say compared with their certificates."""
    found, said = records_of(lines, path=path), dict[object, dict[str, Any]]()
    withdrawn = set[object]()
    for number, line in lines.records()[0]:
        if line["state"] == "withdrawn":
            withdrawn.add(line["entry"])
        elif line["state"] == "finished" and line["entry"] in withdrawn:
            hint = "Its release is out, and counts: the limit may have been passed meanwhile. Keep the line."
            raise _refused(path, f"line {number:,} that finishes a release after it was withdrawn", hint=hint)
        if "digest" not in line and line.get("schema") != _WITHOUT_DIGEST:
            raise _refused(path, f"line {number:,} that has no digest")
        if "certificate" not in line:
            continue
        try:
            own = json.loads(json.dumps(entry_line("", "", Certificate.from_dict(line["certificate"]))))
        except PufferError as error:
            raise _refused(path, f"line {number:,} with a certificate that is none: {error.got}") from None
        told = {name: line.get(name) for name in _SAID}
        if told != {name: own[name] for name in _SAID} or line.get("fingerprint") != own["fingerprint"]:
            raise _refused(path, f"line {number:,} that says something else than its certificate")
        if said.setdefault(line["entry"], told) != told:
            raise _refused(path, f"line {number:,} of another release than the first line of its entry")
    return found


def _major(record: Mapping[str, Any]) -> str:
    return str(record.get("schema")).partition(".")[0]


_LOST = "Bring back the file as it was: what a ledger has lost, no limit counts."


_LINES = "of lines that releases have written"


def _refused(path: object, got: str, hint: str = _LOST) -> LedgerError:
    return LedgerError(_what(path), rule=_LINES, got=got, hint=hint)


def _broken(path: object, lines: Lines, number: int) -> LedgerError:
    if number > 1 or next(iter(lines.whole), lines.rest).startswith("{"):
        return _refused(path, f"line {number:,} that is no entry")
    got, hint = "another file: its first line is no entry", "Name the ledger, or a new file."
    hint += " If this was the ledger, bring it back as it was: what a ledger has lost, no limit counts."
    return LedgerNotFoundError(_what(path), rule=_LINES, got=got, hint=hint)


def _what(path: object) -> str:
    return f"the ledger {shown(str(path))}"
