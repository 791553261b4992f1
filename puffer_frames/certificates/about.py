"""What an office says of its release: who issues it, what it is, what it is for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TypeAlias

from puffer_frames.errors import ArgumentError, ArgumentTypeError

About: TypeAlias = Mapping[str, str | datetime] | None
"""The argument `about`."""
FIELDS = (
    *("issuer", "dataset", "created", "intended_use", "contact", "recipients", "legal_basis", "review"),
    *("rows_per_person", "batch", "batches"),
)
APART = "no person is in two"
"""What `batches` declares."""
ONE_ROW = "one"
"""What `rows_per_person` declares."""


_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00013441\U00013442\U00016fe4\U0001d159"
    "\U000e0100-\U000e01ef]"
)
"""Printable by name, and nothing on paper: fillers, joiners, selectors of a variant, the blank of Braille."""


def is_seen(name: str, /) -> bool:
    """Whether a name has no blanks at its ends and no character that nobody sees: two alike would count as two."""
    return name == name.strip() and name.isprintable() and not _UNSEEN.search(name)


def today() -> str:
    """The day in UTC."""
    return datetime.now(UTC).date().isoformat()


def check_about(about: About, /) -> dict[str, str]:
    """Return the fields as text; `created` in UTC.

    Parameters
    ----------
    about : mapping or None
        Any of "issuer", "dataset", "intended_use", "contact", "recipients", "legal_basis" and "review" (when it is to
        be looked at again), each a text, and "created", a datetime with a time zone or its text in ISO 8601.
        "batch" names the part of the data set that the rows are; "batches": "no person is in two" declares just that,
        and "rows_per_person": "one" that each person has one row.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For another field, an empty text, something else than text, and a time without a zone.
    """
    if about is None:
        return {}
    if not isinstance(about, Mapping):
        hint = 'Write about={"issuer": "Our office"}.'
        raise ArgumentTypeError("about", rule="a mapping", got=f"a {type(about).__name__}", hint=hint)
    checked = {}
    for name, value in about.items():
        if name not in FIELDS:
            known = ", ".join(f'"{field}"' for field in FIELDS)
            near = get_close_matches(str(name), FIELDS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "Leave this field out."
            raise ArgumentError("about", rule=f"of the fields {known} only", got=repr(name), hint=hint)
        checked[name] = _utc(value) if name == "created" else _text(name, value)
    _check_batch(checked)
    return checked


def _check_batch(checked: Mapping[str, str]) -> None:
    """Raise ArgumentError for a declaration of nothing, and for a name that may stand twice for one batch."""
    if checked.get("rows_per_person", ONE_ROW) != ONE_ROW:
        hint = 'Leave it out where a person may have several, and name the column of persons: unit="person".'
        raise ArgumentError('about["rows_per_person"]', rule=repr(ONE_ROW), got="another text", hint=hint)
    batch, declared = checked.get("batch"), checked.get("batches")
    if declared not in (None, APART):
        hint = "Leave it out where a person may be in two batches: their releases then count in sequence."
        raise ArgumentError('about["batches"]', rule=repr(APART), got="another text", hint=hint)
    if declared and not (batch and "dataset" in checked):
        hint = 'Write about={"dataset": "visits", "batch": "2026-01-31", "batches": "no person is in two"}.'
        raise ArgumentError('about["batches"]', rule="given with a data set and a batch", got="it alone", hint=hint)
    if batch is not None and not is_seen(batch):
        rule = "a name without blanks at its ends and characters that nobody sees"
        raise ArgumentError('about["batch"]', rule=rule, got="another one", hint="Write one batch always alike.")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        got = "an empty text" if isinstance(value, str) else f"a {type(value).__name__}"
        raise ArgumentTypeError(f"about[{name!r}]", rule="a text", got=got, hint="Leave this field out.")
    try:
        value.encode()
    except UnicodeEncodeError:
        rule, got = "text of Unicode characters", "half of a surrogate pair"
        raise ArgumentError(f"about[{name!r}]", rule=rule, got=got, hint="Type it anew.") from None
    return unicodedata.normalize("NFC", value)  # of letters with accents there are two spellings, and one data set


def _utc(value: object) -> str:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        got = "one without a zone" if isinstance(moment, datetime) else f"another {type(value).__name__}"
        rule = "a datetime with a time zone, or its text in ISO 8601"
        hint = 'Write "2026-01-31T12:00:00Z"; in Python a datetime with a time zone is one, too.'
        raise ArgumentError('about["created"]', rule=rule, got=got, hint=hint)
    try:
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
    except OverflowError:
        rule = "a time of the years 1 to 9999 in UTC"
        raise ArgumentError('about["created"]', rule=rule, got="another", hint="Leave it out.") from None
