"""One server for all tests that ask one."""

import shutil
from pathlib import Path

import pytest
from stand_in import stand_in

DATES = Path(__file__).parents[2] / "saved_models" / "dates" / "1"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The stand-in, with a folder in which version 7 alone is a model."""
    warm_up = pytest.importorskip("serve.warm_up")
    models = tmp_path_factory.mktemp("models")
    shutil.copytree(DATES, models / "dates" / "7")
    (models / "dates" / "3").mkdir()
    (models / "dates" / "being_written").mkdir()
    warm_up.main(models / "dates" / "7")
    with stand_in(models) as running:
        yield running
