"""A result and its gate as a run of MLflow."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterrank.core.errors import UsageError

if TYPE_CHECKING:
    from counterrank.documents.gate import Gate

LONGEST = 250  # characters MLflow takes in a name
MOST = 500  # and in the value of a parameter


def log_to_mlflow(document: Mapping[str, Any], gate: Gate, uri: str, experiment: str) -> str:
    """Values, choices, the gate and the document itself as one MLflow run; says where it is."""
    if find_spec("mlflow") is None:
        raise UsageError("--mlflow needs MLflow.", todo="Install it: pip install mlflow.")
    if "://" not in uri and os.path.exists(uri) and not os.path.isdir(uri):
        raise UsageError(f'--mlflow "{uri}" is a file.', todo="Name a folder, or an address.")
    if "://" not in uri:  # a folder, which new versions open only to those who ask for it
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    from counterrank.documents.document import as_json

    try:
        mlflow.set_tracking_uri(uri if "://" in uri else Path(uri).absolute().as_uri())
        mlflow.set_experiment(experiment)
        with mlflow.start_run() as run:
            mlflow.log_metrics(_metrics(document))
            mlflow.log_params({k: str(v)[:MOST] for k, v in document["protocol"].items()})
            mlflow.set_tag("counterrank.gate", "open" if gate.passed else "closed")
            mlflow.log_text(as_json(document), "result.json")
            mlflow.log_text(gate.markdown(), "gate.md")
    except (mlflow.exceptions.MlflowException, OSError) as error:
        raise UsageError(
            "MLflow did not take the result.", found=f"It says: {str(error).strip()[:200]}"
        ) from error
    return f"Logged to MLflow: experiment {experiment}, run {run.info.run_id}."


def _metrics(document: Mapping[str, Any]) -> dict[str, float]:
    """Every estimate under a name that MLflow takes."""
    keys = ("system", "measure", "reward", "estimator", "segment")
    return {
        _name("/".join(str(row[k]) for k in keys if row[k] not in (None, "mean"))): float(
            row["value"]
        )
        for row in document.get("estimates", [])
        if row.get("value") is not None
    }


def _name(text: str) -> str:
    return re.sub(r"[^\w\-./ ]", "_", text)[:LONGEST]
