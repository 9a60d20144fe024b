"""What was typed, where the command line is what runs: results remember it."""

COMMAND: list[str] = []
