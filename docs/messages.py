"""Print every error and warning that a request can meet, on one page.

Run: python docs/messages.py
"""

import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))
from messages import REQUESTS, ask

for name, (met, _) in REQUESTS.items():
    for message in ask(*met):
        print(f"{name}: {type(message).__name__}")
        for line in str(message).split("\n\n"):
            print(textwrap.indent(textwrap.fill(line, 100), "    "))
        print()
