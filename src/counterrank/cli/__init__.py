"""The command line: ``counterrank VERB INPUTS [options]``."""

from __future__ import annotations

import gc
import io
import os
import sys


def main() -> None:
    """Run the command line and end at once: tearing down a large heap only costs time."""
    gc.set_threshold(100_000)  # loading libraries makes many objects and no garbage
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # ids may not fit the terminal's code
    try:
        code = _run()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has seen enough
        code = 0
    sys.stderr.flush()
    os._exit(code)


def _run() -> int:
    """The exit code; what the user can mend ends with a message and 2."""
    from counterrank.cli.app import app
    from counterrank.command import COMMAND
    from counterrank.errors import CounterrankError

    COMMAND[:] = ["counterrank", *sys.argv[1:]]
    try:
        app()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except CounterrankError as error:
        for part in (f"counterrank: {error.wrong}", error.found, error.todo):
            if part:
                print(part, file=sys.stderr)
        return 2
    return 0
