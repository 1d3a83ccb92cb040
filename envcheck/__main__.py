"""`python -m envcheck` is the same program as the command `envcheck`."""

import sys

from envcheck.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
