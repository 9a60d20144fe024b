"""Checksums of files: as hashlib says, begun ahead or not, mapped or not."""

from __future__ import annotations

import hashlib

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
