"""``python -m counterrank``."""

from counterrank.cli import main

main()
