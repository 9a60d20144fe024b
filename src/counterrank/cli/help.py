"""What the command line says of itself: a line for each option, and examples that run."""

from __future__ import annotations

TABLES, MEASURED, SURE = "tables", "what is measured", "how sure"
COUNTS, WHERE, OUTPUT = "who counts", "where it runs", "output"
WORLD, BREAKS = "the world", "assumptions to break, 0 to 1"
GROUPS = (TABLES, MEASURED, SURE, COUNTS, WORLD, BREAKS, WHERE, OUTPUT)
SHORT = {"measure": "-m", "estimator": "-e", "output": "-o"}

# What an option is, by its name; "verb.name" where a verb says more, or other, than the rest.
HELP: dict[str, tuple[str, str, str]] = {
    # name: (group, what stands for the value, what it is)
    "judgments": (TABLES, "JUDGMENTS", "user, item, rating: Parquet, CSV, TSV or qrels."),
    "log": (TABLES, "LOG", "session, item, rank and rewards."),
    "funnel": (TABLES, "FUNNEL", "user, item, click, conversion; shown, exposure, ctr, cvr if"
        " known. Or events: user, item, event, time."),
    "runs": (TABLES, "RUN", "path or name=path: user, item, rank or score."),
    "estimate.runs": (TABLES, "RUN", "path or name=path: session, item, rank or score."),
    "table": (
        TABLES, "TABLE", "Judgments (with RUN...), a table of per-unit values (unit, system,"
        " measure, value), or a folder that --out wrote.",
    ),
    "check.table": (TABLES, "TABLE", "Judgments, a log or a funnel, and runs, in any order."),
    "assess online.table": (
        TABLES, "TABLE", "experiment or day, system, measure, offline, online; or a log (with RUN"
        "...).",
    ),
    "assess online.runs": (TABLES, "RUN", "ARM=path: what an arm's ranker would have shown."),
    "assess accuracy.table": (
        TABLES, "TABLE", "system, estimator, estimate, truth; optionally low, high, repetition.",
    ),
    "columns": (TABLES, "ROLE=NAME,...", "Columns under other names: user=uid,item=sku."),
    "predictions": (TABLES, "PATH", "A table of user, item, ctr, cvr."),
    "user_features": (TABLES, "PATH", "For logistic: user, and columns of numbers or text."),
    "item_features": (TABLES, "PATH", "For logistic: item, and columns of numbers or text."),
    "logger": (TABLES, "NAME=PATH", "What each of several loggers would show."),
    "feedback": (TABLES, "PATH", "Where popularity is counted. [default: the judgments]"),
    "open_loop": (TABLES, "JUDGMENTS", "Judgments of items shown at random: the truth."),
    "open_run": (TABLES, "RUN", "Runs for the open loop, if not the same."),
    "measure": (MEASURED, "LABEL", "A measure, like nDCG@10; repeat for more."),
    "funnel.measure": (
        MEASURED, "LABEL", "sales, sales@10; or if clicked, what a rank is worth: DCG@10, Hits@10,"
        " P@10, RBP(p=0.8), RankSum, PublishedDCG@10, or a position model; repeat for more."
        " [default: sales, or DCG@10 if clicked]",
    ),
    "assess robustness.measure": (
        MEASURED, "LABEL", "A measure, like nDCG@10; repeat for more. [default: P, Recall, F1, AP,"
        " nDCG, RR, ERR, Bpref and InfAP at 100]",
    ),
    "reward": (
        MEASURED, "COLUMN", "What came back; repeat for more, the first decides. [default: all that"
        " are there of reward, click, like, conversion, dwell, revenue, in this order]",
    ),
    "exposure.reward": (
        MEASURED, "COLUMN", "What came back. [default: the first that is there of reward, click,"
        " like, conversion, dwell, revenue]",
    ),
    "funnel.reward": (MEASURED, "COLUMN", "What a click brought. [default: conversion]"),
    "position_bias": (
        MEASURED, "MODEL", "How likely a rank is seen: log2, power(eta=1), geometric(p=0.9),"
        " table(1,0.6,...), a JSON file; or learned here: views, depth, harvest, swap, em.",
    ),
    "estimator": (
        MEASURED, "LABEL", "OnPolicy, IPS, IPS(clip=200), SNIPS, DM, DR, ...; repeat for more.",
    ),
    "funnel.estimator": (
        MEASURED, "LABEL", "Naive, IPS, IPS(clip=200), SNIPS, DM, DR, SNDR; repeat for more.",
    ),
    "per": (MEASURED, "", "Reward per session, or per impression (a view)."),
    "context": (MEASURED, "COLUMN", "Columns the reward model may use; repeat for more."),
    "exposure.context": (MEASURED, "COLUMN", "Where an item keeps its relevance, like query."),
    "logged": (MEASURED, "", "How the logger's exposure is known."),
    "views": (MEASURED, "", "What is known of views; rows: only viewed rows were logged."),
    "scores": (MEASURED, "", "A run's scores order its items, or weigh a random draw."),
    "bounds": (SURE, "", "A second interval that allows for what the log cannot rule out."),
    "allow": (
        SURE, "NAME=SIZE", "How far trust, own_slopes, interaction, examination, carry_over, drift"
        " or confounding may be broken, where the log does not tell: trust=0.1; repeat.",
    ),
    "horizon": (
        SURE, "DAYS", "How far after the log a claim reaches. [default: a week, at most half the"
        " log]",
    ),
    "winsorise": (MEASURED, "SHARE", "Cut rewards to what this share of them do not exceed."),
    "sweep": (MEASURED, "", "clip: estimates over a range of clips, and a choice."),
    "ctr": (MEASURED, "MODEL", "column, or a model to be fitted: rates, factors, logistic."),
    "cvr": (MEASURED, "MODEL", "column, or a model to be fitted: rates, factors, logistic."),
    "exposure": (MEASURED, "MODEL", "How likely a pair was shown: column, or a model, like ctr."),
    "estimand": (
        MEASURED, "", "sales, or conversions if everything listed were clicked, which decide"
        " nothing. [default: sales where the tables allow it]",
    ),
    "funnel.views": (MEASURED, "", "latent: what was shown was seen as its rank tells."),
    "floor": (MEASURED, "", "Raise smaller exposure (if clicked: ctr) to this."),
    "strata.per": (MEASURED, "", "A user's value, or that per item the user judged."),
    "strata": (MEASURED, "N,...", "Number of strata, or several. [default: 4, of width 2]"),
    "cut": (
        MEASURED, "HOW", "quantile, width or items of the propensity, or a column of the"
        " judgments.",
    ),
    "propensity": (
        MEASURED, "WHAT", "popularity, frequency, published, a column of the judgments, or a table"
        " with item and propensity. [default: popularity]",
    ),
    "method": (MEASURED, "", "How exposure is learned."),
    "model": (MEASURED, "", "A table, or a family fitted to it."),
    "by": (MEASURED, "COLUMN", "One model per value of a column."),
    "ranks": (MEASURED, "", "Learn only the first ranks."),
    "length": (MEASURED, "", "Length of lists, for depth."),
    "swapped": (MEASURED, "COLUMN", "The rank that was swapped with rank 1, for swap."),
    "rel": (MEASURED, "", "Rating from which an item is relevant, for the default measures."),
    "mean": (MEASURED, "", "Mean of each measure."),
    "assess agreement.mean": (MEASURED, "", "both: geometric means too; given: only those asked."),
    "reduction": (MEASURED, "", "What goes missing; repeat for more. [default: all]"),
    "sizes": (MEASURED, "SHARE,...", "Shares left. [default: 1, 0.9 to 0.05 by 0.05, 0.01]"),
    "offline": (MEASURED, "COLUMN", "Columns of offline measures. [default: all left over]"),
    "kind": (MEASURED, "", "What rows of a table hold."),
    "control": (MEASURED, "ARM", "The arm whose log the others are estimated from."),
    "correlate": (MEASURED, "", "What correlates: effects (auto, where there are any) or values."),
    "truth": (MEASURED, "", "Effects that are real: online (called by the experiment) or all."),
    "name": (MEASURED, "NAME", "A measure or a label, like nDCG or AP(rel=4)@10."),
    "baseline": (SURE, "SYSTEM", "Compare every system with this one."),
    "estimate.baseline": (SURE, "SYSTEM", "Compare with this one; logged is the log's own."),
    "funnel.baseline": (SURE, "SYSTEM", "Compare every run with this one. [default: the first]"),
    "decide_by": (SURE, "NAME", "The measure or reward that decides. [default: the first]"),
    "min_lift": (SURE, "SHARE", "What it must reach, such as 1%, of the baseline."),
    "margin": (SURE, "SHARE", "What every other may lose at most."),
    "guard": (SURE, "NAME=SHARE", "The same of one of them, such as purchase=1%; repeat."),
    "gate.decide_by": (SURE, "NAME", "What decides. [default: as in the result]"),
    "gate.min_lift": (SURE, "SHARE", "What it must reach. [default: as in the result]"),
    "gate.margin": (SURE, "SHARE", "What guards may lose. [default: as in the result]"),
    "gate.estimator": (SURE, "LABEL", "By which estimator. [default: the result's]"),
    "gate.strict": (SURE, "", "Ask for the verdict pass: caution does not do."),
    "withstand": (SURE, "GAMMA", "Hidden odds factor that the claim must survive, such as 1.2."),
    "accept": (SURE, "ID", "A diagnostic that does not count for a time; repeat all three."),
    "until": (SURE, "DATE", "Through which day it is accepted, such as 2030-01-31."),
    "reason": (SURE, "TEXT", "Why it is accepted; shown in the summary."),
    "gate.baseline": (SURE, "SYSTEM", "The system to hold. [default: the result's]"),
    "level": (SURE, "", "Confidence of intervals."),
    "interval": (SURE, "", "Kind of interval."),
    "test": (SURE, "", "Test of a difference."),
    "correct": (SURE, "", "Correction for many comparisons."),
    "family": (SURE, "", "What a correction spans: all, or each measure by itself."),
    "draws": (SURE, "", "At least so many sign flips. [default: 2^14 to 2^17, by pairs]"),
    "resamples": (SURE, "", "Resamples of a bootstrap, by user."),
    "samples": (SURE, "", "Samples of each size, where chance decides."),
    "seed": (SURE, "", "Seed of everything random."),
    "missing": (COUNTS, "", "Judged users without a list."),
    "estimate.missing": (COUNTS, "", "Logged sessions without a list."),
    "funnel.missing": (COUNTS, "", "Users without a list."),
    "disjoint": (COUNTS, "", "Lists with nothing that was logged."),
    "no_relevant": (COUNTS, "", "Users with nothing to find."),
    "unjudged": (COUNTS, "", "Listed users without judgments."),
    "duplicates": (COUNTS, "", "An item twice in a list."),
    "ties": (COUNTS, "", "Order of equal scores."),
    "pairs": (COUNTS, "", "Pairs without a row: all (not clicked), rows (could not be)."),
    "users": (COUNTS, "", "Who counts: those of the table, or all with lists."),
    "system": (COUNTS, "SYSTEM", "Which candidate; repeat for more. [default: all]"),
    "engine": (WHERE, "", "Where it runs. [default: auto, Spark for lake addresses]"),
    "master": (WHERE, "URL", "Spark's: spark://host:7077, local[*], sc://host."),
    "memory": (WHERE, "SIZE", "Tables that need more, say 4GB, go by the disk."),
    "partitions": (WHERE, "", "Number of partitions. [default: by size]"),
    "inference": (WHERE, "", "Values per unit, or moments only. [default: units while they fit]"),
    "scratch": (WHERE, "DIR", "Where temporary files go. [default: TMPDIR]"),
    "threads": (WHERE, "", "Threads; 0: as many as cores. No number changes."),
    "resume": (WHERE, "DIR", "Keep results so far here, and go on from them. [default: in --out]"),
    "result": (TABLES, "RESULT", "A folder that --out wrote, or a JSON document."),
    "results": (TABLES, "RESULT", "Folders that --out wrote, or JSON documents."),
    "out": (OUTPUT, "DIR", "Write result.json, units.parquet, report.html."),
    "exposure.out": (OUTPUT, "FILE.json", "Save for --position-bias."),
    "simulate.out": (OUTPUT, "DIR", "Where the files go."),
    "demo.out": (OUTPUT, "DIR", "Where data, result and page go."),
    "reproduce.out": (OUTPUT, "DIR", "Where pages go. [default: reproduce-STUDY]"),
    "reproduce.data": (
        TABLES, "DIR", "The folder of data sets. [default: what COUNTERRANK_DATA names]",
    ),
    "study": (TABLES, "[STUDY]", "Which one; without it they are listed."),
    "quick": (OUTPUT, "", "A smaller form, to see that it works."),
    "picture": (
        OUTPUT, "FILE.svg", "Write a figure: the one the file is named after, like lifts.svg or"
        " weights.svg, or the first.",
    ),
    "by_unit": (OUTPUT, "PATH", "Write per-unit values, .parquet or .csv."),
    "format": (OUTPUT, "", "What is printed."),
    "config": (OUTPUT, "FILE.toml", "Options in a file, by their names; flags win."),
    "dry_run": (OUTPUT, "", "Say what was understood and what it will take; do nothing."),
    "data": (TABLES, "DIR", "The folder of the inputs."),
    "strict": (OUTPUT, "", "Exit code 3 if a diagnostic fails."),
    "quiet": (OUTPUT, "", "No progress bars."),
    "output": (OUTPUT, "PATH", "A page (.html), or the folder of a site."),
    "title": (OUTPUT, "TEXT", "What the page is called. [default: what it shows]"),
    "summary": (OUTPUT, "PATH", "Add the summary to this Markdown file."),
    "mlflow": (OUTPUT, "URI", "Log the result to this MLflow store."),
    "experiment": (OUTPUT, "NAME", "The MLflow experiment to log to."),
    "sessions": (WORLD, "", "How many sessions."),
    "world_seed": (WORLD, "", "Seed of the world; --seed is that of the sample."),
    "contexts": (WORLD, "", "Contexts."),
    "items": (WORLD, "", "Items."),
    "sets": (WORLD, "", "Candidate sets per context."),
    "candidates": (WORLD, "", "Items in a candidate set."),
    "slots": (WORLD, "", "Items shown."),
    "days": (WORLD, "", "Days."),
    "sessions_per_user": (WORLD, "", "Mean number of sessions of a user."),
    "traffic": (WORLD, "", "How much traffic changes by day, 0 to 1."),
    "drift": (WORLD, "", "How much quality changes by day, 0 to 1."),
    "ranker": (WORLD, "", "How production ranks."),
    "temperature": (WORLD, "", "Temperature of a plackett_luce production."),
    "simulate.logger": (WORLD, "RANKER=SHARE", "Who logs; repeat. [default: logged=1]"),
    "arm": (WORLD, "RANKER=SHARE", "An A/B arm, by share of users; repeat."),
    "examination": (
        WORLD, "LABEL", "A position model, cascade or dependent_clicks; several are dealt out to"
        " the contexts.",
    ),
    "user_spread": (WORLD, "", "How much users differ, 0 to 1."),
    "user_contexts": (WORLD, "", "Contexts of a user."),
    "length_spread": (WORLD, "", "How much longer a quarter of the contexts watches, 0 to 1."),
    "carry_over": (BREAKS, "", "Effect of the last list."),
    "cascading": (BREAKS, "", "Clicks end sessions."),
    "interaction": (BREAKS, "", "Effect of the item above."),
    "trust": (BREAKS, "", "Effect of the rank on clicks."),
    "missing_support": (BREAKS, "", "Items only targets show."),
    "simulate.views": (WORLD, "", "Views in the log."),
    "given": (WORLD, "", "Exposures given the candidates or the context."),
    "stochastic": (WORLD, "", "Runs of stochastic rankers."),
    "simulate.draws": (WORLD, "", "Lists per session if runs are draws."),
    "run": (WORLD, "RANKER", "Whose runs to write; repeat. [default: all]"),
}  # fmt: skip

