"""Position models in JSON: ``counterrank exposure --out`` writes, ``--position-bias`` reads them.

A model is its name and options, exact to the last bit; a document has it under the key ``model``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from counterrank.core.errors import CounterrankError, InputError, UsageError, brief, first_line
from counterrank.position.models import (
    ByContext,
    PositionBias,
    PositionModel,
    exposure,
    position_model,
)

KIND = "exposure"


def to_json(model: PositionBias) -> dict[str, Any]:
    """A model as JSON values."""
    if isinstance(model, ByContext):
        default = None if model.default is None else to_json(model.default)
        models = {value: to_json(one) for value, one in model.models.items()}
        return {"name": "by", "column": model.column, "models": models, "default": default}
    options = {field.name: getattr(model, field.name) for field in fields(model)}
    return {"name": model.name} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in options.items()
    }


def from_json(entry: object) -> PositionBias:
    """The model that JSON values stand for."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise UsageError('A model needs a "name" and its options.', found=f"Got {brief(entry)}.")
    name = str(entry["name"])
    given = {key: value for key, value in entry.items() if key != "name"}
    if name == "by":
        return _by(given)
    kind = exposure.kind(name)
    known = [field.name for field in fields(kind)]
    for key, value in given.items():
        if key not in known:
            raise UsageError(f'{name} has no option "{key}".', found=f"It has: {', '.join(known)}.")
        if not (_number(value) or (key == "k" and value is None) or key == "weights"):
            raise UsageError(f'"{key}" of {name} must be a number.', found=f"Got {brief(value)}.")
    if name == "table":
        weights = given.get("weights")
        if not isinstance(weights, list) or not all(map(_number, weights)):
            raise UsageError('"weights" of table must be a list of numbers.')
        given["weights"] = tuple(weights)
    model: PositionModel = kind(**given)
    return model


def _by(given: Mapping[str, Any]) -> ByContext:
    column, models, default = (given.get(key) for key in ("column", "models", "default"))
    if not isinstance(column, str) or not isinstance(models, Mapping):
        raise UsageError('A model by context needs "column" and "models".')
    each = {str(value): _plain(one) for value, one in models.items()}
    return ByContext(column, each, None if default is None else _plain(default))


def _plain(entry: object) -> PositionModel:
    model = from_json(entry)
    if isinstance(model, ByContext):
        raise UsageError("A model by context cannot hold another one.")
    return model


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def load(path: str | os.PathLike[str]) -> PositionBias:
    """The model in a file that ``counterrank exposure`` wrote."""
    todo = "Write one with: counterrank exposure LOG --out FILE.json"
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        found = f"The system says: {error.strerror or error}."
        raise InputError(f'"{name}" cannot be read.', found=found, todo=todo) from error
    except ValueError as error:
        found = f"The parser says: {first_line(error)}."
        raise InputError(f'"{name}" is not a JSON document.', found=found, todo=todo) from error
    tables = document.get("tables") if isinstance(document, dict) else None
    if not tables or document.get("kind") != KIND or "model" not in tables:
        kind = document.get("kind") if isinstance(document, dict) else None
        raise InputError(
            f'"{name}" holds no position model.',
            found=f"Its kind is {brief(kind)}." if kind else 'It has no "kind" and "model".',
            todo=todo,
        )
    try:
        return from_json(tables["model"])
    except CounterrankError as error:
        raise InputError(
            f'The position model in "{name}" cannot be used.',
            found=" ".join(part for part in (error.wrong, error.found) if part),
            todo=error.todo or todo,
        ) from error


def position_bias(given: PositionBias | str | os.PathLike[str]) -> PositionBias:
    """The position model that ``--position-bias`` names: a label, a .json file or a model."""
    if isinstance(given, (PositionModel, ByContext)):
        return given
    if isinstance(given, os.PathLike):
        return load(given)
    if not isinstance(given, str):
        raise UsageError(f"{brief(given)} is not a position model.", todo='Write "log2", say.')
    is_path = given.lower().endswith(".json") or (os.sep in given and "(" not in given)
    return load(given) if is_path else position_model(given)
