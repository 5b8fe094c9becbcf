"""`python -m rle` is the command `rle`."""

import sys

from rle.cli import main

if __name__ == "__main__":
    sys.exit(main())
