"""Time and memory of additive attention over whole sequences.

`BahdanauAttention` on 16 x 200 x 200 x 256, forward and gradient, against
`keras.layers.AdditiveAttention`, which has no projections. Ours is measured
with both of its projections (`sides/attention_layer.py`).

    python benchmarks/additive_attention.py [--mode xla]

Time is compared with the faster of Keras' two modes, and memory with the one
that needs less: the peak of one step minus the memory in use before it. Both
sides must first give the same outputs and gradients.
"""

import argparse

from decoder_step import MODES
from draws import attention_arrays
from interleave import ratio
from process import RETURN_MEMORY
from process import Process
from process import compare
from process import stored
from works import AttentionWork

# Gradients are sums of thousands of float32 products.
TOLERANCE = 1e-4


def main(mode: str):
    """Print a line for time and a line for memory of each mode."""
    work = AttentionWork()
    with stored(attention_arrays(work)) as arrays:

        def side(layer, mode, **environment):
            name = f"{layer}, {mode}"
            own = work._replace(layer=layer)
            return Process(
                name, "attention_layer", own, arrays, mode, **environment
            )

        def memory(layer, mode):
            with side(layer, mode, **RETURN_MEMORY) as process:
                return process.memory() / 1e6

        with side("keras", "xla") as fused, side("keras", "default") as plain:
            faster = plain if ratio(fused, plain, 5).quartiles[1] > 1 else fused
            for each in MODES[mode]:
                with side("ours", each) as ours:
                    compare(ours, plain, TOLERANCE)
                    found = ratio(ours, faster)
                row = f"additive attention | AdditiveAttention | {each}"
                print(f"{row} | {found}", flush=True)
        lean = min(memory("keras", each) for each in MODES["both"])
        for each in MODES[mode]:
            own = memory("ours", each)
            print(
                f"its extra memory | AdditiveAttention | {each} | "
                f"{own / lean:.3f} (1/{lean / own:.0f}), "
                f"{own:.0f} MB against {lean:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, default="both")
    main(**vars(parser.parse_args()))
