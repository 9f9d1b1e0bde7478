"""`python -m weir.ctl` is `weirctl`."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
