"""Shallow fusion: adds the scores of a language model to a model."""

import keras

from keras_attention.checks import check_number
from keras_attention.models.base import AbstractModel
from keras_attention.models.combination import AbstractCombination
from keras_attention.models.combination import members_config
from keras_attention.models.views import OwnSource
from keras_attention.steps.primitives import UNKNOWN


@keras.saving.register_keras_serializable(package="keras_attention")
class ShallowFusion(AbstractCombination):
    """Adds the log probabilities of a language model to those of a model.

    Formula:

        score(y) = log p(y | x) + weight log p_lm(y)

    The sum is computed for every next token. In this way, monolingual text of
    the target language can improve a translation model. The sum is not a
    probability distribution, and the score of a hypothesis adds up these sums.
    A weight from 0.1 to 0.5 is usual; choose it on validation data.

    You can generate, translate, save and export with it as with a `Seq2Seq`,
    but you cannot train it. Attention weights are those of `model`. The
    language model reads copied tokens as unknown tokens.

    Args:
        model: A trained model, such as a `Seq2Seq` or an `Ensemble`.
        language_model: A trained `LanguageModel` with the same target
            vocabulary as `model`; or any other model, which then reads the same
            source as `model`.
        weight: Weight of the language model, at least 0.
        **kwargs: Keras model arguments, such as `name`.

    Call arguments:
        inputs: Pair of source and target, as in `Seq2Seq`.
        training: Passed to the models.

    Returns:
        Scores `(B, T, V)`.

    Raises:
        ValueError: If an argument is not a model, if the target vocabularies of
            the two models differ, or if `weight` is negative.

    Example:

    >>> cell = AttentionDecoderCell(GRUCell(16), BahdanauAttention(16))
    >>> translation = Seq2Seq(
    ...     source_vocabulary_size=20,
    ...     target_vocabulary_size=30,
    ...     embedding_dim=4,
    ...     encoder=RecurrentEncoder(8, cell="gru"),
    ...     bridge=StateBridge(),
    ...     decoder=AttentionDecoder(cell),
    ... )
    >>> helper = LanguageModel(30, 4, GRUCell(8))
    >>> model = ShallowFusion(translation, helper, weight=0.2)
    >>> model.build(((None, None), (None, None)))
    >>> found = model.generate([[2, 7, 8, 3]], GreedySearch(max_length=5))
    >>> tuple(found.tokens.shape)
    (1, 1, 5)

    Reference:
        [Gulcehre et al., 2015](https://arxiv.org/abs/1503.03535), equation 6.
    """

    numbers = ("weight",)

    def __init__(
        self,
        model: AbstractModel,
        language_model: AbstractModel,
        weight: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.join([model, language_model], [1.0, 0.0])
        self.weight = check_number("weight", weight, least=0)

    def combine(self, log_probs: list):
        said, helped = log_probs
        # 0 times an infinity is no number.
        return said + self.weight * helped if self.weight else said

    def copied(self, log_probs):
        return log_probs[..., UNKNOWN : UNKNOWN + 1]

    def of(self, models):
        return ShallowFusion(*models, self.weight)

    def _read_apart(self):
        model, language_model = self.models
        model = model.reading_apart()
        count = model.source_spec.shape[2]
        return self.of([model, OwnSource(language_model, 0, count)])

    def get_config(self) -> dict:
        model, language_model = members_config(self.models)
        return {
            **super().get_config(),
            "model": model,
            "language_model": language_model,
            "weight": self.weight,
        }

    @classmethod
    def from_config(cls, config: dict) -> "ShallowFusion":
        restore = keras.saving.deserialize_keras_object
        parts = {x: restore(config[x]) for x in ("model", "language_model")}
        return cls(**{**config, **parts})
