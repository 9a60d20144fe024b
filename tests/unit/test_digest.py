"""Checksums of files: as hashlib says, begun ahead or not, mapped or not."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from counterrank.core import provenance


@pytest.mark.parametrize("size", [0, 1, 4096, 100_000])
def test_as_hashlib_says(tmp_path, monkeypatch, size):
    file = tmp_path / "file"
    content = bytes(n * n % 251 for n in range(size))
    file.write_bytes(content)
    expected = hashlib.sha256(content).digest()
    assert provenance.sha256(file) == expected
    provenance.hash_ahead([str(file), str(tmp_path), str(tmp_path / "absent")])
    assert provenance.sha256(file) == expected
    monkeypatch.setattr(provenance, "WINDOW", 1 << 14)
    assert provenance.sha256(file) == expected


def test_a_file_that_cannot_be_mapped(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError

    file = tmp_path / "file"
    file.write_bytes(b"plain")
    monkeypatch.setattr(provenance, "_window", refuse)
    assert provenance.sha256(file) == hashlib.sha256(b"plain").digest()


def test_what_was_begun_ahead_is_of_no_other_file(tmp_path, monkeypatch):
    for name, content in (("one", b"first"), ("two", b"second")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log").write_bytes(content)
    monkeypatch.chdir(tmp_path / "one")
    provenance.hash_ahead(["log"])
    monkeypatch.chdir(tmp_path / "two")
    assert provenance.sha256(Path("log")) == hashlib.sha256(b"second").digest()
    provenance.hash_ahead(["log"])
    (tmp_path / "two" / "log").write_bytes(b"changed since")
    assert provenance.sha256(Path("log")) == hashlib.sha256(b"changed since").digest()
