"""Programs that are kept, and the number by which they are dropped."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import keras

from keras_attention.models.generation import SIZES
from keras_attention.models.generation import Programs
from keras_attention.models.generation import Version
from keras_attention.models.generation import fitting_size


def test_the_program_that_was_not_used_for_longest_is_dropped():
    programs, made = Programs(kept=2), []
    for key in "abacab":
        made.append(programs.get(0, key, object))
    a, b, again, _, still, new = made
    assert a is again is still
    assert b is not new


def test_those_of_another_version_are_dropped():
    programs = Programs()
    first = programs.get(1, "a", object)
    assert programs.get(1, "a", object) is first
    assert programs.get(2, "a", object) is not first
    assert programs.get(1, "a", object) is not first


def test_threads_make_a_program_once():
    def make():
        made.append(time.sleep(0.02))
        return len(made)

    def work(key):
        together.wait()
        return programs.get(0, key % 2, make)

    programs, made, together = Programs(), [], threading.Barrier(6)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, range(6)))
    assert sorted(found) == [1, 1, 1, 2, 2, 2]


def test_a_version_is_that_of_variables_and_facts():
    version, (x, y) = Version(), (keras.Variable(0.0), keras.Variable(0.0))
    numbers = [
        version.number(*arguments)
        for arguments in (
            ([x], True),
            ([x], True),
            ([x], False),
            ([y], False),  # of the same value
            ([y, x], False),
            ([x, y], False),
            ([], False),
        )
    ]
    assert numbers == [1, 1, 2, 3, 4, 5, 6]
    x.assign(1.0)
    assert version.number([], False) == 6


def test_few_sizes_are_few():
    assert [n for n in SIZES if n < 100] == [
        *(2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
    ]
    assert max(SIZES) > 10**6
    assert [*map(fitting_size, (0, 1, 2, 9, 12))] == [0, 1, 2, 12, 12]
