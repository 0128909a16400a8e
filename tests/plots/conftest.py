"""What every test of pictures runs under: no screen, and no figure left."""

import pytest


@pytest.fixture(autouse=True)
def _headless():
    from matplotlib import pyplot

    before = pyplot.get_backend()
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)
