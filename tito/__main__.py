"""`python -m tito` is `tito`."""

from tito.cli import main

main()
