"""works.py and scaling.py: sizes and what they stand for."""

import numpy as np
from draws import decoder_arrays
from draws import fit_weights
from draws import search_arrays
from scaling import multiplications
from scaling import tables
from works import END
from works import START
from works import DecoderWork
from works import FitWork
from works import SearchWork


def test_arrays_are_the_same_every_time():
    work = DecoderWork(2, 3, 4, 5, 6)
    first, second = decoder_arrays(work), decoder_arrays(work)
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])
        assert array.dtype == "float32"


def test_a_stacked_cell_reads_the_one_below():
    arrays = decoder_arrays(DecoderWork(2, 3, 4, 5, 6, depth=2))
    assert arrays["kernel_0"].shape == (6 + 5, 4 * 5)
    assert arrays["kernel_1"].shape == (5, 4 * 5)


def test_a_search_can_neither_end_nor_pad():
    arrays = search_arrays(SearchWork(2, 2, 3, 4, 5, 6, vocabulary=9))
    assert (arrays["output_bias"] < -1e8).nonzero()[0].tolist() == [
        0,
        START,
        END,
    ]


def test_a_model_reads_fed_vectors_of_its_attentional_layer():
    weights = fit_weights(FitWork(9, 6, 4))
    assert weights["kernel_0"].shape == (6 + 6, 4 * 8)
    assert weights["attention_kernel"].shape == (8 + 8, 6)


def test_work_grows_with_the_target_and_less_with_the_source():
    work = DecoderWork()
    once = multiplications(work._replace(words=0))
    assert multiplications(work._replace(words=0, steps=60)) == 2 * once
    more = multiplications(work._replace(words=60))
    assert multiplications(work) < more < 2 * multiplications(work)


def test_long_sequences_grow_one_side_at_a_time():
    targets, sources = tables(is_long=True)
    assert targets[-1] == sources[-1] == DecoderWork(1, 1000, 1000)
    assert {work.words for work in targets} == {1000}
    assert {work.steps for work in sources} == {1000}
