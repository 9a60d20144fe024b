"""The command line: ``counterrank VERB INPUTS [options]``."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line; what the user can mend ends with a message and exit code 2."""
    from counterrank.cli.app import app
    from counterrank.errors import CounterrankError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # ids may not fit the terminal's code
    try:
        app()
    except CounterrankError as error:
        for part in (f"counterrank: {error.wrong}", error.found, error.todo):
            if part:
                print(part, file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
