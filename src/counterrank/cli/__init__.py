"""The command line: ``counterrank VERB INPUTS [options]``."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys


class Output(io.TextIOWrapper):
    """Standard output whose reader may leave early, as ``head`` does.

    The rest then goes nowhere and the work goes on: files are still written, verdicts still count.
    """

    def write(self, text: str) -> int:
        """Write, whether or not anybody still reads."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._alone()
            return len(text)

    def flush(self) -> None:
        """Flush, whether or not anybody still reads."""
        try:
            super().flush()
        except BrokenPipeError:
            self._alone()

    def _alone(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


def main() -> None:
    """Run the command line and end at once: tearing down a large heap only costs time."""
    gc.set_threshold(100_000)  # loading libraries makes many objects and no garbage
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")  # ids may not fit the terminal's code
    if isinstance(sys.stdout, io.TextIOWrapper):
        code, lines = sys.stdout.encoding, sys.stdout.line_buffering
        sys.stdout = Output(sys.stdout.detach(), code, "backslashreplace", line_buffering=lines)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary files go, too
    exit_code = _run()
    sys.stdout.flush()
    sys.stderr.flush()
    if "pyspark" in sys.modules:
        atexit._run_exitfuncs()  # a session that was started here ends, and what was sent to it
    os._exit(exit_code)


def _run() -> int:
    """The exit code; what the user can mend ends with a message and 2."""
    from counterrank.cli.commands import run
    from counterrank.core.errors import CounterrankError
    from counterrank.core.provenance import COMMAND

    COMMAND[:] = ["counterrank", *sys.argv[1:]]
    try:
        return run(sys.argv[1:])
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except CounterrankError as error:
        for part in (f"counterrank: {error.wrong}", error.found, error.todo):
            if part:
                print(part, file=sys.stderr)
        return 2
    except MemoryError:
        print("counterrank: The memory is not enough.", file=sys.stderr)
        print("Send large tables to disk (--memory 4GB), or ask for less.", file=sys.stderr)
        return 2
