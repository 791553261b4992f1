"""`python -m puffer_frames` is the command `puffer`."""

import sys

from puffer_frames.doors.command.main import main

if __name__ == "__main__":
    sys.exit(main())
