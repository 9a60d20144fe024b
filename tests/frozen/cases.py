"""What is frozen: calls of every verb, on every engine, with its main options.

Tables are named by the files that `worlds.write` leaves in the current folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

import counterrank as cr

ENGINES = {
    "memory": {},
    "parts": {"engine": cr.Local(partitions=3)},
    "moments": {"engine": cr.Local(partitions=3, inference="moments")},
}
ENDS = ("low", "high", "lift_low", "lift_high")


@dataclass(frozen=True)
class Case:
    """A verb, its tables and options. ``redrawn`` are the fields that come from resamples.

    ``skipped`` are parts of the document made of such fields; with ``units`` a summary of the
    values per unit is frozen too; with ``frames`` tables are given as frames, not as paths.
    """

    name: str
    verb: str
    tables: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    engine: str = "memory"
    redrawn: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    units: bool = False
    frames: bool = False

    @property
    def iterated(self) -> bool:
        """Whether numbers come from iterations, which another CPU ends on other last digits."""
        words = " ".join(map(str, self.options.values()))
        return self.verb == "exposure" or any(w in words for w in ("factors", "logistic"))

    def result(self, engine: dict[str, Any] | None = None, given: Any = None) -> Any:
        """The result of the call; ``given`` makes a table of a file's name."""
        given = given or (pl.read_parquet if self.frames else str)
        options = dict(self.options)
        for name in ("predictions", "user_features", "item_features", "open_loop", "feedback"):
            if name in options:
                options[name] = given(options[name])
        for name in ("logger", "open_run"):
            if name in options:
                options[name] = _made(options[name], given)
        if options.get("model") == "tree":
            from sklearn.tree import DecisionTreeRegressor

            options["model"] = DecisionTreeRegressor(max_depth=3, random_state=0)
        tables = [_made(table, given) for table in self.tables]
        chosen = ENGINES[self.engine] if engine is None else engine
        return getattr(cr, self.verb)(*tables, **options, **chosen)


def _made(table: Any, given: Any) -> Any:
    if isinstance(table, dict):
        return {name: given(file) for name, file in table.items()}
    return [given(file) for file in table] if isinstance(table, list) else given(table)


def case(name: str, verb: str, *tables: Any, **options: Any) -> Case:
    """A case in memory."""
    own = {key: options.pop(key, None) for key in ("redrawn", "skipped", "units", "frames")}
    return Case(name, verb, tables, options, **{k: v for k, v in own.items() if v is not None})


def everywhere(one: Case, *engines: str) -> list[Case]:
    """The case in memory, and on other engines."""
    others = engines or ("parts", "moments")
    return [one, *(replace(one, name=f"{one.name}, {e}", engine=e, units=False) for e in others)]


MEASURES = (
    "CG@5 DCG@5 DCG(gain=exp)@5 DCG(discount=power(eta=0.5)) DCG(discount=jarvelin)@10 nDCG@5"
    " nDCG(gain=exp) nDCG(gain=binary,rel=3)@10 nDCG(ideal=all)@5"
    " nDCG(discount=table(1,0.6,0.4))@5 nDCG(discount=beta_geometric)@5 pnDCG@5 AP@10"
    " AP(over=min)@5 AP(mean=geometric)@5 AP(rel=3,mean=geometric,floor=0.001) RR RR(rel=4)@3"
    " ERR@5 ERR(top=user)@3 Bpref InfAP InfAP(variant=trec)@4 P@5 P(rel=3,over=listed)@3"
    " Recall@5 F1@5 Rprec Success@1 RBP RBP(p=0.5)@5 ARP@10 Judged@5"
).split()
FEW = ["nDCG@5", "AP@10", "RR"]
J, R = "judgments.parquet", ["good.parquet", "tied.parquet", "weak.csv", "both.parquet"]
RP = [name.replace("csv", "parquet") for name in R]
LINEAR = ["DCG@5", "CG@5", "P@5", "RBP", "Recall@5"]

