"""mutants: changes that can be drawn again, each of which is Python."""

import ast

import mutants


def test_a_seed_draws_the_same_mutants_of_40_files():
    drawn = mutants.draw(100, 0)
    assert drawn == mutants.draw(100, 0)
    assert drawn != mutants.draw(100, 1)
    assert len({*drawn}) == 100
    assert len({x.path for x in drawn}) == 40
    assert len({x.kind for x in drawn}) > 3


def test_each_changes_the_program():
    for mutant in mutants.draw(100, 0):
        before = mutant.path.read_bytes()
        after = mutant.after.encode()
        after = before[: mutant.begin] + after + before[mutant.end :]
        trees = [ast.dump(ast.parse(x)) for x in (before, after)]
        assert trees[0] != trees[1], mutant


def test_the_mirror_test_is_asked_first():
    path = mutants.PACKAGE / "search" / "beam.py"
    first, *others = mutants.tests_for(path)
    assert first == mutants.ROOT / "tests" / "search" / "test_beam.py"
    assert mutants.ROOT / "tests" / "models" / "test_smoke.py" in others
    path = mutants.PACKAGE / "export" / "tensor_tokenizer.py"
    known = mutants.ROOT / "tests" / "text" / "test_forms.py"
    assert known in mutants.tests_for(path)
