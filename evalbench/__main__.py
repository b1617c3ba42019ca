"""``python -m evalbench``: the command line."""

import sys

from evalbench.tui.cli.main import main

sys.exit(main())
