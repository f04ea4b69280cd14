"""``python -m kinetoscope``: the command line."""

import sys

from kinetoscope.cli import main

if __name__ == "__main__":
    sys.exit(main())
