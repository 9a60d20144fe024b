"""How each question of ``assess`` is answered: from a request to a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from counterrank.assess import accuracy as ac
from counterrank.assess import discriminative_power as dp
from counterrank.assess import metric_agreement as ma
from counterrank.assess import online as on
from counterrank.assess import robustness as rb
from counterrank.assess.checkpoint import Checkpoint, fingerprint
from counterrank.assess.inputs import judged_basis, read_values, value_basis
from counterrank.assess.online_recommendation import recommend_online
from counterrank.assess.past_log import read_past_log
from counterrank.assess.past_table import read_past_table
from counterrank.assess.request import OnlineRequest, ResamplingRequest, RobustnessRequest
from counterrank.assess.unit_values import Values, all_pairs, enough, enough_units
from counterrank.diagnostics.diagnostic import Diagnostic, worst
from counterrank.results.result import Result
from counterrank.results.rows import as_row


def assess_power(request: ResamplingRequest) -> Result:
    """How well each measure tells systems apart."""
    values, plan = read_values(request.values), request.plan
    power = dp.discriminative_power(
        values, plan, progress=request.values.progress, keep=_pieces("power", values, request)
    )
    rows = dp.power_rows(values, power, plan.level)
    diagnostics = [*_enough(values, rows), dp.normal_approximation(values, power)]
    verdict = worst(diagnostics)
    return Result(
        kind="assess power",
        estimates=[as_row(row, estimator="DP", verdict=verdict) for row in rows],
        comparisons=dp.pair_rows(values, power, level=plan.level, verdict=verdict),
        diagnostics=diagnostics,
        protocol=_protocol(request, power.protocol),
        inputs=values.inputs,
        tables={
            "recommendation": dp.recommend_by_power(rows, power, plan.level),
            "power": rows,
            "curves": dp.curves(values, power),
        },
        unit_frame=values.frame(),
    )


def assess_agreement(request: ResamplingRequest) -> Result:
    """Which measures put the systems in the same order."""
    plan = request.plan
    values, given = ma.agreement_values(request)
    orders = ma.compare_orders(
        values, plan, progress=request.values.progress, keep=_pieces("agreement", values, request)
    )
    rows = ma.agreement_rows(values, given, orders)
    diagnostics = _enough(values, rows)
    told = {"estimator": "inversion", "verdict": worst(diagnostics)}
    return Result(
        kind="assess agreement",
        estimates=[as_row(r, measure=f"{r.measure} / {r.other}", **told) for r in rows],
        comparisons=[],
        diagnostics=diagnostics,
        protocol=_protocol(request, {"mean": request.means, **ma.PROTOCOL, "draws": orders.draws}),
        inputs=values.inputs,
        tables={
            "recommendation": ma.recommend_by_agreement(rows, len(all_pairs(len(values.systems)))),
            "agreement": rows,
            "taus": [ma.Tau(r.measure, r.other, r.kendall) for r in orders.rows],
            "opposed": ma.opposed_systems(values, orders, rows),
        },
        unit_frame=values.frame(),
    )


def assess_robustness(request: RobustnessRequest) -> Result:
    """Which measure keeps the order of systems when judgments are missing."""
    basis = judged_basis(request) if request.values.judged else value_basis(request)
    labels, level = basis.labels, request.plan.level
    tracks = rb.reduce_judgments(basis.evidence, request, Checkpoint(request.resume, basis.key))
    diagnostics = [enough(len(basis.systems), "systems"), *basis.diagnostics]
    told = {"units": basis.unit_frame["unit"].n_unique(), "verdict": worst(diagnostics)}
    return Result(
        kind="assess robustness",
        estimates=list(rb.area_rows(tracks, labels, level, **told)),
        comparisons=[],
        diagnostics=diagnostics,
        protocol=basis.protocol | rb.protocol(basis.evidence.pool, request),
        inputs=basis.inputs,
        tables={
            "recommendation": rb.recommend_by_robustness(tracks, labels, level),
            "curves": list(rb.tau_rows(tracks, labels, level)),
            "values": list(rb.value_rows(tracks, labels, basis.systems, level)),
        },
        unit_frame=basis.unit_frame,
    )


def assess_online(request: OnlineRequest) -> Result:
    """How far offline figures foretell what experiments found."""
    level = request.plan.level
    read = read_past_log if request.logged else read_past_table
    cases, inputs, protocol = read(request)
    truth = on.choose_truth(request.truth, cases)
    cases = on.choose_sides(request.correlate, cases)
    every = [*cases, *on.pool_rewards(cases)]
    rows = [on.online_row(c, level, truth) for c in every]
    diagnostics = [enough(len({*cases[0].experiment}), "experiments")]
    told = {"estimator": "pearson", "verdict": worst(diagnostics)}
    tables = {"recommendation": recommend_online(every, rows, level, truth), "correlations": rows}
    tables |= {"systems": on.system_rows(cases, level), "cases": on.case_rows(cases)}
    return Result(
        kind="assess online",
        estimates=[as_row(r, reward=r.reward or None, units=r.cases, **told) for r in rows],
        comparisons=[],
        diagnostics=diagnostics,
        protocol=_online_protocol(request, truth, cases[0]) | protocol,
        inputs=inputs,
        tables=tables,
        unit_frame=on.offline_figures(cases),
    )


def assess_accuracy(table: object, level: float, columns: Mapping[str, str] | None) -> Result:
    """How close estimators come to a truth that is known."""
    read = ac.read_trials(table, columns)
    trials = ac.trials_of(read)
    rows = [ac.accuracy_row(t, level) for t in trials]
    diagnostics = [enough(rows[0].systems, "systems")]
    units = rows[0].repetitions if rows[0].repetitions > 1 else rows[0].systems
    told = {"measure": "relative RMSE", "verdict": worst(diagnostics), "level": level}
    others = ac.against_best(trials, rows, units=units, **told)
    return Result(
        kind="assess accuracy",
        estimates=[as_row(r, estimator=r.measure, units=units, **told) for r in rows],
        comparisons=others,
        diagnostics=diagnostics,
        protocol={
            "unit": "repetition" if rows[0].repetitions > 1 else "system",
            "error": "(estimate - truth) / truth",
            "test": "t, paired squared errors, against the lowest relative RMSE, not corrected",
            "level": level,
        },
        inputs=(read.input(),),
        tables={"recommendation": ac.recommend_by_accuracy(rows, others, level), "accuracy": rows},
        unit_frame=ac.relative_errors(read.frame),
    )


def _pieces(question: str, values: Values, request: ResamplingRequest) -> Checkpoint:
    """Results so far of this question about these values."""
    plan = request.plan
    key = fingerprint(
        question, values.units.to_list(), values.x, values.measures, plan.draws, plan.resamples,
        plan.seed,
    )  # fmt: skip
    return Checkpoint(request.resume, key)


def _enough(values: Values, rows: Sequence[Any]) -> list[Diagnostic]:
    """Whether there are units and systems enough to say anything."""
    return [enough_units(min(r.units for r in rows)), enough(len(values.systems), "systems")]


def _protocol(request: ResamplingRequest, own: dict[str, Any]) -> dict[str, Any]:
    """Who counts (a table of values does not say), a question's own choices, and resamples."""
    plan, values = request.plan, request.values
    who = {"unit": "user", "policies": asdict(values.policies) if values.judged else None}
    return {**who, **own, "resamples": plan.resamples, "level": plan.level, "seed": plan.seed}


def _online_protocol(request: OnlineRequest, truth: str, cases: on.Cases) -> dict[str, Any]:
    logged = request.logged
    tested = "days moved against each other" if cases.series else "Student, by experiment"
    return {
        "unit": "day" if cases.series else "experiment",
        "source": "log" if logged else "table",
        "rows": "values" if logged else request.kind,
        "baseline": request.day.control if logged else request.baseline,
        "truth": truth,
        "correlated": cases.correlated,
        "correlation": f"Pearson, two-sided test: {tested}; interval by Fisher's z",
        "test": "normal, two-sided; online effects of independent samples",
        "level": request.plan.level,
    }
