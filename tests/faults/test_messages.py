"""Messages that say what is the matter."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import counterrank as cr
from counterrank.core.input_files import files_of
from counterrank.data.sources.files import readable
from counterrank.engine.scratch import refuse_small, scratch
from faults.calls import call


def test_no_right_to_read_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match="Permission denied") as told, readable(tmp_path / "x"):
        raise PermissionError(13, "Permission denied")
    assert "damaged" not in str(told.value)


def test_a_folder_that_cannot_be_read_is_not_empty(tmp_path: Path, monkeypatch) -> None:
    def walk(folder, onerror, **options):
        onerror(PermissionError(13, "Permission denied", str(folder)))
        return []

    monkeypatch.setattr("counterrank.core.input_files.os.walk", walk)
    with pytest.raises(cr.InputError, match="Permission denied"):
        files_of(str(tmp_path))


def test_a_flipped_bit_of_parquet_is_not_about_text(tables: Path) -> None:
    pl.read_csv("old.csv").write_parquet("run.parquet")
    raw = bytearray((tables / "run.parquet").read_bytes())
    for place in range(4, len(raw) - 8, 7):
        flipped = bytearray(raw)
        flipped[place] ^= 0x80
        (tables / "run.parquet").write_bytes(flipped)
        code, _, err = call("evaluate", "judged.csv", "run.parquet", "--test", "none", "-m", "P@2")
        assert code in (0, 2)
        assert "Save it as UTF-8" not in err


def test_lines_that_end_in_a_carriage_return(tables: Path) -> None:
    text = (tables / "old.csv").read_text().replace("\n", "\r")
    (tables / "cr.csv").write_bytes(text.encode())
    code, _, err = call("evaluate", "judged.csv", "cr.csv")
    assert code == 2
    assert "carriage return" in err


def test_a_small_disk_is_told_in_units_that_show_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Disk", (), {"free": 4096})())
    with pytest.raises(cr.UsageError, match=r"4\.1 kB are free, about 1\.1 MB"):
        refuse_small(tmp_path, 1e6)


def test_a_missing_folder_for_temporary_files_is_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    with pytest.raises(cr.UsageError, match="TMPDIR"), scratch(None):
        pass


def test_users_with_one_score_for_all_have_no_scores(tables: Path) -> None:
    """192 of 301 users of an export had 0 everywhere: "ties" alone does not say it."""
    scores = pl.read_csv("old.csv").with_columns(
        score=pl.when(pl.col("user").is_in(["u1", "u2", "u3"])).then(0.0).otherwise(-pl.col("rank"))
    )
    scores.drop("rank").write_csv("scores.csv")
    for engine in ([], ["--partitions", 2]):
        _, out, _ = call("evaluate", "judged.csv", "scores.csv", "-m", "P@2", *engine)
        assert "3 of 12 users have no scores" in " ".join(out.split())


def test_a_renamed_column_is_not_missing(tables: Path) -> None:
    sold = pl.read_csv("funnel.csv").rename({"conversion": "bought"})
    sold.with_columns(revenue=pl.col("bought") * 9.5).write_csv("sold.csv")
    words = ["funnel", "sold.csv", "old.csv", "--columns", "conversion=bought"]
    code, _, err = call(*words, "--reward", "revenue")
    assert code == 0, err
