"""No sentence that a report adds appears where it is not true: every one, held against a table."""

import hashlib
import math
import re
from dataclasses import replace

import pytest
from certificate_cases import CASES, certificate_of_case, flat, said_of
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from html_page import Page

import puffer_frames
from puffer_frames import Ledger
from puffer_frames.certificates.about import check_about
from puffer_frames.certificates.report.words import REPORT_SENTENCES
from puffer_frames.certificates.text import headline
from puffer_frames.errors import ArgumentTypeError

SEEDED = ("release, seeded", "labels, seeded")
NAMES = (
    *("release", "release, delta", *SEEDED, "rows", "rows, given, delta", "labels", "labels, delta", "series"),
    *("series, Gaussian noise", "sum", "sum, delta", "release, unit of independent rows", "release, kept", "batch"),
    *("release, clipped and rounded", "release, remap", "release, no noise", "release, given", "rows, labels"),
)
EXPORTED = {"relation", "relation-compared", "relation-distance", "relation-output", "nothing-before"}
"""Tested with the records for registries."""
WORDS = {
    "word-pair": ("secret pair", r"\bpair"),
    "word-belief": ("belief", r"\bbelie[fv]"),
    "word-law": ("law", r"\blaws?\b"),
    "word-network": ("network", r"\bnetwork"),
    "word-plan": ("plan", r"\bplans?\b"),
    "word-quilt": ("quilt", r"\bquilt"),
    "word-epsilon": ("epsilon", r"\bepsilon"),
    "word-delta": ("delta", r"\bdelta"),
    "word-loss": ("loss", r"\bloss"),
}
TOLD = {
    *("changed", "audit-passed", "audit-failed", "epsilon-said", "use-said", "issuer-said", "signed", "delta-weak"),
    *("ledger-total", "ledger-unknown", "ledger-lacks", "ledger-only"),
    *("recipients-said", "law-said", "review-said", "review-look", "one-row"),
    *("use-matrix-lost", "use-cells", "use-moved"),
    *("use-heavy", "use-response-strata", "use-matrix", "use-shares", "use-mean", "use-table", "use-call-table"),
    *("use-shares-of-rows", "use-mean-of-rows", "use-mean-by-group", "use-no-slope", "use-no-margins"),
    *("smallest-few", "less-sure", "sure-network", "audit-none-beside"),
}
"""Those that the certificates of cases cannot have: tested with what a report is told, here and in test_report.py."""
ALWAYS = {
    *("audit-none", "epsilon-unsaid", "use-unsaid", "issuer-unsaid", "unsigned", "ledger-none", "central", "machine"),
    *("about-how", "small-groups", "recipients-unsaid", "law-unsaid", "harm-unsaid", "review-unsaid", "recall"),
}


def drowned(name):
    return bool(certificate_of_case(name).useless)


def by_how_much(name):
    found = certificate_of_case(name)
    compared = {column: one.constant_error for column, one in found.estimated.items() if column in found.useless}
    return any(found.expected_error[column] > constant for column, constant in compared.items())


def private(c, name):
    return name not in SEEDED


def keys(name):
    return {one.key for one in certificate_of_case(name).statements}


def weaker(name):
    """Whether a release of rows has limits under other laws, above what was asked for."""
    found = certificate_of_case(name)
    losses = [loss for each in found.wider.values() for loss in each.values()]
    return not found.answers and any((found.delta or found.epsilon) < loss < math.inf for loss in losses)


def answers(c, name):
    return c["verb"] in ("aggregate", "histogram")


def channel(c, name):
    return c["public"] == "hobby" if "public" in c else False


def noisy(c, name):
    """Whether columns have noise, and nothing else was done to them."""
    done = {"clip", "round"} & set(c) or c.get("mechanism") == "remap"
    return not answers(c, name) and not channel(c, name) and not done and name != "release, no noise"