EVALUATE = [
    *everywhere(
        case("measures", "evaluate", J, R[:2], measure=MEASURES, baseline="good", test="t",
             units=True)
    ),
    *everywhere(case("defaults", "evaluate", J, R, draws=2000, units=True)),
    *everywhere(case("named runs", "evaluate", J, {"new": R[0], "old": R[2]}, measure=FEW,
                     baseline="old", draws=2000)),
    case("frames", "evaluate", J, {"new": RP[0], "old": RP[2]}, measure=FEW, draws=500,
         frames=True),
    case("one table of frames", "evaluate", J, "both.parquet", measure=FEW, draws=500,
         frames=True),
    *everywhere(case("integer ids", "evaluate", "judgments_int.parquet",
                     ["good_int.parquet", "weak_int.parquet"], measure=FEW, test="t")),
    case("csv", "evaluate", "judgments.csv", "weak.csv", measure=FEW, test="t"),
    *everywhere(case("trec", "evaluate", "judgments.qrels", "tied.run", measure=FEW), "parts"),
    case("columns", "evaluate", "named.parquet", "good_named.parquet", measure=FEW,
         columns={"user": "uid", "item": "sku", "rating": "stars", "rank": "place"}),
    *everywhere(case("missing skip", "evaluate", J, R, measure=FEW, missing="skip", test="t")),
    *everywhere(case("nothing to find skip", "evaluate", J, R, measure=FEW, no_relevant="skip",
                     test="t")),
    case("both skip", "evaluate", J, R, measure=[*FEW, "AP(rel=3)"], no_relevant="skip",
         missing="skip", draws=1000, units=True),
    *everywhere(case("duplicates first", "evaluate", J, ["twice.parquet", R[0]], measure=FEW,
                     duplicates="first", test="t")),
    *everywhere(case("ties expected", "evaluate", J, R[1:3], measure=LINEAR, ties="expected",
                     test="t")),
    *everywhere(case("ties file", "evaluate", J, R[1:3], measure=FEW, ties="file", test="t"),
                "parts"),
    *everywhere(case("t, bh", "evaluate", J, R, measure=FEW, test="t", correct="bh",
                     family="measure", level=0.9, interval="t")),
    *everywhere(case("wilcoxon", "evaluate", J, R, measure=FEW, test="wilcoxon"), "parts"),
    case("no test", "evaluate", J, R, measure=FEW, test="none", interval="bernstein"),
    *everywhere(case("bernstein", "evaluate", J, R, measure=FEW, interval="bernstein", draws=500)),
    *everywhere(case("permutation, holm", "evaluate", J, R, measure=FEW, correct="holm",
                     family="measure", draws=1000, seed=3)),
    case("permutation, uncorrected", "evaluate", J, R, measure=FEW, correct="none", draws=1000),
    case("one run", "evaluate", J, "good.parquet", measure=FEW),
]  # fmt: skip

LOG, LP = "log.parquet", {"new": "new.parquet", "old": "old.parquet"}
ESTIMATORS = (
    "OnPolicy IPS IPS(clip=3) SNIPS SNIPS(clip=3) DM DR DR(clip=3) SNDR DCG nDCG pnDCG"
).split()
SLATES = "IPS SNIPS DM DR IIPS SNIIPS SIPS SNSIPS RIPS SNRIPS PI CascadeDR".split()
CURVE = "table(1,0.7,0.5,0.4,0.3)"
PAID: dict[str, Any] = {"reward": ["click", "dwell"], "position_bias": CURVE}
CLICK: dict[str, Any] = {"reward": "click", "position_bias": CURVE}

