"""Print the errors and warnings of the package on one page.

Run: python docs/messages.py
"""

import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))
from messages import CALLS, ask, met
from request_messages import REQUESTS

page = {name: ask(*pair[0]) for name, pair in REQUESTS.items()} | {name: met(pair[0]) for name, pair in CALLS.items()}
for name, messages in page.items():
    for message in messages:
        print(f"{name}: {type(message).__name__}")
        for line in str(message).split("\n\n"):
            print(textwrap.indent(textwrap.fill(line, 100), "    "))
        print()
