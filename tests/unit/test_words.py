"""Several words in one, labels in any case: read alike by every verb, flag and file of options."""

from __future__ import annotations

import json

import pytest

import counterrank as cr
from counterrank.cli.command import convert, read_options
from counterrank.cli.commands import COMMANDS, run
from frozen import worlds

SEVERAL = [
    (command.name, a.name)
    for command in COMMANDS.values()
    for a in command.arguments.values()
    if a.several and not a.place and a.mark != "texts"
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    worlds.write(folder)
    return folder


@pytest.mark.parametrize(("verb", "name"), SEVERAL)
def test_several_in_one_word_are_several(verb, name, tmp_path):
    argument = COMMANDS[verb].arguments[name]
    number = argument.kind in (int, float)
    numbers = ["3", "5"] if argument.kind is int else ["0.5", "0.25"]
    apart = numbers if number else ["a", "b(x=1,y=c(d=2))@3", "e"]
    whole = convert(argument, apart)
    assert len(whole) == len(apart)
    for joined in (",".join(apart), ", ".join(apart), f",{','.join(apart)},"):
        assert convert(argument, [joined]) == whole
    if not number and COMMANDS[verb].output:
        file = tmp_path / "options.toml"
        file.write_text(f"{name} = {json.dumps(', '.join(apart))}")
        given = type("Given", (), {"config": str(file)})()
        assert read_options(COMMANDS[verb], given) == {name: whole}


def test_every_flag_of_labels_takes_several():
    assert {name for _, name in SEVERAL} >= {
        "measure", "estimator", "reward", "context", "system", "reduction", "sizes", "offline",
    }  # fmt: skip


CALLS = {  # the same call in other words
    "evaluate judgments.parquet good.parquet weak.parquet --draws 50": (
        "-m nDCG@5 -m AP(rel=2)@10", "-m ndcg@5,map(rel=2)@10",
    ),
    "estimate log.parquet new.parquet --position-bias log2": (
        "--reward click --reward dwell --context context --context user -e IPS(clip=200) -e DR",
        "--reward click,dwell --context context,user -e ips(clip=200.0),dr",
    ),
    "strata judgments.parquet good.parquet weak.parquet": ("-m P@5 -m RR", "-m precision@5,mrr"),
    "funnel funnel.parquet sale_a.parquet sale_b.parquet": (
        "-m DCG@5 -m log2@5 -e IPS -e DR", "-m dcg@5,LOG2@5 -e ips,dr",
    ),
    "exposure seen.parquet --method em": ("--context query --context device",
                                          "--context query,device"),
    "check log.parquet new.parquet": ("--reward click --reward dwell", "--reward click,dwell"),
    "assess power units.parquet --draws 50 --resamples 20": ("-m nDCG@10 -m AP", "-m ndcg@10,map"),
    "assess agreement units.parquet --draws 50 --resamples 20": ("-m AP -m RR", "-m ap,mrr"),
    "assess robustness units.parquet --samples 2 --sizes 1 --sizes 0.5": (
        "-m nDCG@10 -m RR", "-m NDCG@10,rr",
    ),
    "assess online past_wide.parquet --baseline old": (
        "--offline nDCG@10 --offline RR", "--offline nDCG@10,RR",
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_the_same_call_in_other_words(call, tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    told = []
    for words in CALLS[call]:
        assert run([*call.split(), *words.split(), "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        told.append([document["estimates"], document["comparisons"], document["tables"]])
    assert told[0] == told[1]


def test_the_gate_reads_labels_as_verbs_do(tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    judged = cr.evaluate(
        "judgments.parquet", ["good.parquet", "weak.parquet", "tied.parquet"], draws=50,
        baseline="weak", measure=["nDCG@10", "AP(rel=2)@10"],
    )  # fmt: skip
    judged.save("judged")
    for label in ("nDCG@10", "ndcg@10", "NDCG(gain=linear)@10", "map(rel=2.0)@10"):
        assert run(["gate", "judged", "--decide-by", label]) in (0, 3)
    shown = capsys.readouterr().out
    assert shown.count("nDCG@10 decides, against weak") == 3
    assert shown.count("AP\\(rel=2\\)@\u200b10 decides, against weak") == 1  # calls nobody
    assert run(["gate", "judged", "--system", "good,tied"]) in (0, 3)
    shown = capsys.readouterr().out
    assert ("| good |" in shown, "| tied |" in shown) == (True, True)
    logged = cr.estimate("log.parquet", ["new.parquet"], position_bias="log2", reward="click",
                         estimator=["IPS(clip=200)", "DR"])  # fmt: skip
    logged.save("logged")
    assert run(["gate", "logged", "-e", "ips(clip=200.0)", "--decide-by", "CLICK"]) in (0, 3)
    assert "click by IPS\\(clip=200\\) decides, against logged" in capsys.readouterr().out
