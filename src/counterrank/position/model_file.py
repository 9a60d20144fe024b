"""Position models in JSON: ``counterrank exposure --out`` writes, ``--position-bias`` reads them.

A model is its name and options, exact to the last bit; a document has it under the key ``model``,
and how sure it is under ``covariance``, which files of earlier versions do not have.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from counterrank.core.errors import CounterrankError, InputError, UsageError, brief, first_line
from counterrank.core.input_files import read_document
from counterrank.position.models import (
    ByContext,
    CurveError,
    PositionBias,
    PositionModel,
    WeightTable,
    exposure,
    position_model,
)

KIND = "exposure"
VERSION = 1  # of the covariance
METHODS = ("views", "depth", "harvest", "swap", "em")  # by which a model can be learned


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


def error_to_json(model: PositionBias) -> dict[str, Any]:
    """How sure a learned model is, as JSON values: a covariance for each of its curves."""
    about, curves = model.error, []
    for context, one in _curves(model).items():
        if one.error is not None and one.error.covariance is not None:
            own = {"parameters": list(one.error.parameters), "clusters": one.error.clusters}
            curves.append({"context": context, **own, "matrix": one.error.covariance.tolist()})
    log, learned = ({}, {}) if about is None else (dict(about.log), dict(about.learned))
    return {"version": VERSION, "log": log, "learned": learned, "curves": curves}


def with_error(model: PositionBias, entry: object) -> PositionBias:
    """The model with the error that JSON values stand for; unknown where a file has none."""
    if entry is None:
        return _attach(model, {}, CurveError())
    if not isinstance(entry, Mapping) or entry.get("version") != VERSION:
        version = entry.get("version") if isinstance(entry, Mapping) else entry
        raise UsageError(
            f"The covariance must be of version {VERSION}.", found=f"Got {brief(version)}."
        )
    log, learned = entry.get("log") or {}, dict(entry.get("learned") or {})
    if not isinstance(log, Mapping):
        raise UsageError('"log" of the covariance must be an object.', found=f"Got {brief(log)}.")
    learned["context"] = tuple(learned.get("context") or ())
    about, errors = CurveError(log=log, learned=learned), {}
    for curve in entry.get("curves") or []:
        one, names = _curves(model).get(curve["context"]), tuple(curve["parameters"])
        matrix = np.array(curve["matrix"], float)
        size = len(one.weights) if isinstance(one, WeightTable) else len(names)
        if one is None or matrix.shape != (size, size) or not np.isfinite(matrix).all():
            raise UsageError(
                f'The covariance of "{curve["context"]}" is not that of its parameters.',
                found=f"Its shape is {matrix.shape}, for {size} parameters.",
            )
        errors[curve["context"]] = replace(
            about, parameters=names, covariance=matrix, clusters=int(curve["clusters"])
        )
    return _attach(model, errors, about)


def _curves(model: PositionBias) -> dict[str, PositionModel]:
    """The models by context; that of all others, or of all, has none."""
    if isinstance(model, PositionModel):
        return {"": model}
    return ({} if model.default is None else {"": model.default}) | dict(model.models)


def _attach(
    model: PositionBias, errors: Mapping[str, CurveError], other: CurveError
) -> PositionBias:
    own = {key: one.with_error(errors.get(key, other)) for key, one in _curves(model).items()}
    if isinstance(model, PositionModel):
        return own[""]
    return ByContext(model.column, {v: own[v] for v in model.models}, own.get(""))


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def load(path: str | os.PathLike[str]) -> PositionBias:
    """The model in a file that ``counterrank exposure`` wrote."""
    todo = "Write one with: counterrank exposure LOG --out FILE.json"
    name = os.fspath(path)
    try:
        document = json.loads(read_document(path))
    except OSError as error:
        found = f"The system says: {error.strerror or error}."
        raise InputError(f'"{name}" cannot be read.', found=found, todo=todo) from error
    except (ValueError, RecursionError) as error:
        found = f"The parser says: {first_line(error)}."
        raise InputError(f'"{name}" is not a JSON document.', found=found, todo=todo) from error
    tables = document.get("tables") if isinstance(document, dict) else None
    if not isinstance(tables, dict) or document.get("kind") != KIND or "model" not in tables:
        kind = document.get("kind") if isinstance(document, dict) else None
        raise InputError(
            f'"{name}" holds no position model.',
            found=f"Its kind is {brief(kind)}." if kind else 'It has no "kind" and "model".',
            todo=todo,
        )
    try:
        return with_error(from_json(tables["model"]), tables.get("covariance"))
    except CounterrankError as error:
        raise InputError(
            f'The position model in "{name}" cannot be used.',
            found=" ".join(part for part in (error.wrong, error.found) if part),
            todo=error.todo or todo,
        ) from error
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as e:
        raise InputError(
            f'The position model in "{name}" cannot be used.',
            found=f"Something in it is not as exposure writes it: {first_line(e)}.",
            todo=todo,
        ) from e


def position_bias(given: PositionBias | str | os.PathLike[str]) -> PositionBias:
    """The position model that ``--position-bias`` names: a label, a .json file or a model."""
    if isinstance(given, (PositionModel, ByContext)):
        return given
    if isinstance(given, os.PathLike):
        return load(given)
    if not isinstance(given, str):
        raise UsageError(f"{brief(given)} is not a position model.", todo='Write "log2", say.')
    is_path = given.lower().endswith(".json") or ("(" not in given and {os.sep, "."} & set(given))
    return load(given) if is_path else position_model(given)