ESTIMATE = [
    *everywhere(case("estimators", "estimate", LOG, LP, **PAID, estimator=ESTIMATORS,
                     context="context", units=True)),
    *everywhere(case("defaults", "estimate", LOG, LP, **CLICK)),
    case("frames", "estimate", LOG, LP, **CLICK, frames=True),
    case("csv", "estimate", "log.csv", "new.csv", **CLICK),
    *everywhere(case("integer ids", "estimate", "log_int.parquet", "new_int.parquet", **CLICK)),
    *everywhere(case("per impression", "estimate", LOG, LP, **PAID, per="impression")),
    *everywhere(case("baseline", "estimate", LOG, LP, **PAID, baseline="old", correct="bh")),
    *everywhere(case("t", "estimate", LOG, LP, **CLICK, interval="t", correct="none", level=0.8)),
    case("bernstein or none", "estimate", LOG, LP, **CLICK, test="none"),
    *everywhere(case("latent", "estimate", "latent.parquet", LP, **PAID)),
    *everywhere(case("rows", "estimate", "viewed_only.parquet", LP, **CLICK, views="rows",
                     disjoint="zero")),
    *everywhere(case("missing skip", "estimate", LOG, {**LP, "partial": "partial.parquet"},
                     **CLICK, missing="skip", baseline="new")),
    *everywhere(case("missing logged", "estimate", LOG, {**LP, "partial": "partial.parquet"},
                     **CLICK, missing="logged", estimator=["IPS", "SNIPS", "DR", "DCG"])),
    *everywhere(case("disjoint zero", "estimate", LOG, "away.parquet", **CLICK, disjoint="zero")),
    *everywhere(case("sampled", "estimate", LOG, "sampled.parquet", **PAID)),
    *everywhere(case("plackett luce", "estimate", LOG, "scored.parquet", **CLICK,
                     scores="plackett_luce", estimator=["IPS", "SNIPS", "DM", "DR"])),
    *everywhere(case("exposures", "estimate", "exposed_log.parquet",
                     {"new": "exposing.parquet", "other": "exposing.parquet"}, reward="click")),
    *everywhere(case("logged exposure", "estimate", "exposed_log.parquet",
                     {**LP, "sampled": "sampled.parquet"}, **PAID, logged="exposure")),
    *everywhere(case("loggers", "estimate", "served_log.parquet", LP, **CLICK,
                     logger={"a": "logger_a.parquet", "b": "logger_b.parquet"})),
    *everywhere(case("predicted", "estimate", LOG, "foretold.parquet", **CLICK,
                     estimator=["DM", "DR", "SNDR"])),
    *everywhere(case("tree", "estimate", LOG, LP, **CLICK, model="tree", context=["context"],
                     estimator=["DM", "DR"])),
    *everywhere(case("sweep", "estimate", LOG, LP, **PAID, sweep="clip")),
    *everywhere(case("by context", "estimate", LOG, LP, reward="click",
                     position_bias="by(context,log2,home=geometric(p=0.8),shop=power(eta=0.5))")),
    *(
        case(f"model {name}", "estimate", LOG, LP, reward="click", position_bias=label)
        for name, label in {
            "log2": "log2", "power": "power(eta=0.6)", "geometric": "geometric(p=0.7)",
            "beta": "beta_geometric(a=3,b=1)", "flat": "flat@5", "scaled": "log2(scale=0.9)",
        }.items()
    ),
    *everywhere(case("slates", "estimate", "slates.parquet", {"new": "slate_target.parquet"},
                     reward="click", estimator=SLATES, logged="propensity", units=True)),
    *everywhere(case("slates, one list", "estimate", "slates.parquet", "slate_list.parquet",
                     reward="click", estimator=SLATES)),
    *everywhere(case("slates, gaps", "estimate", "gappy.parquet", "slate_target.parquet",
                     reward="click", estimator=["IPS", "IIPS", "SNIIPS", "DR"], views="rows")),
]  # fmt: skip

SALES = "Naive IPS IPS(clip=5) SNIPS SNIPS(clip=5) DM DR DR(clip=5) SNDR".split()
F, S = "funnel.parquet", {"a": "sale_a.parquet", "b": "sale_b.parquet"}
FEATURES = {"user_features": "user_features.csv", "item_features": "item_features.parquet"}

FUNNEL = [
    *everywhere(case("estimators", "funnel", F, S, estimator=SALES, units=True,
                     measure=["DCG@5", "CG@5", "P@5", "RBP", "Hits@3", "power(eta=0.5)@6"])),
    *everywhere(case("defaults", "funnel", F, S)),
    case("csv", "funnel", "funnel.csv", "sale_a.parquet"),
    case("frames", "funnel", F, S, frames=True),
    *everywhere(case("whole rankings", "funnel", F,
                     {"a": "whole_a.parquet", "b": "whole_b.parquet"}, measure=["RankSum", "DCG"],
                     estimator=SALES)),
    *everywhere(case("published", "funnel", F,
                     {"a": "whole_a.parquet", "b": "whole_b.parquet"},
                     estimator=["Naive", "IPS", "IPS(clip=5)", "DM", "DR"],
                     measure=["PublishedDCG@5", "PublishedRecall@5"])),
    *everywhere(case("rewards", "funnel", F, S, reward=["conversion", "spend"], estimator=SALES,
                     measure="DCG@5")),
    *everywhere(case("predictions", "funnel", "bare_funnel.parquet", S,
                     predictions="predicted.parquet", measure="DCG@5", estimator=SALES)),
    *everywhere(case("own cvr", "funnel", F, {"own": "sale_own.parquet", **S},
                     measure="DCG@5", estimator=SALES, baseline="b", correct="bh")),
    *everywhere(case("floor", "funnel", F, S, floor=0.3, interval="t", level=0.9)),
    *everywhere(case("rows", "funnel", "some_rows.parquet", S, pairs="rows",
                     estimator=["Naive", "IPS", "SNIPS"])),
    *everywhere(case("clicks only", "funnel", "clicks.parquet", S, ctr="rates", cvr="rates")),
    case("users table", "funnel", "clicks.parquet", S, estimator=["Naive"], users="table"),
    *everywhere(case("duplicates", "funnel", F, ["sale_twice.parquet"], duplicates="first")),
    *everywhere(case("ties", "funnel", F, ["sale_tied.parquet"], ties="file"), "parts"),
    case("no test", "funnel", F, S, test="none"),
    *everywhere(case("rates", "funnel", "bare_funnel.parquet", S, ctr="rates", cvr="rates",
                     estimator=SALES, measure="DCG@5", units=True)),
    case("rates by item", "funnel", "some_rows.parquet", S, ctr="rates(by=item)",
         cvr="rates(by=user,weight=ctr)", pairs="rows", measure="DCG@5"),
    *everywhere(case("logistic", "funnel", "bare_funnel.parquet", S, ctr="logistic",
                     cvr="logistic(weight=ctr)", measure="DCG@5", **FEATURES), "parts"),
    case("factors", "funnel", "bare_funnel.parquet", S, ctr="factors(d=2)", cvr="rates",
         measure="DCG@5"),
]  # fmt: skip

