"""What a frame in memory says of a public column."""

from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import open_table


def summary_of(frame, *, secret, public, domain=None):
    roles = Roles(secret=tuple(secret), public=(public,))
    rows = open_table(frame).complete(roles, nulls="raise", layout=None)
    return rows.summaries({} if domain is None else {public: domain})[public]