TABLE = {key: lambda c, name: True for key in ALWAYS} | {
    **dict.fromkeys(("example", "seen", "auc"), private),
    "no-end": private,
    "sure": lambda c, name: private(c, name) and not headline(certificate_of_case(name)).exceeds,
    "sure-records": lambda c, name: (
        private(c, name) and not headline(certificate_of_case(name)).exceeds and bool(keys(name) & {"records", "units"})
    ),
    "weaker-limits": lambda c, name: private(c, name) and weaker(name),
    "far-exponent": lambda c, name: (
        (weaker(name) and not c.get("delta")) or "joint-any-law" in keys(name) or name == "labels, delta"
    ),
    "not-dp": private,
    "not-anonymous": lambda c, name: private(c, name) and not answers(c, name),
    **{key: lambda c, name: not answers(c, name) for key in ("values-told", "who-is-in", "open-to-all", "identity")},
    "use-noise": noisy,
    "use-slope": lambda c, name: (
        noisy(c, name)
        and not certificate_of_case(name).strata
        and bool(certificate_of_case(name).estimated)
        and len(certificate_of_case(name).public + certificate_of_case(name).kept) > 1
    ),
    "use-processed": lambda c, name: not answers(c, name) and ("clip" in c or c.get("mechanism") == "remap"),
    "use-response": lambda c, name: name == "rows, labels",
    "use-unknown": channel,
    "use-kept": lambda c, name: (
        not answers(c, name) and bool({"keep", "given"} & set(c) or name == "release, no noise")
    ),
    "use-csv": noisy,
    "use-secret": lambda c, name: not answers(c, name),
    "smallest-group": lambda c, name: not answers(c, name) and "batch" not in c,
    "smallest-tells": lambda c, name: not answers(c, name) and "batch" not in c,
    "use-call": lambda c, name: not answers(c, name) and not channel(c, name) and name != "release, no noise",
    "use-support": lambda c, name: not answers(c, name) and not channel(c, name) and name != "release, no noise",
    "no-promise": lambda c, name: not private(c, name),
    "one-row-unsaid": lambda c, name: not answers(c, name) and "unit" not in c,
    "unit-row": lambda c, name: not answers(c, name) and "unit" not in c,
    "unit-rows": lambda c, name: not answers(c, name) and "unit" in c,
    "unit-answer": answers,
    "delta-zero": lambda c, name: private(c, name) and not c.get("delta"),
    "delta-rows": lambda c, name: bool(c.get("delta")) and not answers(c, name),
    "delta-answers": lambda c, name: bool(c.get("delta")) and answers(c, name),
    "nothing-beside": lambda c, name: not answers(c, name) and not {"keep", "given"} & set(c),
    "rows-public": lambda c, name: not answers(c, name),
    "worst-case": private,
    "in-the-table": lambda c, name: private(c, name) and not answers(c, name),
    "closed": private,
    "nothing-after": lambda c, name: (
        not answers(c, name)
        and not channel(c, name)
        and not {"clip", "round"} & set(c)
        and c.get("mechanism") != "remap"
    ),
    "useless": lambda c, name: drowned(name),
    "instead-fewer": lambda c, name: drowned(name) and isinstance(c["public"], list),
    "instead-channel": lambda c, name: (
        drowned(name) and isinstance(c["public"], str) and not {"unit", "given"} & set(c)
    ),
    "instead-epsilon": lambda c, name: by_how_much(name),
    "instead-means": lambda c, name: drowned(name),
    "no-bias": lambda c, name: (
        not channel(c, name)
        and not {"clip", "round"} & set(c)
        and c.get("mechanism") != "remap"
        and name not in ("release, no noise", "rows, labels")
    ),
}


def pattern(key):
    """A sentence with anything in its braces; none that is nothing but what it is told."""
    parts = re.split(r"\{\w+\}", re.sub(r"\{order\}\.|\{rare\}|\{also\}", "", REPORT_SENTENCES[key].text))
    return re.compile(".*?".join(map(re.escape, parts)))


