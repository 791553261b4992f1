"""What each subcommand does."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from puffer_frames.certificates.forms import number_plain
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.text import certificate_title, headline
from puffer_frames.doors.command.certificates_of import certificate_of_file, is_whole
from puffer_frames.doors.command.logs import LOG
from puffer_frames.doors.command.options import PLANNED, WITH_PLAN, as_arguments, spelled
from puffer_frames.doors.command.outcome import DONE, REFUSED, Outcome
from puffer_frames.doors.command.parser import Request
from puffer_frames.doors.command.places import BESIDE, check_places, is_folder, written
from puffer_frames.doors.command.tables import in_columns
from puffer_frames.doors.command.values import as_listed, number, with_levels
from puffer_frames.doors.command.writing import FileLedger, released_roles, say_types, write
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.csv_texts import AS_THEY_ARE, TextRoles
from puffer_frames.frames.files import check_writable, format_of, level_kinds, read_rows, row_count
from puffer_frames.frames.table import small_rows
from puffer_frames.scales.repeats import Unit
from puffer_frames.verbs.auditing.audited import audit
from puffer_frames.verbs.comparing.comparison import compare
from puffer_frames.verbs.ledgers.release_ledger import ledger
from puffer_frames.verbs.plans.file import FORMAT
from puffer_frames.verbs.plans.plan import Plan, load_plan
from puffer_frames.verbs.release import calibrate, privatize

AnyPlan: TypeAlias = Plan

PASSWORD = "PUFFER_PASSWORD"  # noqa: S105 - the name of a variable
"""Variable of the environment with the password of plans."""
_NEEDED = ("secret", "public", "epsilon")


def plan(request: Request, /) -> Outcome:
    """Calibrate, and keep the plan."""
    source, target = request.path("input"), request.path("kept_plan")
    _check_needed(request.arguments, _NEEDED)
    check_places([target], inputs=_inputs(request), overwrite=request.flag("overwrite"))
    password = _password(request)
    frame, arguments = _opened(request, source)
    found: AnyPlan = calibrate(frame, **arguments)
    found.save(target, password=password, overwrite=request.flag("overwrite"))
    LOG.info("the plan holds exact statistics of every secret: keep %s private", target)
    errors = {name: float(error) for name, error in found.expected_error.items()}
    text = f"{target}: a plan for {', '.join(found.public)}, epsilon {found.epsilon:g}; expected error " + ", ".join(
        f"{error:.6g}" for error in errors.values()
    )
    more = {"input": str(source), "plan": str(target), "rows": found.rows, "expected_error": errors}
    return Outcome(status="planned", text=str(found) if request.flag("figures") else text, more=more)


def compared(request: Request, /) -> Outcome:
    """Set the ways to release columns side by side."""
    source = request.path("input")
    _check_needed(request.arguments, ("secret", "public"))
    frame, arguments = _opened(request, source)
    rows = small_rows(compare(frame, **arguments))
    LOG.info("the comparison holds exact statistics of the table: keep it private")
    return Outcome(
        status="compared", text=in_columns(rows), more={"input": str(source), "rows": [_plain(row) for row in rows]}
    )


def release(request: Request, /) -> Outcome:
    """Draw the noise once, by the options or by a plan, and write the release with its certificate."""
    source, target = request.path("input"), request.path("output")
    folder = is_folder(target, request.found["output"])
    by_plan = "plan" in request.found
    _check_release(request.arguments, by_plan=by_plan)
    outputs, overwrite = [target] if folder else written(target), request.flag("overwrite")
    check_places(outputs, inputs=_inputs(request), overwrite=overwrite)
    kept = load_plan(request.path("plan"), password=_password(request)) if by_plan else None
    frame, arguments = _opened(request, source, kept, memory=kept is not None and _samples(kept.fitted.request.unit))
    if not folder:
        columns = _named(request.arguments, kept)
        check_writable(frame, [*columns["keep"], *columns["given"]], target)
    book = arguments["ledger"] = FileLedger.of(arguments.get("ledger"))
    with nullcontext(lambda: None) if book is None else book.of_files() as named:
        released = privatize(frame, **arguments) if kept is None else kept.release(frame, **arguments)
        LOG.info("calibrated; the noise is drawn while the release is written")
        certificate = write(released, target, folder=folder, new=not overwrite, named=named)
    if len(outputs) > 1:
        say_types(released, target, certificate)
    text = (
        f"{target}: {', '.join(certificate.public)}, {certificate.rows} rows, epsilon {certificate.epsilon:g}; "
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
    report = kept.check(frame)
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
    as_it_is = format_of(source) in ("parquet", "folder") and not request.schema
    verdict = ""
    for roles in (released_roles(certificate), AS_THEY_ARE):  # another version may have written numbers otherwise
        rows = source if as_it_is else read_rows(source, schema=request.schema, streaming=False, roles=roles)
        verdict = certificate.verify(rows, public_key=public_key)
        if is_whole(verdict) or format_of(source) != "csv":
            break
    return Outcome(
        status=verdict,
        code=DONE if is_whole(verdict) else REFUSED,
        text=f"{source}: {verdict}",
        more={"input": str(source), "verdict": verdict, "epsilon": certificate.epsilon, "delta": certificate.delta}
        | _largest(certificate),
    )


def _largest(certificate: Certificate) -> dict[str, float]:
    """The largest loss that was measured for the released rows, where it is more than was asked for."""
    found = headline(certificate)
    return {"measured_epsilon": found.epsilon, "measured_delta": found.delta} if found.exceeds else {}


def audit_files(request: Request, /) -> Outcome:
    """Test a release with the original at hand."""
    first, second = request.path("original"), request.path("released")
    certificate = certificate_of_file(second, given=request.path_or_none("certificate"))
    roles = released_roles(certificate)
    secret = (*certificate.secret, *as_listed(request.arguments.get("secret")))
    own = TextRoles(exact=(*certificate.kept, *certificate.given, *secret), public=certificate.public)
    original = read_rows(first, schema=request.schema, streaming=False, roles=own)
    released = read_rows(second, schema=request.types("released_schema"), streaming=False, roles=roles)
    level = request.found.get("level", "0.99")
    report = audit(
        original,
        released,
        certificate=certificate,
        secret=request.arguments.get("secret"),
        level=number(level, name="level") if isinstance(level, str) else level,
    )
    verdict = "passed" if report.passed else "failed"
    failed = [{"name": each.name, "why": each.why} for each in report.checks if each.result == "failed"]
    text = "; ".join(f"{each['name']}: {each['why']}" for each in failed)
    more: dict[str, Any] = {"original": str(first), "released": str(second), "failed": failed}
    if request.flag("figures"):
        more |= {
            "checks": [_plain_of(each) for each in report.checks],
            "pairs": [_plain_of(each) for each in report.pairs],
        }
    return Outcome(
        status=verdict,
        code=DONE if report.passed else REFUSED,
        text=str(report) if request.flag("figures") else f"{second}: {verdict}" + (f"; {text}" if text else ""),
        more=more,
    )


def _plain_of(found: Any, /) -> dict[str, Any]:
    """The fields of a record in JSON types, which have no NaN."""
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in values.items()}


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
    inputs = [source, book, *map(request.path_or_none, ("password_file", "config"))]
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


JOBS: Mapping[str, Callable[[Request], Outcome]] = {
    "compare": compared,
    "plan": plan,
    "release": release,
    "check": check,
    "verify": verify,
    "audit": audit_files,
    "show": show,
    "report": report,
}


def _opened(
    request: Request, source: Path, kept: AnyPlan | None = None, /, *, memory: bool = False
) -> tuple[NativeFrame, dict[str, Any]]:
    """The rows, and the arguments in the types of their columns; those of the plan are as in the plan."""
    memory = memory or bool(request.arguments.get("shuffle")) or request.arguments.get("unit_over") == "sample"
    roles = _roles(request.arguments, kept)
    frame = read_rows(source, schema=request.schema, streaming=not memory, roles=roles)
    rows = row_count(frame)
    LOG.info("%s: %s", source, "read as a stream" if rows is None else f"{rows} rows in memory")
    found = with_levels(dict(request.arguments), level_kinds(frame))
    if isinstance(found.get("beliefs"), list):
        texts = [name for name, kind in level_kinds(frame).items() if kind == "text"]
        alike = replace(roles, exact=roles.alike, plain=(), text=tuple(texts))
        found["beliefs"] = [
            read_rows(one, schema={}, streaming=False, roles=alike) if isinstance(one, Path) else one
            for one in found["beliefs"]
        ]
    return frame, as_arguments(found)


def _named(arguments: Mapping[str, Any], kept: AnyPlan | None) -> dict[str, list[str]]:
    """Names of columns by what they are for, as the options or the plan say it."""
    named = {name: as_listed(arguments.get(name)) for name in ("secret", "given", "unit", "keep", "row_id", "public")}
    if kept is not None:
        asked = kept.fitted.request
        named |= {"secret": [*asked.secret], "given": [*asked.given_columns], "public": [*asked.public]}
        named["unit"] = [] if asked.unit is None else as_listed(asked.unit.column)
    return named


def _roles(arguments: Mapping[str, Any], kept: AnyPlan | None) -> TextRoles:
    """What the columns of a CSV file are for; what holds labels in a plan stays text."""
    named = _named(arguments, kept)
    alike = (*named["secret"], *named["given"], *named["unit"])
    return TextRoles(
        exact=(*alike, *named["keep"]),
        alike=alike,
        public=tuple(named["public"]),
        plain=tuple(named["row_id"]),
        text=() if kept is None else tuple(name for name, kind in kept.kinds.items() if kind == "labels"),
        alone=True,
    )


def _samples(unit: Unit | None, /) -> bool:
    """Whether some rows of large units are left out, for which all rows must be in memory."""
    return unit is not None and unit.over == "sample"


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """In JSON types."""
    return {name: number_plain(entry) if isinstance(entry, float) else entry for name, entry in row.items()}


def _inputs(request: Request) -> list[Path | None]:
    ledger = request.arguments.get("ledger")
    names = ("input", "plan", "password_file", "config")
    return [*map(request.path_or_none, names), Path(ledger) if isinstance(ledger, str) and ledger else None]


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
            hint="Write --secret race --public age --epsilon 1, or name a plan: --plan plan.json.",
        )


def _password(request: Request) -> str | None:
    """From a file or the environment: a command line is seen by everybody on the machine."""
    path: Path | None = request.path_or_none("password_file")
    if path is None:
        return os.environ.get(PASSWORD)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        lines = []
    if not lines or not lines[0]:
        raise ArgumentError(
            "the password file", rule="one with a password in its first line", got="none", hint="Write it in UTF-8."
        )
    return lines[0]


def _table_of(path: Path) -> Path | None:
    """The file of a release, or that beside which a certificate lies; None for a folder, and a certificate alone."""
    table = path
    if path.suffix.lower() == ".json":
        table = path.with_name(path.name.removesuffix(BESIDE))
    return table if table.is_file() and (table != path or path.suffix.lower() != ".json") else None


def _certificate_in(path: Path) -> Certificate:
    """Of a release, or the file itself."""
    return certificate_of_file(path, given=path if path.suffix.lower() == ".json" else None)


def _plan_in(path: Path, request: Request) -> AnyPlan | None:
    """The plan that a file holds; None for another file."""
    if path.suffix.lower() != ".json" or path.is_dir():
        return None
    with path.open("rb") as file:
        head = file.read(1 << 12)
    return load_plan(path, password=_password(request)) if f'"{FORMAT}"'.encode() in head else None
