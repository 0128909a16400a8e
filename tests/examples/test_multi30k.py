"""helpers/multi30k.py: the download."""

import hashlib

import pytest
from helpers import multi30k


def test_download_checks_what_it_fetched(tmp_path, monkeypatch):
    folder = multi30k.made_up_corpus("de", "en")
    names = [
        f"{part}.{side}.gz" for part in multi30k.PARTS for side in ("de", "en")
    ]
    sums = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in names
    }
    monkeypatch.setattr(multi30k, "ORIGIN", folder.as_uri())
    monkeypatch.setattr(multi30k, "SHA256", sums)
    multi30k.download(tmp_path, ["de", "en"])
    for name in names:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    (tmp_path / names[0]).unlink()
    monkeypatch.setitem(sums, names[0], "0" * 64)
    with pytest.raises(Exception, match=r"(?i)hash"):
        multi30k.download(tmp_path, ["de", "en"])
