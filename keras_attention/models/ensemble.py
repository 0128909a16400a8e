"""Combines several models by averaging their output probabilities."""

from collections.abc import Sequence

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_list
from keras_attention.checks import check_number
from keras_attention.models.base import AbstractModel
from keras_attention.models.combination import AbstractCombination
from keras_attention.models.combination import members_config
from keras_attention.models.views import OwnSource
from keras_attention.ops import log_normalize
from keras_attention.ops import log_of_mean
from keras_attention.ops import wide_dtype

MEANS = ("probabilities", "log_probabilities")
# What the configs of models that are alike need not share.
OWN = {"name", "seed", "build_config", "shared_object_id"}


@keras.saving.register_keras_serializable(package="keras_attention")
class Ensemble(AbstractCombination):
    """Averages the predictions of several models.

    Formula:

        p(y) = sum_i w_i p_i(y)                           "probabilities"
        p(y) = softmax of sum_i w_i log p_i(y)            "log_probabilities"

    The weights `w_i` are scaled to sum to 1. Models that are trained with
    different random seeds make different errors, so that an ensemble of equally
    good models is usually better than each of its members. An ensemble takes as
    long as all of its members together. With `"probabilities"`, a token needs a
    high probability from at least one model; with `"log_probabilities"`, it
    must not have a low probability in any model. If a model gives probability
    0, as with entmax, `"log_probabilities"` makes the token impossible; a
    hypothesis without a possible next token is dropped.

    You can generate, translate, save and export with an ensemble as with a
    `Seq2Seq`, but you cannot train it. All members read the same source and
    have the same target vocabulary. They may differ in everything else, such as
    sizes, attention layers, Bahdanau's or Luong's order, and output layers. If
    the attention weights of all members have the same size, the ensemble
    returns their weighted mean. Otherwise, it returns the attention weights of
    the first member that has attention. A `Translator` may have a source
    tokenizer for each member.

    Args:
        models: Trained models, such as `Seq2Seq`. They are not copied.
        weights: A positive number for each model, proportional to `w_i`.
            Defaults to `None`, equal weights.
        mean: `"probabilities"` or `"log_probabilities"`. Defaults to
            `"probabilities"`.
        **kwargs: Keras model arguments, such as `name`.

    Call arguments:
        inputs: Pair of source and target, as in `Seq2Seq`.
        training: Passed to the members.

    Returns:
        Log probabilities `(B, T, V)`.

    Raises:
        ValueError: If there is no model, if models are incompatible, if
            `weights` does not have one positive number for each model, or if
            `mean` is unknown.

    Example:

    >>> def make():
    ...     cell = AttentionDecoderCell(GRUCell(16), BahdanauAttention(16))
    ...     return Seq2Seq(
    ...         source_vocabulary_size=20,
    ...         target_vocabulary_size=30,
    ...         embedding_dim=4,
    ...         encoder=RecurrentEncoder(8, cell="gru"),
    ...         bridge=StateBridge(),
    ...         decoder=AttentionDecoder(cell),
    ...     )
    >>> model = Ensemble([make(), make()], weights=[2, 1])
    >>> model.build(((None, None), (None, None)))
    >>> found = model.generate([[2, 7, 8, 3]], GreedySearch(max_length=5))
    >>> tuple(found.tokens.shape)
    (1, 1, 5)
    """

    numbers = ("mean",)

    def __init__(
        self,
        models: Sequence[AbstractModel],
        weights: Sequence[float] | None = None,
        mean: str = "probabilities",
        **kwargs,
    ):
        models = check_list("models", models, "models")
        given = [1.0] * len(models) if weights is None else weights
        given = check_list("weights", given, "numbers")
        if not models or len(given) != len(models):
            raise ValueError(
                "Ensemble needs models, and one entry of `weights` for each "
                f"model. Received: {len(models)} models, weights={weights}. "
                "Omit `weights` to average models equally."
            )
        check_choice("mean", mean, MEANS)
        given = [check_number("weights", x, above=0) for x in given]
        total = check_number("sum(weights)", sum(given))
        shares = [x / total for x in given]
        super().__init__(**kwargs)
        self.join(models, shares)
        self.member_weights = None if weights is None else given
        self.mean = mean

    def combine(self, log_probs: list):
        if self.mean == "probabilities":
            return log_of_mean(log_probs, self.shares)
        pairs = zip(log_probs, self.shares, strict=True)
        return log_normalize(sum(share * x for x, share in pairs))

    def of(self, models):
        return Ensemble(models, self.member_weights, self.mean)

    def _read_apart(self):
        count = len(self.models)
        pairs = enumerate(self.models)
        apart = self.of([OwnSource(x, i, count) for i, x in pairs])
        sizes = [x.source_vocabulary_size for x in self.models]
        apart.source_vocabulary_size = tuple(sizes)
        return apart

    def average(self) -> AbstractModel:
        """Return one model whose weights are the mean of all members' weights.

        The mean is weighted by `w_i`. The model is as fast as one member. Use
        this method for checkpoints of a single training, because their weights
        are close to each other.

        Returns:
            A new model like the first member.

        Raises:
            ValueError: If members differ in class or options, or have weights
                that are not floating-point numbers.
        """
        check_built(self, "average", "Build its members first.")
        check_alike(self.models)
        weights = [model.weights for model in self.models]
        configs = members_config(self.models[:1])
        model = keras.saving.deserialize_keras_object(configs[0])
        for mean, *values in zip(model.weights, *weights, strict=True):
            wide = [ops.cast(x, wide_dtype(x.dtype)) for x in values]
            pairs = zip(wide, self.shares, strict=True)
            mean.assign(ops.cast(sum(w * x for x, w in pairs), mean.dtype))
        return model

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "models": members_config(self.models),
            "weights": self.member_weights,
            "mean": self.mean,
        }

    @classmethod
    def from_config(cls, config: dict) -> "Ensemble":
        restore = keras.saving.deserialize_keras_object
        models = [restore(model) for model in config["models"]]
        return cls(**{**config, "models": models})


def check_alike(
    models: Sequence[AbstractModel], names: Sequence[str] | None = None
):
    """Raise a `ValueError` unless the weights of models can be averaged.

    Args:
        models: Built models.
        names: Names of the models in the error. Defaults to `None`: `models[0]`
            and so on.
    """
    names = names or [f"models[{i}]" for i in range(len(models))]
    facts = [
        ([x.dtype for x in model.weights], _options(config))
        for model, config in zip(models, members_config(models), strict=True)
    ]
    wrong = [
        f"{name}, which differs from {names[0]}"
        for name, fact in zip(names, facts, strict=True)
        if fact != facts[0]
    ]
    dtypes = [x for x in facts[0][0] if not keras.backend.is_float_dtype(x)]
    wrong += [f"{names[0]}, which has {x} weights" for x in dtypes]
    if wrong:
        raise ValueError(
            "Ensemble.average needs members with the same options and float "
            "weights, such as checkpoints of one training. Received: "
            f"{wrong[0]}. Use the ensemble without averaging its weights."
        )


def _options(config):
    """Return a config without names, random seeds and build configs."""
    if isinstance(config, list | tuple):
        return [_options(x) for x in config]
    if isinstance(config, dict):
        return {k: _options(x) for k, x in config.items() if k not in OWN}
    return config
