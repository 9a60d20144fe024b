"""What a server of processes loads once: every verb, and all libraries, none of them used yet."""

from __future__ import annotations

from importlib import import_module

from counterrank.cli.commands import COMMANDS

for name in ("polars", "numpy", "rich.console", "rich.text",
             "counterrank.cli.output",
             "counterrank.report.page", "counterrank.report.terminal", "counterrank.engine.disk",
             "counterrank.documents.gate", "counterrank.studies.pipeline",
             "counterrank.simulate.sample", "counterrank.judged.pipeline",
             "counterrank.assess.pipeline", "counterrank.position.learn.pipeline"):  # fmt: skip
    import_module(name)
for command in COMMANDS.values():
    _ = command.function
