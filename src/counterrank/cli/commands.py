"""All commands, and which one a command line means."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence

from counterrank.cli.command import FORMATS, Command, call, parser, read_options, values
from counterrank.core.arguments import is_text, one_of
from counterrank.core.errors import UsageError, unknown

RESULT = ("out", "by_unit", "picture", "format", "strict", "quiet")
SHOWN = ("format", "strict")
COMMANDS = {
    command.name: command
    for command in (
        Command("evaluate", "api.evaluate:evaluate", RESULT),
        Command("estimate", "api.estimate:estimate", RESULT),
        Command("strata", "api.strata:strata", RESULT),
        Command("funnel", "api.funnel:funnel", RESULT),
        Command("exposure", "api.exposure:exposure", ("out", "picture", *SHOWN, "quiet")),
        *(
            Command(f"assess {name}", f"api.assess_{name}:assess_{name}", RESULT)
            for name in ("power", "robustness", "agreement", "online", "accuracy")
        ),
        Command("check", "api.check:check", SHOWN),
        Command("report", "api.gate:report", show="show_page"),
        Command("repeat", "api.repeat:repeat", show="show_repetition"),
        Command("gate", "api.gate:gate", show="show_gate"),
        Command("measures", "cli.measures:measures"),
        Command("simulate", "cli.simulate:simulate"),
        Command("demo", "cli.demo:demo"),
        Command("reproduce", "cli.reproduce:reproduce"),
    )
}
TRUST = "Which measure or estimator can be trusted on these data?"
ABOUT = "What would this ranker have earned, how sure are we, and what does that rest on?"


def find(words: Sequence[str]) -> tuple[Command, list[str]]:
    """The command that the words name, and the words left."""
    for several in (2, 1):
        name = " ".join(words[:several])
        if name in COMMANDS:
            return COMMANDS[name], list(words[several:])
    asked = " ".join(words[: 1 + (words[0] == "assess")])
    raise unknown(f'There is no command "{asked}".', asked, COMMANDS, "There are")


def overview(group: str = "") -> str:
    """Help on all commands, or on those of a group."""
    wide = min(shutil.get_terminal_size().columns, 100)
    names = [name for name in COMMANDS if name.startswith(group)]
    formatter = argparse.HelpFormatter("counterrank", max_help_position=22, width=wide)
    formatter.add_usage(f"counterrank {group or 'VERB'} INPUTS [options]", [], [])
    formatter.add_text(TRUST if group else ABOUT)
    formatter.start_section("verbs")
    for name in names:
        formatter.add_argument(argparse.Action([], name, help=COMMANDS[name].summary, metavar=name))
    formatter.end_section()
    formatter.add_text("counterrank VERB --help tells more; counterrank --version the version.")
    return formatter.format_help()


def run(words: Sequence[str]) -> int:
    """The exit code of a command line: 0 done, 3 a diagnostic or the gate says no."""
    if not words or words[0] in ("-h", "--help"):
        print(overview(), end="")
        return 0
    if words[0] == "--version":
        from counterrank.version import __version__

        print(f"counterrank {__version__}")
        return 0
    if words[0] == "assess" and (len(words) == 1 or words[1] in ("-h", "--help")):
        print(overview("assess"), end="")
        return 0
    for word in words:
        if not is_text(word):
            raise UsageError(f'"{word}" is not UTF-8 text.', todo="Give it another name.")
    command, rest = find(words)
    flags = rest[: rest.index("--")] if "--" in rest else rest
    from_file = any(word.partition("=")[0] == "--config" for word in flags)
    given = parser(command, complete=not from_file).read(rest)
    asked = values(command, given)
    if from_file:
        asked = read_options(command, given) | asked
    if not command.output and not command.show:
        call(command, asked)
        return 0
    from counterrank.cli import output

    if command.show:
        return int(getattr(output, command.show)(call(command, asked)))
    given.format = one_of("--format", given.format or "table", FORMATS)
    return output.run_verb(command, asked, given)