def _written(certificate, folder):
    certificate.report(folder / "report.html", overwrite=True)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_appears_where_the_table_says(name, tmp_path):
    certificate_of_case(name).report(tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    text = page.text
    assert ",," not in text
    (words,) = (one.text for one in page.all("section") if one.given["aria-labelledby"] == "words")
    rest = text.replace(" ".join(words.split()), "")
    for word, form in WORDS.values():  # explained where the page has them, and nowhere else
        assert (f"{word}: " in words) == bool(re.search(form, rest, re.I))
    found = {key for key in TABLE if pattern(key).search(text)}
    assert found == {key for key, appears in TABLE.items() if appears(flat(CASES[name]), name)}
    assert ("but for a chance of at most" in text) == ("example" in found and flat(CASES[name]).get("delta", 0) > 0)
    absent = TOLD - {"epsilon-said", "use-said", "issuer-said", "recipients-said"}
    assert not {key for key in absent if pattern(key).search(text)}


def test_the_table_names_every_sentence():
    assert set(TABLE) | TOLD | EXPORTED | set(WORDS) == set(REPORT_SENTENCES)
    assert not set(TABLE) & TOLD


def test_every_sentence_has_a_ground():
    grounds = {"proved", "measured", "assumed", "not covered", "done", "technical", "said"}
    assert {one.kind for one in REPORT_SENTENCES.values()} <= grounds


def test_what_a_report_is_told(tmp_path):
    certificate = said_of().puffer.certificate
    certificate.report(tmp_path / "report.html", justification="The committee chose it.")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.row("Intended use")[1] == "teaching (said)"
    assert page.row("Who answers for it")[1] == "Office for tests; office@example.org. (said)"
    assert page.row("Why this epsilon")[1] == "The committee chose it. (said)"
    incident = page.row("After the release, and in an incident")[1]
    assert "the key of the noise or the plan" in incident
    assert "at once tell the contact, office@example.org, who decides" in incident
    assert "the published condition asks for more than is needed here, by a factor of" in page.text


def test_a_signature_is_named_and_not_called_good(tmp_path):
    signing = Ed25519PrivateKey.generate()
    signed = certificate_of_case("release").sign(signing)
    signed.report(tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert pattern("signed").search(page.text)
    assert not pattern("unsigned").search(page.text)
    assert "To sign, in Python" not in page.text
    public = signing.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert f"the Ed25519 key sha256 {hashlib.sha256(public).hexdigest()}." in page.text
    assert page.row("To see the fingerprint of the key") == [
        "openssl pkey -pubin -in PUBLIC.pem -outform DER | sha256sum"
    ]
    replace(signed, signed_by=None).report(tmp_path / "report.html", overwrite=True)  # of an earlier version
    assert "key that the record does not name" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_private_key_in_place_of_the_public_one_is_named():
    key = Ed25519PrivateKey.generate()
    signed = certificate_of_case("release").sign(key)
    for wrong in (key, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())):
        with pytest.raises(ArgumentTypeError, match="got a private key, which is for the issuer alone"):
            signed.verify(said_of(), public_key=wrong)


def test_the_command_that_signs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said_of().puffer.write_parquet("FILE")
    page = Page(_written(certificate_of_case("release"), tmp_path))
    (tmp_path / "PRIVATE.pem").write_bytes(
        Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    exec(page.row("To sign, in Python; say ledger= and justification= again")[0], {})
    assert puffer_frames.read_certificate("SIGNED.parquet").verify("SIGNED.parquet") == "intact, signature not checked"
    assert pattern("signed").search(Page((tmp_path / "SIGNED.html").read_text(encoding="utf-8")).text)


def test_what_review_and_open_publication_mean(tmp_path):
    said = {"review": "2027-01-31", "recipients": "two universities", "rows_per_person": "one"}
    told = certificate_of_case("release").said(check_about(said))
    for certificate, found in ((told, True), (certificate_of_case("release"), False)):
        text = Page(_written(certificate, tmp_path)).text
        assert bool(pattern("review-look").search(text)) == found
        assert ("The issuer states: each person has one row." in text) == found
        assert bool(pattern("one-row-unsaid").search(text)) != found
        assert ("Declared recipients: two universities." in text) == found
        assert ("Declared recipients: not said." in text) != found
        assert ("Decision: hand over to the recipients named above, or not" in text) == found


def test_a_withdrawn_release_counts_no_longer(tmp_path):
    book = Ledger(tmp_path / "releases.jsonl")
    certificate = said_of().puffer.certificate
    book.withdraw(book.reserve(certificate, None))
    certificate.report(tmp_path / "report.html", ledger=book)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "withdrawn" in page.text
    assert "Nothing is known of all releases of this data set together: none counts." in page.text
