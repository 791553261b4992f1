"""What each subcommand does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from puffer_frames.certificates.fields import as_json
from puffer_frames.certificates.published import released_roles
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.text import certificate_title, headline
from puffer_frames.doors.command.options import (
    PLANNED,
    WITH_PLAN,
    as_arguments,
    as_listed,
    as_path,
    number,
    spelled,
    with_levels,
)
from puffer_frames.doors.command.outcome import DONE, LOG, REFUSED, Outcome, check_metrics, step
from puffer_frames.doors.command.parser import Request
from puffer_frames.doors.command.places import (
    BESIDE,
    FileLedger,
    beside,
    check_no_empty_lines,
    check_places,
    claimed,
    is_folder,
    new_folder,
    written,
)
from puffer_frames.errors import (
    ArgumentError,
    CalibrationError,
    PufferError,
    SuspectValuesWarning,
    UncoveredFrameError,
    warn,
)
from puffer_frames.frames.columns import REST, NativeFrame
from puffer_frames.frames.csv_dialect import DIALECT, Dialect
from puffer_frames.frames.csv_texts import TextRoles, is_code
from puffer_frames.frames.files import (
    check_writable,
    format_of,
    index_columns_in,
    level_kinds,
    metadata_in,
    read_rows,
    row_count,
    schema_of,
    write_arrow,
    write_csv,
)
from puffer_frames.frames.levels import check_no_index
from puffer_frames.frames.null_values import ReadCode
from puffer_frames.frames.table import open_table, small_rows
from puffer_frames.numbers.presentation import plain as digits
from puffer_frames.numbers.presentation import shown
from puffer_frames.scales.repeats import Unit
from puffer_frames.verbs.attached import certificate_of, collect, warn_of_release, write_release
from puffer_frames.verbs.auditing.audited import audit
from puffer_frames.verbs.comparing import compare
from puffer_frames.verbs.ledgers.composition import together
from puffer_frames.verbs.ledgers.entries import Entry, check_lines
from puffer_frames.verbs.ledgers.locked_lines import look
from puffer_frames.verbs.ledgers.release_ledger import Ledger, ledger
from puffer_frames.verbs.plans.file import FORMAT
from puffer_frames.verbs.plans.plan import Plan, calibrate, load_plan
from puffer_frames.verbs.release import privatize


def _unasked(_certificate: Certificate, /) -> AbstractContextManager[Callable[[], object]]:
    return nullcontext(lambda: None)


def write(released: NativeFrame, path: Path, /, *, folder: bool, new: bool, book: FileLedger | None) -> Certificate:
    """Write a release, and return the certificate that lies in the file or beside it.

    A plan goes to Parquet batch by batch; for other formats its rows are collected. The certificate beside a CSV file
    has its name first: a run that is stopped in between leaves no table without one.

    - `folder`: Whether the path is that of a folder.
    - `new`: Whether nothing that is there may be replaced, also what somebody else writes meanwhile.
    - `book`: Where its entry is finished, in one step with the name of the file.
    Raises FileTakenError for a file, or a folder, that is there; CalibrationError, LedgerError as
    `puffer_frames.privatize` for a plan, when it is run; OSError where a file cannot be written.
    """
    kind, naming = "folder" if folder else format_of(path), _unasked if book is None else book.naming
    if kind == "folder":
        with ExitStack() as held, new_folder(path) as part:
            certificate = write_release(released, part, durable=True, naming=_unasked)
            held.enter_context(naming(certificate))
    elif kind == "parquet":
        certificate = write_release(released, path, durable=True, new=new, naming=naming)
    else:
        rows = collect(released) if open_table(released).is_plan else released
        certificate = certificate_of(rows)
        if kind == "arrow":
            write_arrow(rows, path, certificate.to_dict(), new=new, naming=partial(naming, certificate))
        else:
            text = json.dumps(certificate.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
            write_csv(rows, path, beside(path), text + "\n", new=new, naming=partial(naming, certificate))
    return certificate


def say_types(released: NativeFrame, path: Path, certificate: Certificate, /) -> None:
    """CSV holds no types: say which ones `verify` must be told."""

    def is_derived(types: dict[str, str]) -> bool:
        return certificate.verify(_read_released(path, certificate, schema=types)) == "derived"

    types, holds = schema_of(released, certificate.public + certificate.kept + certificate.given), False
    with suppress(PufferError, OSError):  # the release is there, whatever reads it
        if not is_derived({}):
            return
        holds = not is_derived(types)  # of a type that may not read the texts
    if holds:
        LOG.warning(
            "a CSV file holds no types: audit it with the same in --released-schema, and verify it with --schema %s",
            ",".join(f"{k}={v}" for k, v in types.items()),
        )
    else:
        LOG.warning("no --schema brings the values of this CSV file back exactly: write a .parquet file to verify it")


def _read_released(path: Path, certificate: Certificate, /, *, schema: Mapping[str, str]) -> NativeFrame:
    """The rows of a release; of a CSV file as they are meant if that can be told."""
    readings = (read_rows(path, schema=schema, streaming=False, roles=roles) for roles in released_roles(certificate))
    first = next(readings)
    if format_of(path) != "csv" or certificate.verify(first) != "derived":
        return first
    return next((rows for rows in readings if certificate.verify(rows) != "derived"), first)


def certificate_of_file(path: Path, /, *, given: Path | None) -> Certificate:
    """The certificate in the file `given`, if there is one; else in the table's metadata; else in the file beside it.

    Raises UncoveredFrameError where there is none, and where it is not what a certificate is; ArgumentError,
    TableFileError, OSError for a table that cannot be read.
    """
    if given is not None:
        with _whole_certificate():
            return Certificate.load(given)
    path = Path(os.path.abspath(path))  # noqa: PTH100 - "." has no name, and a link is no other file
    plain = metadata_in(path)
    with _whole_certificate():
        if plain is not None:
            return Certificate.from_dict(plain)
        if beside(path).is_file():
            return Certificate.load(beside(path))
    raise UncoveredFrameError(
        "the table",
        rule="one with a certificate in its metadata, or beside it",
        got="one without",
        hint=f"Name it: --certificate FILE. Beside a table it is {beside(path).name!r}.",
    )


def is_whole(verdict: str, /) -> bool:
    """Whether this verdict means that nothing was changed."""
    return verdict.startswith(("intact", "unsigned"))


@contextmanager
def _whole_certificate() -> Iterator[None]:
    """Raise UncoveredFrameError for what is no certificate."""
    try:
        yield
    except ArgumentError as error:
        raise UncoveredFrameError(error.what, rule=error.rule, got=error.got, hint=error.hint) from None


_SHOWN = {
    "epsilon": "epsilon",
    "belief": "belief",
    "mechanism": "mechanism",
    "noise": "noise",
    "theorem": "theorem",
    "column": "column",
    "published_scale": "published",
    "verdict": "verdict",
    "scale": "scale",
    "error": "error",
    "error_constant": "/ constant",
    "bound": "bound",
    "reason": "",
}
"""The fields of a comparison that are printed, and their heads; `--json` has all."""


def in_columns(rows: Sequence[Mapping[str, Any]], heads: Mapping[str, str], /, *, write: Callable[[float], str]) -> str:
    """A line per row, under a line of heads; fields in columns, numbers as `write` has them."""
    texts = [[write(row[name]) if isinstance(row[name], float) else _text(row[name]) for name in heads] for row in rows]
    lines = [list(heads.values()), *texts]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def _text(entry: Any) -> str:
    return "" if entry is None else shown(str(entry))


PASSWORD = "PUFFER_PASSWORD"  # noqa: S105 - the name of a variable
"""Variable of the environment with the password of plans."""
_NEEDED = ("secret", "epsilon")


def plan(request: Request, /) -> Outcome:
    """Calibrate, and keep the plan."""
    source, target = request.path("input"), request.path("kept_plan")
    _check_needed(request.arguments, _NEEDED)
    check_places([target], inputs=_inputs(request), overwrite=request.flag("overwrite"))
    password = _password(request)
    frame, arguments = _opened(request, source)
    with step("calibrate") as known:
        found: Plan = calibrate(frame, **arguments)
        known |= {"rows": found.rows, "epsilon": found.epsilon}
    with step("save"):
        found.save(target, password=password, overwrite=request.flag("overwrite"))
    LOG.info("the plan holds exact statistics of every secret: keep %s private", target)
    errors = {name: float(error) for name, error in found.expected_error.items()}
    unit = found.fitted.error_unit
    labels = dict(found.fitted.changed_labels)
    listed, also = (", ".join(f"{shown(name)} {one:.6g}" for name, one in of.items()) for of in (errors, labels))
    text = (
        f"{target}: a plan for {', '.join(found.public)}, epsilon {found.epsilon:g}; expected error ({unit}) {listed}"
        + f"; share of the labels that change, at most: {also}" * bool(labels)
    )
    more = {"input": str(source), "plan": str(target), "rows": found.rows, "expected_error": errors, "error_unit": unit}
    more |= {"changed_labels": labels} if labels else {}
    return Outcome(status="planned", text=str(found) if request.flag("figures") else text, more=more)


def compared(request: Request, /) -> Outcome:
    """Set the ways to release columns side by side."""
    source = request.path("input")
    _check_needed(request.arguments, ("secret",))
    frame, arguments = _opened(request, source)
    with step("compare"):
        rows = small_rows(compare(frame, **arguments))
    LOG.info("the comparison holds exact statistics of the table: keep it private")
    text = in_columns(rows, _SHOWN, write="{:.5g}".format)
    return Outcome(status="compared", text=text, more={"input": str(source), "rows": as_json(rows)})


def release(request: Request, /) -> Outcome:
    """Draw the noise once, by the options or by a plan, and write the release with its certificate."""
    source, target = request.path("input"), request.path("output")
    with nullcontext() if request.flag("overwrite") else claimed(target):
        return _released(request, source, target)


def _released(request: Request, source: Path, target: Path) -> Outcome:
    folder = is_folder(target, request.found["output"])
    by_plan = "plan" in request.found
    _check_release(request.arguments, by_plan=by_plan)
    if "password_file" in request.found and not by_plan:
        raise ArgumentError("--password-file", rule="given with --plan", got="it alone", hint="Leave it out.")
    outputs, overwrite = [target] if folder else written(target), request.flag("overwrite")
    check_places(outputs, inputs=_inputs(request), overwrite=overwrite)
    kept = load_plan(request.path("plan"), password=_password(request)) if by_plan else None
    frame, arguments = _opened(request, source, kept, memory=kept is not None and _samples(kept.fitted.request.unit))
    if not folder:
        columns = _named(request.arguments, kept)
        hidden, public = [*columns["secret"], *columns["unit"], *columns["row_id"]], columns["public"] or [REST]
        lists = [name for name, dtype in frame.collect_schema().items() if dtype.is_nested() and name not in hidden]
        lists = [name for name in lists if name in public or public == [REST]]
        check_writable(frame, [*columns["keep"], *columns["given"], *lists], target)
        if (arguments.get("nulls") if kept is None else kept.fitted.request.nulls) == "level":
            coded = kept is not None or "null_values" in arguments
            check_no_empty_lines(target, columns, frame, coded=coded)
    book = arguments["ledger"] = FileLedger.of(arguments.get("ledger"))
    with nullcontext() if book is None else book.of_files():
        with step("calibrate" if kept is None else "check"):
            released = privatize(frame, **arguments) if kept is None else kept.release(frame, **arguments)
        with step("write") as known:
            certificate = write(released, target, folder=folder, new=not overwrite, book=book)
            known |= _told(certificate) | {"verdict": "released"}
    if len(outputs) > 1:
        say_types(released, target, certificate)
    left = ", ".join((*certificate.given, *certificate.kept))
    raw = f"AS IT WAS: {left}; " * bool(left)
    text = (
        f"{target}: {', '.join(certificate.public)}, {certificate.rows} rows, epsilon {certificate.epsilon:g}; {raw}"
        f"certificate {'in ' + str(outputs[-1]) if len(outputs) > 1 else 'in the file'}"
    )
    if headline(certificate).exceeds:
        text += f"\nNOT as asked for: {certificate_title(certificate)}"
    more = {"input": str(source), "output": str(target), "certificate": certificate.to_dict()}
    return Outcome(status="released", text=text, more=more)


def check(request: Request, /) -> Outcome:
    """Say whether a plan covers other rows."""
    source, kept = request.path("input"), load_plan(request.path("plan"), password=_password(request))
    frame, _ = _opened(request, source, kept, memory=_samples(kept.fitted.request.unit))
    with step("check") as known:
        report = kept.check(frame)
        known |= {"verdict": report.verdict, "epsilon": kept.epsilon}
    text = str(report) if request.flag("figures") else f"{report.verdict}: {report.why}"
    return Outcome(
        status=report.verdict,
        code=DONE if report.verdict == "covered" else REFUSED,
        text=text,
        more={"input": str(source), "why": report.why},
    )


def verify(request: Request, /) -> Outcome:
    """Compare a release with its certificate."""
    source, key = request.path("input"), request.path_or_none("public_key")
    certificate = certificate_of_file(source, given=request.path_or_none("certificate"))
    public_key = None if key is None else key.read_bytes()
    as_it_is = format_of(source) in ("parquet", "folder") and not request.types()
    verdict = ""
    with step("verify") as known:
        for roles in released_roles(certificate):
            rows = source if as_it_is else read_rows(source, schema=request.types(), streaming=False, roles=roles)
            verdict = certificate.verify(rows, public_key=public_key)
            if is_whole(verdict) or format_of(source) != "csv":
                break
        known |= _told(certificate) | {"verdict": verdict}
    return Outcome(
        status=verdict,
        code=DONE if is_whole(verdict) else REFUSED,
        text=f"{source}: {verdict}",
        more={"input": str(source), "verdict": verdict, "epsilon": certificate.epsilon, "delta": certificate.delta}
        | _largest(certificate)
        | {"reproducible": certificate.reproducible},
    )


def _told(certificate: Certificate, /) -> dict[str, Any]:
    """What a log and metrics say of a release."""
    told = {"rows": certificate.rows, "epsilon": certificate.epsilon, "delta": certificate.delta}
    return told | {"loss": headline(certificate).epsilon}


def _largest(certificate: Certificate) -> dict[str, float]:
    """The largest loss that was measured or proved for the released rows, where it is more than was asked for."""
    found = headline(certificate)
    return {"measured_epsilon": found.epsilon, "measured_delta": found.delta} if found.exceeds else {}


def audit_files(request: Request, /) -> Outcome:
    """Test a release with the original at hand."""
    first, second = request.path("original"), request.path("released")
    certificate = certificate_of_file(second, given=request.path_or_none("certificate"))
    secret = (*certificate.secret, *as_listed(request.arguments.get("secret")))
    kept = tuple(name for name in certificate.kept if name not in (*certificate.given, *secret))
    own = TextRoles(exact=(*kept, *certificate.given, *secret), public=certificate.public, kept=kept)
    original = read_rows(first, schema=request.types(), streaming=False, roles=own, dialect=request.dialect)
    released = _read_released(second, certificate, schema=request.types("released_schema"))
    _check_dialect(request, first)
    codes = {} if format_of(first) == "csv" else _codes(request.dialect, original, own, None, None)
    level = request.found.get("level", "0.99")
    with step("audit") as known:
        report = audit(
            original,
            released,
            certificate=certificate,
            secret=request.arguments.get("secret"),
            null_values=with_levels({"null_values": codes}, level_kinds(original))["null_values"],
            level=number(level, name="level") if isinstance(level, str) else level,
        )
        verdict = known["verdict"] = "passed" if report.passed else "failed"
    failed = [{"name": each.name, "why": each.why} for each in report.checks if each.result == "failed"]
    text = "; ".join(f"{each['name']}: {each['why']}" for each in failed)
    if format_of(second) == "csv" and "released_schema" not in request.found and "certificate: " in text:
        text += "; a CSV file holds no types: name those of its columns, as --released-schema age=Float64"
    text = "; ".join([*filter(None, [text]), *(f"not tested: {one}" for one in report.untested)])
    more: dict[str, Any] = {"original": str(first), "released": str(second), "failed": failed}
    more["not_tested"] = [*report.untested]
    if request.flag("figures"):
        more |= {
            "checks": [asdict(each) for each in report.checks],
            "pairs": [asdict(each) for each in report.pairs],
        }
    return Outcome(
        status=verdict,
        code=DONE if report.passed else REFUSED,
        text=str(report) if request.flag("figures") else f"{second}: {verdict}" + (f"; {text}" if text else ""),
        more=more,
    )


def show(request: Request, /) -> Outcome:
    """Print a certificate, or a plan."""
    source, form = request.path("file"), request.found.get("as", "text")
    if form not in ("text", "html", "json"):
        raise ArgumentError("--as", rule="text, html or json", got="another word", hint="Write --as html.")
    found = _plan_in(source, request)
    if found is None:
        certificate = _certificate_in(source)
        plain = certificate.to_dict()
        printed = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
        texts = {"text": str(certificate), "html": certificate._repr_html_(), "json": printed}
        return Outcome(status="certificate", text=texts[form], more={"certificate": plain})
    if form == "json":
        raise ArgumentError("--as", rule="text or html for a plan", got="json", hint="The file itself is JSON.")
    return Outcome(status="plan", text=str(found) if form == "text" else found._repr_html_(), more={"plan": str(found)})


def report(request: Request, /) -> Outcome:
    """Write a certificate as a page that may be published with the release, or a plan as one that may not."""
    source, target, overwrite = request.path("file"), request.path("page"), request.flag("overwrite")
    book = request.path_or_none("ledger")
    inputs = {"the file": source, "--ledger": book} | _paths(request, "password_file", "config")
    check_places([target], inputs=inputs, overwrite=overwrite)
    found = _plan_in(source, request)
    if found is not None:
        alone = [name for name in ("ledger", "justification") if name in request.found]
        if alone:
            raise ArgumentError(f"--{alone[0]}", rule="given for a certificate", got="a plan", hint="Leave it out.")
        found.report(target, overwrite=overwrite)
        text = f"{target}: a report of the plan for {', '.join(found.public)}; keep it private"
        return Outcome(status="reported", text=text, more={"input": str(source), "page": str(target)})
    certificate = _certificate_in(source)
    certificate.report(
        target,
        ledger=None if book is None else ledger(book),
        justification=request.found.get("justification"),
        file=_table_of(source),
        overwrite=overwrite,
    )
    text = f"{target}: a report of {', '.join(certificate.public)}, epsilon {certificate.epsilon:g}"
    return Outcome(status="reported", text=text, more={"input": str(source), "page": str(target)})


def ledger_of_releases(request: Request, /) -> Outcome:
    """List a ledger, add it up, withdraw an entry of it, or check it."""
    action = request.found.get("action")
    if action not in _ACTIONS:
        rule = "one with list, total, withdraw or check after puffer ledger"
        raise ArgumentError("the command line", rule=rule, got="another word", hint="Write puffer ledger list FILE.")
    path = request.path("book")
    if action != "withdraw" and "entry" in request.found:
        raise ArgumentError("an entry", rule="given with withdraw", got="it", hint="Leave it out.")
    if action in ("withdraw", "check") and "dataset" in request.found:
        rule = "given with list and total"
        raise ArgumentError("--dataset", rule=rule, got="it", hint="Leave it out: the whole file is meant.")
    if action != "total" and request.arguments:
        raise ArgumentError(spelled(request.arguments), rule="given with total", got="it", hint="Leave it out.")
    return _ACTIONS[action](request, path)


def _listed(request: Request, path: Path, /) -> Outcome:
    entries = _entries(request, path)
    rows = [one.columns() for one in entries]
    return Outcome(
        status="listed", text=in_columns(rows, _ENTRY, write=digits), more={"ledger": str(path), "entries": rows}
    )


def _totalled(request: Request, path: Path, /) -> Outcome:
    """What the releases of a data set have together; those of one secret too, where it has several."""
    asked = request.arguments
    limit = Ledger(path, asked.get("limit"), asked.get("limit_delta", 0.0))
    groups: dict[tuple[str, tuple[str, ...]], list[Certificate]] = {}
    for one in _entries(request, path):
        for secret in ((), one.certificate.secret) if one.counts else ():
            groups.setdefault((one.dataset, secret), []).append(one.certificate)
    rows = []
    for (name, secret), certificates in groups.items():
        if not secret or len({each.secret for each in groups[name, ()]}) > 1:
            secrets = ", ".join(secret or dict.fromkeys(n for each in certificates for n in each.secret))
            rows.append(
                {"dataset": name, "secret": secrets, "releases": len(certificates), **_sum(certificates, limit)}
            )
    beyond = limit.limit is not None and not all(row["within"] for row in rows)
    return Outcome(
        status="beyond the limit" if beyond else "totalled",
        code=REFUSED if beyond else DONE,
        text=in_columns(rows, _TOTAL, write=digits),
        more={"ledger": str(path), "totals": rows, "limit": limit.limit, "limit_delta": limit.delta},
    )


def _sum(certificates: Sequence[Certificate], limit: Ledger) -> dict[str, Any]:
    """What releases guarantee together, from certificates alone, and whether it is within a limit."""
    try:
        found = together(certificates)
    except CalibrationError as error:
        known: dict[str, Any] = {"epsilon": None, "delta": None, "within": None if limit.limit is None else False}
        return known | {"verdict": f"no guarantee holds for all together: {error.got}"}
    within = None if limit.limit is None else found.epsilon <= limit.limit and found.delta <= limit.delta
    verdict = {None: found.rule, True: "within the limit", False: "beyond the limit"}[within]
    return {"epsilon": found.epsilon, "delta": found.delta, "within": within, "verdict": verdict}


def _withdrawn(request: Request, path: Path, /) -> Outcome:
    name = str(request.found.get("entry", ""))
    ledger(path).withdraw(name)
    return Outcome(status="withdrawn", text=f"{path}: {name} is withdrawn", more={"ledger": str(path), "entry": name})


def _checked(_request: Request, path: Path, /) -> Outcome:
    if not path.exists():
        ledger(path)  # whose error says more
    lines, held = look(path)
    records = check_lines(lines, path=path).values()
    left = {one.entry: one for one in records if one.state == "not finished"}
    cut = lines.records()[1]
    whole = f"whole but for {len(cut)} line{'s that were' if len(cut) > 1 else ' that was'} cut off" if cut else "whole"
    releases = f"{len(records)} release{'s' * (len(records) != 1)}"
    text = f"{path}: {whole}, {releases}; locked by {held or 'nobody'}"
    text += "".join(f"\nnot finished: {one.entry}, {one.time}, {shown(one.dataset)}" for one in left.values())
    more = {"ledger": str(path), "releases": len(records), "not_finished": list(left), "locked_by": held or None}
    return Outcome(status="cut" if cut else "whole", code=REFUSED if cut else DONE, text=text, more=more)


def _entries(request: Request, path: Path) -> list[Entry]:
    """The entries of one data set, or all; raises ArgumentError for a data set that is not there."""
    entries, name = ledger(path).entries(), request.found.get("dataset")
    found = [one for one in entries if name in (None, one.dataset)]
    if name is not None and not found:
        rule, hint = "one of the data sets of the ledger", "Leave it out: puffer ledger list LEDGER names them."
        raise ArgumentError("--dataset", rule=rule, got="another name", hint=hint)
    return found


_ENTRY = {"time": "time", "dataset": "data set", "secret": "secret", "columns": "public"}
_ENTRY |= {"epsilon": "epsilon", "delta": "delta", "state": "state", "entry": "entry"}
_TOTAL = {"dataset": "data set", "secret": "secret", "releases": "releases", "epsilon": "epsilon", "delta": "delta"}
_TOTAL |= {"verdict": ""}
_ACTIONS = {"list": _listed, "total": _totalled, "withdraw": _withdrawn, "check": _checked}
JOBS: Mapping[str, Callable[[Request], Outcome]] = {
    "compare": compared,
    "plan": plan,
    "release": release,
    "check": check,
    "verify": verify,
    "audit": audit_files,
    "show": show,
    "report": report,
    "ledger": ledger_of_releases,
}


def metrics_of(request: Request, /) -> Path | None:
    """The file for the metrics of a run; raises ArgumentError for a file of something else, and as `check_places`."""
    target: Path | None = request.path_or_none("metrics")
    if target is not None:
        places = _inputs(request)
        places |= _paths(request, "original", "released", "certificate", "public_key", "output", "kept_plan")
        places |= {f"the certificate of {word}": beside(one) for word, one in places.items() if one}
        check_places([target], inputs=places, overwrite=True, role="--metrics")
        check_metrics(target)
    return target


def _opened(
    request: Request, source: Path, kept: Plan | None = None, /, *, memory: bool = False
) -> tuple[NativeFrame, dict[str, Any]]:
    """The rows, and the arguments in the types of their columns; those of the plan are as in the plan."""
    beliefs = request.arguments.get("beliefs")
    _check_dialect(request, source, *(beliefs if isinstance(beliefs, list) else ()))
    memory = memory or bool(request.arguments.get("shuffle")) or request.arguments.get("unit_over") == "sample"
    roles = _roles(request.arguments, kept)
    dialect, marks = request.dialect, dict[str, list[str]]()
    with step("read") as known:
        frame = read_rows(
            source, schema=request.types(), streaming=not memory, roles=roles, dialect=dialect, marks=marks
        )
        known |= {"rows": row_count(frame), "how": "as a stream" if row_count(frame) is None else "in memory"}
    if roles.public == (REST,):
        named = (*roles.exact, *roles.plain)
        check_no_index(index_columns_in(source, [name for name in frame.collect_schema() if name not in named]))
    warn_of_release(metadata_in(source))
    codes = _codes(dialect, frame, roles, marks if format_of(source) == "csv" else None, kept)
    found = with_levels(dict(request.arguments) | ({"null_values": codes} if codes else {}), level_kinds(frame))
    if isinstance(found.get("beliefs"), list):
        texts = [name for name, kind in level_kinds(frame).items() if kind == "text"]
        alike = replace(roles, exact=roles.alike, plain=(), text=tuple(texts))
        found["beliefs"] = [
            read_rows(one, schema={}, streaming=False, roles=alike, dialect=request.dialect)
            if isinstance(one, Path)
            else one
            for one in found["beliefs"]
        ]
    return frame, as_arguments(found, compares=request.subcommand == "compare")


def _check_dialect(request: Request, /, *sources: Any) -> None:
    """Raise ArgumentError for options of CSV files where none is read."""
    alone = [name for name in DIALECT if name in request.found and name != "null_values"]
    if alone and not any(format_of(one) == "csv" for one in sources if isinstance(one, Path)):
        rule, got = "given for a CSV file alone", "one for another format"
        raise ArgumentError(spelled(alone[:1]), rule=rule, got=got, hint="Leave it out.")


def _codes(
    dialect: Dialect, frame: NativeFrame, roles: TextRoles, marks: Mapping[str, list[str]] | None, plan: Plan | None, /
) -> dict[str, list[Any]]:
    """The argument `null_values`: codes of one column, and the marks that a CSV file has, so that the release says so.

    Raises ArgumentError for marks that a plan does not know: its certificate would not say them.
    """
    if marks is not None:
        read = frame.collect_schema().names() if roles.public == (REST,) else (*roles.alike, *roles.public)
        names = [name for name in frame.collect_schema() if name in read and name not in roles.kept]
        if plan is not None:
            for name in names:
                codes = plan.fitted.request.null_values.get(name, ())
                if not all(any(is_code(mark, code) for code in codes) for mark in marks.get(name, ())):
                    rule, hint = "codes of the plan", "Make the plan with them: --null-values COLUMN=TEXT."
                    raise ArgumentError("--null-values", rule=rule, got=f"others of {name!r}", hint=hint)
            return {}
        found = {name: dialect.codes_of(name, frame.collect_schema()[name]) for name in names}
        asked = {name: (*dialect.null_values.get(name, ()), *marks.get(name, ())) for name in names}
        others = {name: [ReadCode(mark) for mark in asked[name] if mark not in found[name]] for name in names}
        if not any(frame.collect_schema()[name].is_temporal() for name in names):  # which Polars has parsed
            _warn_of_unused(dialect, found, marks)
        return {name: both for name in names if (both := [*found[name].values(), *others[name]])}
    if dialect.null_values and (plan is not None or None in dialect.null_values):
        rule = "of a column, where the file has types" if plan is None else "left out with --plan, which says them"
        raise ArgumentError("--null-values", rule=rule, got="others", hint="Write --null-values COLUMN=CODE, or none.")
    return {str(name): list(codes) for name, codes in dialect.null_values.items()}


def _warn_of_unused(
    dialect: Dialect, codes: Mapping[str, Mapping[str, Any]], marks: Mapping[str, list[str]], /
) -> None:
    """Warn of texts that the file does not have; of codes in the type of their column Python does."""
    found = {mark for own in marks.values() for mark in own}
    unused = [mark for mark in dialect.null_values.get(None, ()) if mark not in found]
    for name, own in codes.items():
        unused += [mark for mark in dialect.null_values.get(name, ()) if mark not in (*own, *marks.get(name, ()))]
    if unused:
        listed = ", ".join(map(repr, unused))
        told = f"names texts that are in no row of the secret, public, given and unit columns: {listed}"
        hint = "Write them as the file does; kept columns stay as they are."
        warn(SuspectValuesWarning("--null-values", told, hint=hint))


def _named(arguments: Mapping[str, Any], kept: Plan | None) -> dict[str, list[str]]:
    """Names of columns by what they are for, as the options or the plan say it."""
    named = {name: as_listed(arguments.get(name)) for name in ("secret", "given", "unit", "keep", "row_id", "public")}
    if kept is not None:
        asked = kept.fitted.request
        named |= {"secret": [*asked.secret], "given": [*asked.given_columns], "public": [*asked.public]}
        named["unit"] = [] if asked.unit is None else as_listed(asked.unit.column)
    return named


def _roles(arguments: Mapping[str, Any], kept: Plan | None) -> TextRoles:
    """What the columns of a CSV file are for; what holds labels in a plan stays text."""
    named = _named(arguments, kept)
    alike = (*named["secret"], *named["given"], *named["unit"])
    return TextRoles(
        exact=(*alike, *named["keep"]),
        alike=alike,
        public=tuple(named["public"]) or (REST,),
        plain=tuple(named["row_id"]),
        kept=tuple(name for name in (*named["keep"], *named["row_id"]) if name not in alike),
        text=() if kept is None else tuple(name for name, kind in kept.kinds.items() if kind == "labels"),
        coded=kept is None,
        alone=True,
    )


def _samples(unit: Unit | None, /) -> bool:
    """Whether some rows of large units are left out, for which all rows must be in memory."""
    return unit is not None and unit.over == "sample"


def _inputs(request: Request) -> dict[str, Path | None]:
    """The files that are read, by what they are, or their options."""
    ledger, beliefs = (request.arguments.get(name) for name in ("ledger", "beliefs"))
    book = as_path(ledger, role="the ledger") if isinstance(ledger, str) else None
    tables = [one for one in beliefs if isinstance(one, Path)] if isinstance(beliefs, list) else []
    found = _paths(request, "input", "plan", "password_file", "config") | {"--ledger": book}
    return found | {f"--beliefs table:{one}": one for one in tables}


def _paths(request: Request, *names: str) -> dict[str, Path | None]:
    places = {"input": "the table", "kept_plan": "the plan", **{name: f"the {name}" for name in _PLACED}}
    return {places.get(name, spelled([name])): request.path_or_none(name) for name in names}


_PLACED = ("original", "released", "output")


def _check_release(arguments: Mapping[str, Any], /, *, by_plan: bool) -> None:
    """Raise ArgumentError for options that do not go together."""
    if not by_plan:
        _check_needed(arguments, _NEEDED)
        alone = [name for name in ("allow_other_frame", "allow_drift") if name in arguments]
        rule = "given with --plan"
    else:
        alone = [name for name in arguments if name in PLANNED and name not in WITH_PLAN]
        rule = "left out with --plan, which says it"
    if alone:
        raise ArgumentError(spelled(alone[:1]), rule=rule, got="it", hint="Leave it out.")


def _check_needed(arguments: Mapping[str, Any], names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in arguments]
    if missing:
        raise ArgumentError(
            "the request",
            rule=f"one with {spelled(names)}",
            got=f"none of {spelled(missing)}" if len(missing) > 1 else f"no {spelled(missing)}",
            hint="Write --secret race --epsilon 1, or name a plan: --plan plan.json.",
        )


def _password(request: Request) -> str | None:
    """From a file or the environment: a command line is seen by everybody on the machine."""
    path: Path | None = request.path_or_none("password_file")
    if path is None:
        return os.environ.get(PASSWORD)
    found = ""
    with suppress(UnicodeDecodeError):
        found = path.read_text(encoding="utf-8").partition("\n")[0]
    if not found:
        raise ArgumentError(
            "the password file", rule="one with a password in its first line", got="none", hint="Write it in UTF-8."
        )
    return found


def _table_of(path: Path) -> Path | None:
    """The file of a release, or that beside which a certificate lies; None for a folder, and a certificate alone."""
    table = path
    if path.suffix.lower() == ".json":
        table = path.with_name(path.name.removesuffix(BESIDE))
    return table if table.is_file() and (table != path or path.suffix.lower() != ".json") else None


def _certificate_in(path: Path) -> Certificate:
    """The certificate of a release, or the one that the file itself is."""
    return certificate_of_file(path, given=path if path.suffix.lower() == ".json" else None)


def _plan_in(path: Path, request: Request) -> Plan | None:
    """The plan that a file holds; None for another file."""
    if path.suffix.lower() != ".json" or path.is_dir():
        return None
    with path.open("rb") as file:
        head = file.read(1 << 12)
    return load_plan(path, password=_password(request)) if f'"{FORMAT}"'.encode() in head else None
