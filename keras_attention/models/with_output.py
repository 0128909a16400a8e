"""A model with another output: the same layers, other scores."""

from keras_attention.checks import check_built
from keras_attention.models.base import BUILD
from keras_attention.models.base import AbstractModel
from keras_attention.outputs import AbstractOutput


class WithOutput(AbstractModel):
    """Writes as a `Seq2Seq` does, by the scores of another output.

    Args:
        model: A `Seq2Seq`. It may be built later.
        output: An `AbstractOutput`.
    """

    def __init__(self, model, output: AbstractOutput):
        super().__init__(name=model.name, dtype=model.dtype_policy)
        self.model = model
        self.readout = output
        self.source_vocabulary_size = model.source_vocabulary_size
        self.target_vocabulary_size = model.target_vocabulary_size
        self.source_spec = model.source_spec
        self.source_ids = output.source_ids
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

    def begin(self, source, beams=1, search=None, prefix=None):
        check_built(self.model, "generate", BUILD)
        asked = source, beams, search, prefix
        return self.model.begin(*asked, output=self.readout)

    def next_word(self, tokens, states, prepared):
        return self.model.next_word(
            tokens, states, prepared, output=self.readout
        )

    def attend(self, source, target):
        return self.model.attend(source, target)

    def _limit(self, shortlist):
        return self.model.limited_to(shortlist)
