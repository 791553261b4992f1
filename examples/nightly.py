"""A script for cron: release last night's CSV with pandas, and say by the exit code how it went.

    15 3 * * *  cd /data && /opt/venv/bin/python nightly.py raw.csv public.csv 2>>nightly.log

0: released. 1: refused for privacy, nothing was written. Messages name columns and counts, never a value that is
released, so the log may be read by whoever runs the machine.
"""

import sys
from pathlib import Path

import pandas as pd

import puffer_frames
from puffer_frames import Layout


def main(source: str, target: str) -> int:
    """Release a file; the certificate is written first, and the table takes its name last."""
    people = pd.read_csv(source)
    try:
        released = people.puffer.privatize(
            secret="sex", public="glucose", layout=Layout(keep="ward", index="drop"), epsilon=1.0
        )
    except puffer_frames.PufferError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    released.puffer.certificate.save(f"{target}.certificate.json")
    moment = Path(f"{target}.partial")
    released.to_csv(moment, index=False)
    moment.replace(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
