"""resumable_fit on two devices of one process: the same run as well."""

import keras
import numpy as np
import pytest
from interrupted import Interrupt
from interrupted import Interruption
from interrupted import differences
from interrupted import make_compiled
from interrupted import train
from interrupted import write_text
from replicas import data_parallel
from replicas import model_parallel
from replicas import two_replicas
from tiers import some

BACKEND = keras.backend.backend()


def mirrored():
    return two_replicas().scope()


def split_rows():
    return data_parallel().scope()


def split_weights():
    return model_parallel({".*embedding.*": (None, "model")}).scope()


WAYS = {
    "tensorflow": [mirrored],
    "jax": some([split_weights, split_rows], 1),
    "torch": [],
}


@pytest.mark.slow
@pytest.mark.parametrize("scope", WAYS[BACKEND])
def test_goes_on_as_if_nothing_had_been(tmp_path, scope):
    folders = [tmp_path / name for name in ("whole", "stopped")]
    for folder in folders:
        folder.mkdir()
        write_text(folder)
    with scope():
        whole = train(folders[0], make=make_compiled)
    interrupt = Interrupt("on_train_batch_end", 1, 3)
    with scope(), pytest.raises(Interruption):
        train(folders[1], interrupt, save_freq=3, make=make_compiled)
    with scope():
        again = train(folders[1], save_freq=3, make=make_compiled)
    assert not differences(again, whole)
    assert np.isfinite(whole["history loss"]).all()
