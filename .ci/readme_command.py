"""Print the shell command of the README that holds the given word."""

import re
import sys
from pathlib import Path

blocks = re.findall(r"```sh\n(.*?)\n```", Path("README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
(command,) = [block for block in blocks if sys.argv[1] in block]
print(command)