EXAMPLES = {
    "evaluate": (
        "evaluate judgments.parquet new=new.parquet old.parquet --baseline old",
        "evaluate judgments.parquet new.parquet old.parquet -m nDCG@10 --format json",
    ),
    "estimate": (
        "estimate log.parquet new=shown.parquet --reward click --position-bias log2",
        "estimate log.parquet shown.parquet --reward click --position-bias pbm.json -e DR,SNIPS",
    ),
    "strata": (
        "strata judgments.parquet new.parquet old.parquet",
        "strata judgments.parquet new.parquet old.parquet --cut quantile --strata 3",
    ),
    "funnel": (
        "funnel funnel.parquet a.parquet b.parquet --ctr rates --cvr rates",
        "funnel funnel.parquet a.parquet -m CG@10 --ctr rates --cvr rates -e IPS,DR",
    ),
    "exposure": (
        "exposure log.parquet --reward click --out pbm.json",
        "exposure log.parquet --reward click --method views --model power",
    ),
    "check": ("check log.parquet shown.parquet", "check judgments.parquet new.parquet"),
    "assess power": (
        "assess power judgments.parquet new.parquet old.parquet",
        "assess power judgments.parquet new.parquet old.parquet -m nDCG@10 -m RR@10",
    ),
    "assess robustness": (
        "assess robustness judgments.parquet new.parquet old.parquet --samples 5",
        "assess robustness judgments.parquet new.parquet old.parquet --reduction items -m AP@10",
    ),
    "assess agreement": (
        "assess agreement judgments.parquet new.parquet old.parquet",
        "assess agreement judgments.parquet new.parquet old.parquet -m DCG@10 --mean given",
    ),
    "assess online": (
        "assess online past.csv --baseline old",
        "assess online past.csv --baseline old --format json",
    ),
    "assess accuracy": ("assess accuracy trials.csv", "assess accuracy trials.csv --level 0.9"),
    "report": ("report result", "report result -o page.html --title 'Which ranker?'"),
    "repeat": ("repeat result", "repeat result --data .."),
    "gate": ("gate result", "gate result --min-lift 0.01 --summary summary.md"),
    "measures": ("measures", "measures nDCG"),
    "simulate": ("simulate --out feed --sessions 500", "simulate --out feed --trust 0.4"),
    "demo": ("demo", "demo --out feed --sessions 5000"),
    "reproduce": ("reproduce", "reproduce primer --out primer"),
}
