"""What every test of pictures runs under: no screen, and no figure left."""

import pytest

from keras_attention.plots import fonts


@pytest.fixture(autouse=True)
def _headless():
    from matplotlib import pyplot

    before = pyplot.get_backend()
    pyplot.switch_backend("agg")
    fonts._warn_of.cache_clear()
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)
