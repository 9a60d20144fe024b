"""The command line: ``counterrank VERB INPUTS [options]``."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys


class Output(io.TextIOWrapper):
    """A standard stream whose reader may leave early, as ``head`` does, or whose disk may be full.

    The rest then goes nowhere and the work goes on: files are still written, verdicts still count.
    ``failure`` is why, where it was not the reader who left.
    """

    failure = ""

    def write(self, text: str) -> int:
        """Write, whether or not anybody still reads."""
        try:
            return super().write(text)
        except OSError as error:
            self._alone(error)
            return len(text)

    def flush(self) -> None:
        """Flush, whether or not anybody still reads."""
        try:
            super().flush()
        except OSError as error:
            self._alone(error)

    def _alone(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            self.failure = self.failure or error.strerror or str(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


def _open_streams() -> bool:
    """Streams that were closed before we came go nowhere; whether standard output was open.

    Otherwise the next file that is opened would get what is printed.
    """
    there = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115
    return there


def main() -> None:
    """Run the command line and end at once: tearing down a large heap only costs time."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # others wait for work at full speed
    gc.set_threshold(100_000)  # loading libraries makes many objects and no garbage
    there = _open_streams()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # ids may not fit the terminal's code
            code, lines = stream.encoding, stream.line_buffering
            own = Output(stream.detach(), code, "backslashreplace", line_buffering=lines)
            setattr(sys, name, own)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary files go, too
    try:
        exit_code = _refuse_little() or _run()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("counterrank: Interrupted.", file=sys.stderr)
        exit_code = 130
    sys.stdout.flush()
    failure = getattr(sys.stdout, "failure", "") or ("" if there else "it is closed")
    if failure:
        print("counterrank: The standard output cannot be written.", file=sys.stderr)
        print(f"The system says: {failure}. Files that were asked for are there.", file=sys.stderr)
        exit_code = exit_code or 2
    sys.stderr.flush()
    if "pyspark" in sys.modules:
        atexit._run_exitfuncs()  # a session that was started here ends, and what was sent to it
    os._exit(exit_code)


LEAST, EACH = 1.2e9, 0.15e9  # bytes of addresses that libraries take, and for every core


def _refuse_little() -> int:
    """2 if addresses are limited to fewer than the libraries take, which would end or hang in them.

    This is what ``ulimit -v`` sets; where it is more, a table that does not fit is a MemoryError.
    """
    try:
        import resource
    except ImportError:  # on Windows
        return 0
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    need = LEAST + EACH * (os.cpu_count() or 1)
    if allowed == resource.RLIM_INFINITY or allowed >= need:
        return 0
    print("counterrank: The memory is not enough.", file=sys.stderr)
    print(
        f"{allowed / 1e9:.1f} GB of addresses are allowed, and libraries alone take about"
        f" {need / 1e9:.1f} GB on this machine.\nRaise the limit: ulimit -v.",
        file=sys.stderr,
    )
    return 2


def _run() -> int:
    """The exit code; what the user can mend ends with a message and 2."""
    from counterrank.cli.commands import run
    from counterrank.core.errors import CounterrankError, printable
    from counterrank.core.provenance import COMMAND

    COMMAND[:] = ["counterrank", *sys.argv[1:]]
    try:
        return run(sys.argv[1:])
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except CounterrankError as error:
        from counterrank.core.format import terminal_text

        for part in (f"counterrank: {error.wrong}", error.found, error.todo):
            if part:
                print(terminal_text(part, sys.stderr), file=sys.stderr)
        return 2
    except OSError as error:
        print("counterrank: The system did not let the work be done.", file=sys.stderr)
        about = f" ({printable(str(error.filename))[:200]})" if error.filename else ""
        print(f"It says: {error.strerror or error}{about}.", file=sys.stderr)
        return 2
    except MemoryError as error:
        print("counterrank: The memory is not enough.", file=sys.stderr)
        if str(error):
            print(f"{error}.", file=sys.stderr)
        print("Send large tables to disk (--memory 4GB), or ask for less.", file=sys.stderr)
        return 2