STRATA = [
    *everywhere(case("defaults", "strata", J, R[:3], units=True)),
    *everywhere(case("quantile", "strata", J, R, measure=FEW[:2], cut="quantile", strata=3)),
    *everywhere(case("items", "strata", J, R[:3], measure=FEW[:2], cut="items", strata=4)),
    *everywhere(case("column", "strata", J, R[:3], measure=FEW, cut="country", correct="bh",
                     family="measure")),
    *everywhere(case("propensity column", "strata", J, R[:3], measure=FEW, propensity="propensity",
                     interval="t", baseline="good")),
    *everywhere(case("propensity table", "strata", J, R[:3], measure=FEW,
                     propensity="chances.parquet", level=0.9)),
    *everywhere(case("published", "strata", J, R[:3], measure=FEW, propensity="published")),
    *everywhere(case("feedback", "strata", J, R[:3], measure=FEW, feedback="feedback.parquet",
                     cut="quantile")),
    *everywhere(case("open loop", "strata", J, R, measure=FEW[:2], open_loop="open.parquet",
                     cut="quantile")),
    case("open runs", "strata", J, {"good": R[0], "weak": R[2]}, measure=["nDCG@5"],
         open_loop="open.parquet",
         open_run={"good": "open_good.parquet", "weak": "open_weak.parquet"}),
    *everywhere(case("skip", "strata", J, R[:3], measure=FEW, missing="skip", no_relevant="zero",
                     test="none")),
    *everywhere(case("ties and duplicates", "strata", J, ["twice.parquet", "tied.parquet"],
                     measure=LINEAR, ties="expected", duplicates="first"), "parts"),
    case("integer ids", "strata", "judgments_int.parquet",
         ["good_int.parquet", "weak_int.parquet"], measure=FEW),
]  # fmt: skip

SEEN = "seen.parquet"
EXPOSURE = [
    *everywhere(case("auto", "exposure", SEEN), "parts"),
    *everywhere(case("views, by", "exposure", SEEN, method="views", by="device"), "parts"),
    *everywhere(case("views, power", "exposure", SEEN, method="views", model="power",
                     ranks=4, level=0.9), "parts"),
    *everywhere(case("em", "exposure", SEEN, method="em", context=["query"]), "parts"),
    case("em, bare", "exposure", "shuffled.parquet", method="em", reward="click"),
    *everywhere(case("harvest", "exposure", SEEN, method="harvest", context=["query"]),
                "parts"),
    *everywhere(case("harvest, geometric, by", "exposure", SEEN, method="harvest",
                     context=["query"], model="geometric", by="device"), "parts"),
    *everywhere(case("swap", "exposure", "shuffled.parquet", method="swap"), "parts"),
    *everywhere(case("swap by coin", "exposure", "swapped.parquet", method="swap",
                     swapped="coin", model="log2"), "parts"),
    *everywhere(case("depth", "exposure", "scrolled.parquet", method="depth", length=12,
                     model="beta_geometric"), "parts"),
    case("depth of views", "exposure", SEEN, method="depth"),
    case("frames", "exposure", "scrolled.parquet", frames=True),
]  # fmt: skip

