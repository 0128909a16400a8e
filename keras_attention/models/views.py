"""Views of a model: the same layers with another output or source."""

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_built
from keras_attention.models.base import BUILD
from keras_attention.models.base import AbstractModel
from keras_attention.outputs import ShortlistOutput


class AbstractView(AbstractModel):
    """Generates with the layers of another model, which may be built later.

    Args:
        model: An `AbstractModel`.
    """

    def __init__(self, model: AbstractModel):
        super().__init__(name=model.name, dtype=model.dtype_policy)
        self.model = model
        self.source_vocabulary_size = model.source_vocabulary_size
        self.target_vocabulary_size = model.target_vocabulary_size
        self.source_spec = model.source_spec
        self.source_ids = model.source_ids
        self.shortlist = model.shortlist
        self.built = True

    @property
    def uses_xla(self) -> bool:
        return self.model.uses_xla

    @property
    def pads_freely(self) -> bool:
        return self.model.pads_freely

    @property
    def version(self) -> int:
        return self.model.version

    def attend(self, source, target):
        return self.model.attend(source, target)


class WithOutput(AbstractView):
    """Generates like a `Seq2Seq`, with the scores of another output.

    Args:
        model: A `Seq2Seq`. It may be built later.
        output: A `ShortlistOutput`.
    """

    def __init__(self, model, output: ShortlistOutput):
        super().__init__(model)
        self.readout = output
        self.source_ids = output.source_ids
        self.shortlist = output.shortlist

    def begin(self, source, beams=1, search=None, prefix=None):
        check_built(self.model, "generate", BUILD)
        asked = source, beams, search, prefix
        return self.model.begin(*asked, output=self.readout)

    def next_word(self, tokens, states, prepared):
        return self.model.next_word(
            tokens, states, prepared, output=self.readout
        )

    def _limit(self, shortlist):
        return self.model.limited_to(shortlist)


class OwnSource(AbstractView):
    """Reads one of several sources, `source[..., number]` of `(B, Tv, M)`.

    Attention weights are returned only for the first source, because positions
    of other sources differ.

    Args:
        model: An `AbstractModel` that reads ids.
        number: Index of the source to read.
        count: Number of sources, `M`.

    Raises:
        ValueError: If the model reads features, has a shortlist, or copies
            tokens from a source other than the first.
    """

    def __init__(self, model: AbstractModel, number: int, count: int):
        super().__init__(model)
        self.number = number
        shape = None, None, count
        self.source_spec = keras.InputSpec(shape=shape, dtype="int32")
        reason = None
        if self.source_vocabulary_size is None:
            reason = "reads features"
        elif self.source_ids and number:
            reason = "copies tokens, which only the first model can do"
        elif self.shortlist is not None:
            reason = "has a shortlist, which depends on the ids of one source"
        if reason is not None:
            raise ValueError(
                "Several source tokenizers need models that read ids. "
                f"Received: models[{number}], {type(model).__name__} "
                f"`{model.name}`, which {reason}. Pass one tokenizer for all "
                "models, or change the order of models."
            )

    def call(self, inputs, training: bool | None = None):
        source, target = inputs
        return self.model((source[..., self.number], target), training=training)

    def log_probabilities(self, scores):
        return self.model.log_probabilities(scores)

    def begin(self, source, beams=1, search=None, prefix=None):
        check_built(self.model, "generate", BUILD)
        own = source[..., self.number]
        return self.model.begin(own, beams, search, prefix)

    def next_word(self, tokens, states, prepared):
        found = self.model.next_word(tokens, states, prepared)
        return (*found[:2], None) if self.number else found

    def attend(self, source, target):
        if self.number:
            return []
        return self.model.attend(
            ops.convert_to_tensor(source)[..., self.number], target
        )

    def _limit(self, shortlist):
        raise ValueError(
            "`shortlist` needs one source tokenizer, because it depends on "
            "source ids. Received: several source tokenizers. Pass one "
            "tokenizer, or omit `shortlist`."
        )
