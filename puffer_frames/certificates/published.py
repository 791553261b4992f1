"""What is made of a certificate for others to read: a page, and records for registries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from puffer_frames.certificates.exports.croissant import croissant_record
from puffer_frames.certificates.exports.registry import registry_record
from puffer_frames.certificates.exports.yaml_text import yaml_text
from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.page import certificate_page
from puffer_frames.certificates.report.saved import check_path, digest_of_file
from puffer_frames.errors import short_traceback
from puffer_frames.frames.files import write_text


class Published(Fields):
    """A certificate with the forms in which it is published."""

    __slots__ = ()

    @short_traceback
    def report(
        self,
        path: str | Path,
        /,
        *,
        ledger: object = None,
        audit: object = None,
        justification: str | None = None,
        file: str | Path | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the certificate as a page that a person can read, print and sign.

        Parameters
        ----------
        path : str or Path
            Of a new .html file. It is written whole or not at all.
        ledger : Ledger, optional
            Lists the releases of the data set that the certificate names, and what they guarantee together.
        audit : object, optional
            What a test of the release returned: anything with `passed`. Of its figures nothing is printed.
        justification : str, optional
            Why this epsilon was chosen, in the words of whoever issues the release.
        file : str or Path, optional
            The file that is published, with the release or this certificate: the page states its SHA-256, and the
            commands that check it.
        overwrite : bool
            Replace a file that is there.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For another path, a file that is there, a ledger without releases of this data set, and what is no ledger,
            no test or no text.
        LedgerError
            For a line of the ledger that no release has written.
        OSError
            Where the page cannot be written there, and the file that is published cannot be read.

        Notes
        -----
        The page says what the certificate says, and may be published with it. It has no scripts, needs nothing from
        elsewhere, and fits on two pages of A4 where a release has few columns (docs/certificates.md).

        Examples
        --------
        >>> import tempfile, numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5)
        >>> released.puffer.certificate.report(tempfile.mkdtemp() + "/release.html", justification="A usual value.")
        """
        place = check_path(path, overwrite=overwrite)
        digest = None if file is None else digest_of_file(file)
        page = certificate_page(self, ledger=ledger, audit=audit, justification=justification, digest=digest)
        write_text(page, place, new=not overwrite)

    @short_traceback
    def to_registry(
        self,
        *,
        published: str | None = None,
        authors: Sequence[str] = (),
        region: str | None = None,
        justification: str | None = None,
    ) -> str:
        """The deployment record that the OpenDP deployments registry takes, as YAML.

        Parameters
        ----------
        published : str, optional
            Date of the release, as 2026-01-31; by default that of `created`.
        authors : list of str
            Who fills out the record; by default the issuer.
        region : str, optional
            Which region the data describe.
        justification : str, optional
            Why this epsilon was chosen.

        Returns
        -------
        str
            A draft: its variant is "Custom", it names the privacy relation, and says that this is not differential
            privacy. What nobody has said is "not said".

        Raises
        ------
        ArgumentError
            Where there is no date, for what is no text, and for a release from a seed.

        Notes
        -----
        The record has the fields of `schemas/deployments-schema.yaml` of `opendp/deployments-registry-data`. Texts of
        it are shown as Markdown there.

        Examples
        --------
        >>> import numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5)
        >>> print(released.puffer.certificate.to_registry(published="2026-01-31").splitlines()[1])
        status: "Draft"
        """
        return yaml_text(
            registry_record(self, authors=authors, region=region, justification=justification, published=published)
        )

    @short_traceback
    def to_croissant(
        self,
        path: str | Path,
        /,
        *,
        url: str | None = None,
        license: str | None = None,  # noqa: A002 - its field
    ) -> dict[str, Any]:
        """The description of a released file in the Croissant format 1.0 (JSON-LD).

        Parameters
        ----------
        path : str or Path
            Of the release: Parquet or CSV.
        url : str, optional
            Where the release is published.
        license : str, optional
            Its licence, by name or address.

        Returns
        -------
        dict
            JSON types, for `json.dump`: the file with its SHA-256, its columns, and in the fields of Croissant RAI what
            was done and what is not covered.

        Raises
        ------
        ArgumentError
            For another kind of file, and for an address or a licence that is no text.
        UncoveredFrameError
            For a file with a column that the certificate does not know.
        OSError, TableFileError
            Where the file cannot be read.

        Examples
        --------
        >>> import tempfile, numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5)
        >>> path = tempfile.mkdtemp() + "/released.parquet"
        >>> released.puffer.write_parquet(path)
        >>> released.puffer.certificate.to_croissant(path)["recordSet"][0]["field"][0]["dataType"]
        'sc:Float'
        """
        return croissant_record(self, Path(path), url=url, licence=license)
