"""What a model needs to generate while its source still comes in."""

from keras_attention.checks import check_built
from keras_attention.checks import check_integer
from keras_attention.models.stream import Stream
from keras_attention.models.stream import StreamProgram
from keras_attention.models.words import AbstractWordModel
from keras_attention.ops.programs import Programs
from keras_attention.ops.programs import Version
from keras_attention.ops.programs import uses_xla

BUILD = "Train it, load it, or `model.build(((None, None), (None, None)))`."


class AbstractStreamingModel(AbstractWordModel):
    """Begins streams, makes attention hard, and keeps compiled programs.

    Its subclass has an encoder, a bridge and a decoder, as `Seq2Seq` has.

    Args:
        **kwargs: As in `AbstractWordModel`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.programs = Programs()
        self._version = Version()
        self._hardened = 0  # how often `harden` has changed the model

    @property
    def version(self) -> int:
        """Number that is higher after what compiled programs have in them.

        That is after a layer got other variables, as by `enable_lora` and
        `quantize`, after `harden`, and after another compiler is selected.
        Values of weights are not in them.
        """
        facts = self._hardened, uses_xla(self)
        return self._version.number(self.variables, *facts)

    def stream(
        self,
        max_length: int = 100,
        batch_size: int = 1,
        start_id: int = 2,
        end_id: int = 3,
    ) -> Stream:
        """Begin to generate targets for sources that still come in.

        It needs an encoder that reads one way, `StateBridge("zeros")`, and
        attentions that are decided by what has come: `Monotonic("hard")`,
        `ChunkwiseAttention` on such a one, or `LocalMonotonic`. `harden`
        makes a trained `Monotonic` hard. Streams of a model share compiled
        programs; each belongs to one thread.

        Args:
            max_length: Longest text, in tokens, the end token included.
                Defaults to `100`.
            batch_size: Number of sources that are read together. Defaults to
                `1`.
            start_id: The token to begin with. Defaults to `2`.
            end_id: The token that ends a text. Defaults to `3`.

        Returns:
            A `Stream`. All words of its `push(chunk)` and `end()` are those
            of `generate(whole, GreedySearch(max_length))`.

        Raises:
            ValueError: If the model is not built, a number is not positive,
                or a part of the model needs the end of the source.
        """
        check_built(self, "stream", BUILD)
        check_integer("start_id", start_id, 0)
        check_integer("end_id", end_id, 0)
        program = self.programs.get(
            self.version,
            ("stream", start_id, end_id),
            lambda: StreamProgram(self, start_id, end_id),
        )
        return Stream(program, max_length, batch_size)

    def harden(self) -> list[str]:
        """Make trained monotonic attentions hard, for inference.

        `Monotonic` in the modes `"parallel"` and `"recursive"` becomes
        `"hard"`, in all attentions of the decoder; weights stay as they are.
        It then holds for calls, `generate`, `stream`, translators and exports,
        and for what is saved. Hard attention has no gradient, so train before.

        Returns:
            What was changed, in words; an empty list if nothing was.
        """
        changed = [
            f"{layer.name}: {change}"
            for layer in self.decoder.cell.attentions
            for change in layer.harden()
        ]
        if changed:
            self._hardened += 1
            self.train_function = None
            self.test_function = self.predict_function = None
        return changed
