"""works.py and scaling.py: sizes and what they stand for."""

from draws import search_arrays
from scaling import multiplications
from works import END
from works import START
from works import DecoderWork
from works import SearchWork


def test_a_search_can_neither_end_nor_pad():
    arrays = search_arrays(SearchWork(2, 2, 3, 4, 5, 6, vocabulary=9))
    assert (arrays["output_bias"] < -1e8).nonzero()[0].tolist() == [
        0,
        START,
        END,
    ]


def test_work_grows_with_the_target_and_less_with_the_source():
    work = DecoderWork()
    once = multiplications(work._replace(words=0))
    assert multiplications(work._replace(words=0, steps=60)) == 2 * once
    more = multiplications(work._replace(words=60))
    assert multiplications(work) < more < 2 * multiplications(work)
