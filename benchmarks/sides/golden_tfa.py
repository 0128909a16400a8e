"""Programs of TensorFlow Addons: their weights, outputs and files."""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from sides.program_tfa import Program
from sides.program_tfa import make
from tfa_cases import BEAMS
from tfa_cases import CASES
from tfa_cases import FILES
from tfa_cases import SOURCE
from tfa_cases import STEPS
from tfa_cases import TARGET
from tfa_cases import Case

FENCE = re.compile(r"^```(py|python)\n(.*?)^```$", re.M | re.S)


def make_clear(case: Case, seed: int) -> tuple[Program, dict]:
    """Make programs until one has hypotheses that differ; some end early."""
    for attempt in range(40):
        program = make(case, seed + 100 * attempt)
        found = outputs(program)
        _, scores = program.beam(SOURCE, BEAMS + 3)  # no tie below the last
        clear = np.diff(np.sort(scores)).min() > 1e-3
        ended = found["greedy_lengths"].min() < STEPS or attempt > 7
        if clear and ended:
            return program, found
    raise RuntimeError(f"no clear hypotheses of {case}")


def outputs(program: Program) -> dict:
    """Compute everything that ours must compute as well."""
    logits, alignments = program((SOURCE, TARGET))
    words, lengths = program.greedy(SOURCE)
    beams, scores = program.beam(SOURCE)
    found = {
        "logits": logits,
        "greedy": words,
        "greedy_lengths": lengths,
        "beams": beams,
        "scores": scores,
    }
    for i, one in enumerate(alignments):
        found[f"alignments_{i}"] = one
    return {name: np.asarray(x) for name, x in found.items()}


def object_names(program: Program, folder: Path) -> list[str]:
    """Return the variables' names in a checkpoint, in their order."""
    path = tf.train.Checkpoint(program=program).save(folder / "names")
    shapes = tf.train.load_checkpoint(path)
    left = {x.ref(): i for i, x in enumerate(program.variables)}
    names = [""] * len(left)
    for name, shape in tf.train.list_variables(path):
        if name.startswith("program/"):
            value = shapes.get_tensor(name)
            for i, x in enumerate(program.variables):
                if list(x.shape) == shape and np.array_equal(x, value):
                    names[i] = name
    assert all(names), names
    return names


def write_files(program: Program, form: str, folder: Path):
    """Save a program as its users do."""
    if form == "checkpoint":
        optimizer = tf.keras.optimizers.Adam()
        optimizer.build(program.trainable_variables)
        tf.train.Checkpoint(model=program, optimizer=optimizer).save(
            folder / "checkpoint" / "ckpt"
        )
    elif form == "saved_model":
        # Keras cannot save a mechanism, so a module holds its variables.
        holder = tf.Module()
        holder.weights = program.variables
        tf.saved_model.save(holder, folder / form)
    else:
        program.save_weights(folder / f"program.{form}")


def program_of(page: Path) -> tuple[str, str]:
    """Return the cell before the program of TFA, its data, and the program."""
    blocks = FENCE.findall(page.read_text())
    first = [kind for kind, _ in blocks].index("py")
    program = [code for kind, code in blocks if kind == "py"]
    return blocks[first - 1][1], "\n".join(program)


def run_page(page: Path, folder: Path):
    """Run the program of TFA on a page, and keep what it finds and saves."""
    folder.mkdir()
    data, program = program_of(page)
    scope = {}
    os.chdir(folder)
    tf.keras.utils.set_random_seed(0)
    for code in (data, program):
        exec(compile(code, page, "exec"), scope)
    encode, decode = scope["encoder"], scope["decoder"]
    source, target = scope["source"], scope["target"]
    logits = decode(source, *encode(source), target[:, :-1])
    np.savez_compressed(
        folder / "found.npz",
        logits=logits[:8],
        greedy=scope["greedy"].sample_id,
        beams=scope["beams"].predicted_ids[:, :, 0],
    )


def main(folder: Path, scratch: Path, page: Path):
    """Write all golden files."""
    arrays, names = {}, {}
    for seed, (name, case) in enumerate(CASES.items()):
        program, found = make_clear(case, seed)
        values = [x.numpy() for x in program.variables]
        arrays[f"{name}/weights"] = np.concatenate([x.ravel() for x in values])
        arrays |= {f"{name}/{k}": x for k, x in found.items()}
        names[name] = {
            "names": [x.name for x in program.variables],
            "objects": object_names(program, scratch),
            "shapes": [list(x.shape) for x in values],
        }
        for form, chosen in FILES.items():
            if chosen == name:
                write_files(program, form, folder)
        print(name, found["greedy_lengths"], flush=True)
    np.savez_compressed(folder / "programs.npz", **arrays)
    text = json.dumps(names, indent=1)
    (folder / "programs.json").write_text(text + "\n")
    run_page(page, folder / "page")


if __name__ == "__main__":
    main(*(Path(x).resolve() for x in sys.argv[1:]))