CHECK = [
    *everywhere(case("judgments and runs", "check", {"j": J, "good": R[0], "tied": R[1]}),
                "parts"),
    *everywhere(case("a log", "check", {"log": LOG}, position_bias="log2"), "parts"),
    *everywhere(case("a log and rankers", "check", {"log": LOG, **LP}, reward="click",
                     position_bias="log2", context="context"), "parts"),
    *everywhere(case("slates", "check", ["slates.parquet", "slate_target.parquet"]), "parts"),
    *everywhere(case("latent", "check", ["latent.parquet"]), "parts"),
    *everywhere(case("a funnel", "check", ["bare_funnel.parquet", "predicted.parquet",
                                           "sale_a.parquet"]), "parts"),
    *everywhere(case("faults", "check", [J, "again.parquet", "weak_int.parquet"]), "parts"),
    case("duplicates", "check", [J, "twice.parquet"], duplicates="first", measure=FEW),
    case("frames", "check", {"judgments": J, "good": R[0]}, frames=True),
]  # fmt: skip

RESAMPLED = {"redrawn": ("se", "low", "high"), "skipped": ("recommendation",)}
ASSESS = [
    *everywhere(case("robustness", "assess_robustness", J, R, measure=FEW, samples=5, units=True,
                     sizes=[1, 0.6, 0.2]), "parts"),
    case("robustness, nine", "assess_robustness", "unsure.parquet", R[:3], rel=2, samples=3,
         mean="arithmetic", reduction=["users", "popular_items"], sizes=[1, 0.3],
         no_relevant="skip"),
    case("robustness of values", "assess_robustness", "units.parquet", samples=5,
         sizes=[1, 0.5, 0.1]),
    case("online", "assess_online", "past.parquet", baseline="old", units=True),
    case("online, wide", "assess_online", "past_wide.parquet", baseline="old"),
    case("online, effects", "assess_online", "past.parquet", kind="effects", truth="all",
         level=0.9),
    *everywhere(case("online, log", "assess_online", "dated.parquet", LP, **PAID, units=True,
                     context="context"), "parts"),
    case("online, sweep", "assess_online", "dated.parquet", LP, **CLICK, sweep="clip",
         estimator=["IPS", "SNIPS"]),
    case("accuracy", "assess_accuracy", "trials.parquet", units=True),
    case("accuracy, frames", "assess_accuracy", "trials.parquet", level=0.8, frames=True),
]  # fmt: skip

CASES = [*EVALUATE, *ESTIMATE, *FUNNEL, *STRATA, *EXPOSURE, *CHECK, *ASSESS]

# Uncorrected: a correction multiplies the chance in a p-value. Resamples enough for the
# tolerances of compare.py, as other seeds show.
BOTH = {"redrawn": (*ENDS, "p", "p_corrected")}
BANDS = {"redrawn": ENDS}
REDRAWN = [
    *everywhere(case("bootstrap", "evaluate", J, R, measure=FEW, test="bootstrap",
                     interval="bootstrap", resamples=10000, correct="none", **BOTH)),
    *everywhere(case("bca", "evaluate", J, R, measure=[*FEW, "AP(mean=geometric)"], test="t",
                     interval="bca", resamples=10000, **BANDS), "parts"),
    *everywhere(case("bootstrap", "estimate", LOG, LP, **PAID, test="bootstrap",
                     interval="bootstrap", resamples=10000, correct="none", **BOTH)),
    *everywhere(case("bca", "estimate", LOG, LP, **CLICK, interval="bca", resamples=10000,
                     **BANDS), "parts"),
    *everywhere(case("bootstrap", "funnel", F, S, test="bootstrap", interval="bootstrap",
                     resamples=10000, correct="none", **BOTH)),
    *everywhere(case("bootstrap", "strata", J, R[:3], measure=FEW, interval="bootstrap",
                     propensity="propensity", resamples=10000, **BANDS)),
    *everywhere(case("power", "assess_power", J, R, measure=FEW, draws=2000, resamples=5000,
                     units=True, **RESAMPLED), "parts"),
    case("power of values", "assess_power", "units.parquet", draws=2000, resamples=5000,
         **RESAMPLED),
    *everywhere(case("agreement", "assess_agreement", J, R, measure=["nDCG@5", "RR"], draws=2000,
                     resamples=5000, units=True, **RESAMPLED), "parts"),
    case("agreement of values", "assess_agreement", "units.parquet", mean="given", draws=2000,
         resamples=5000, **RESAMPLED),
]  # fmt: skip

SPARK = [
    case("evaluate", "evaluate", J, {"good": RP[0], "weak": RP[2]}, measure=FEW, test="t"),
    case("estimate", "estimate", LOG, LP, **PAID, context="context"),
    case("funnel", "funnel", "bare_funnel.parquet", S, ctr="rates", cvr="rates"),
    case("strata", "strata", J, {"good": RP[0], "weak": RP[2]}, measure=FEW, cut="quantile"),
    case("exposure", "exposure", SEEN, method="harvest", context=["query"]),
]
