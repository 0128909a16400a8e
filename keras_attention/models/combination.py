"""The base of combinations of models."""

from collections.abc import Sequence

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_object
from keras_attention.checks import missing_method
from keras_attention.checks import refuse_to_stream
from keras_attention.models.base import AbstractModel
from keras_attention.models.base import Begun
from keras_attention.ops import cast
from keras_attention.ops import wide_dtype
from keras_attention.ops import widen
from keras_attention.ops.rows import take_columns
from keras_attention.steps.primitives import UNKNOWN

MEMBER = (
    "Pass trained models, such as a Seq2Seq or the `model` of a Translator."
)


class AbstractCombination(AbstractModel):
    """Scores every next token with several models, each with its own states.

    All members read the same source, and take every step together, in one loop
    of a search. They may differ in everything except the target vocabulary. If
    one of them copies tokens, the others read copied tokens as unknown.

    If the attention weights have the same size, they are averaged; otherwise
    those of the first member with attention are used.

    A subclass defines `combine` and `of`, and calls `join` in its constructor.

    Args:
        **kwargs: Keras model arguments, such as `name`.

    Attributes:
        numbers: Names of the attributes that `combine` uses.
    """

    numbers: tuple[str, ...] = ()

    def join(self, models: Sequence[AbstractModel], shares: list[float]):
        """Set the members.

        Args:
            models: The members.
            shares: For each member, the weight of its attention. If the weight
                is 0, its source is ignored as well.

        Raises:
            ValueError: If a member is not a model, or if members differ in
                target vocabularies, kinds of sources, or shortlists.
        """
        self.models, self.shares = list(models), shares
        for number, model in enumerate(self.models):
            check_object(f"models[{number}]", model, AbstractModel, MEMBER)
        sizes = {model.target_vocabulary_size for model in self.models}
        if len(sizes) != 1:
            raise ValueError(
                f"{type(self).__name__} needs models with one target "
                f"vocabulary. Received: target_vocabulary_size of {sizes}. "
                "Train them with one target tokenizer."
            )
        lists = [x.shortlist for x in models if x.shortlist is not None]
        if any(x is not lists[0] for x in lists):
            raise ValueError(
                f"{type(self).__name__} needs models without a shortlist, or "
                f"with the same one. Received: {len(lists)} models with "
                "different shortlists. Combine the models first, then limit "
                "the combination: model.limited_to(shortlist)."
            )
        [self.target_vocabulary_size] = sizes
        self.shortlist = _first(lists)
        self.source_vocabulary_size = self._source_size()
        self.source_ids = any(model.source_ids for model in self.models)
        self.built = all(model.built for model in self.models)

    @property
    def readers(self) -> list:
        """The members whose source is used."""
        pairs = zip(self.models, self.shares, strict=True)
        return [model for model, share in pairs if share]

    def _source_size(self):
        sizes = [model.source_vocabulary_size for model in self.readers]
        if None not in sizes:
            return min(sizes)
        if any(size is not None for size in sizes):
            raise ValueError(
                f"{type(self).__name__} needs models that all read ids, or all "
                f"features. Received: source_vocabulary_size of {sizes}. "
                "Combine models of the same kind."
            )
        return None

    def combine(self, log_probs: list):
        """Combine the members' predictions of the next token.

        Args:
            log_probs: Log probabilities `(B, K, V)` of each member, in float32
                or wider.

        Returns:
            `(B, K, V)`.
        """
        raise missing_method(self.combine)

    def copied(self, log_probs):
        """Return the score of copied tokens for a member that cannot copy.

        Args:
            log_probs: `(B, K, V)`, its log probabilities of tokens in the
                vocabulary.

        Returns:
            `(B, K, 1)`, the same for all copied tokens. Defaults to `-inf`.
        """
        return ops.full_like(log_probs[..., :1], -float("inf"))

    def of(self, models: list[AbstractModel]) -> "AbstractCombination":
        """Return a combination of other members with the same options."""
        raise missing_method(self.of)

    def _limit(self, shortlist):
        pairs = zip(self.models, self.shares, strict=True)
        return self.of([x.limited_to(shortlist) if s else x for x, s in pairs])

    @property
    def source_spec(self):
        return self.readers[0].source_spec

    @property
    def pads_freely(self) -> bool:
        return all(model.pads_freely for model in self.models)

    @property
    def uses_xla(self) -> bool:
        return super().uses_xla or any(x.uses_xla for x in self.models)

    @property
    def version(self) -> int:
        facts = [self.changes, self.uses_xla, *self.shares]
        facts += [getattr(self, name) for name in self.numbers]
        facts += [x.version for x in self.models]
        return self._version.number(self.variables, *facts)

    def build(self, input_shape):
        for model in self.models:
            if not model.built:
                model.build(input_shape)

    def call(self, inputs, training: bool | None = None):
        found = []
        for model, known in self._known_pairs(*inputs):
            scores = model(known, training=training)
            if isinstance(scores, tuple | list):  # and weights
                scores = scores[0]
            found.append(model.log_probabilities(scores))
        return self.combine(self._same_words(found))

    def begin(self, source, beams=1, search=None, prefix=None) -> Begun:
        begun = []
        for model in self.models:
            known = self._known(model, source, model.source_vocabulary_size)
            begun.append(model.begin(known, beams, search, prefix))
        ids = _first(x.ids for x in begun)
        # What scores all words is asked for those that others list.
        listed = [ids if x.ids is None else None for x in begun]
        prepared = [x.prepared for x in begun]
        states, mask = [x.states for x in begun], _first(x.mask for x in begun)
        return Begun([*zip(listed, prepared, strict=True)], states, mask, ids)

    def next_word(self, tokens, states, prepared) -> tuple:
        scores, after, weights = [], [], []
        for model, own, (ids, what) in zip(
            self.models, states, prepared, strict=True
        ):
            found = model.next_word(self._known(model, tokens), own, what)
            scores.append(_listed(widen(found[0]), ids))
            after.append(found[1])
            weights.append(found[2])
        log_probs = self.combine(self._same_words(scores))
        return log_probs, after, self._mean(weights)

    def attend(self, source, target) -> list:
        weights = []
        for model, known in self._known_pairs(source, target):
            found = model.attend(*known)
            weights.append(sum(found) / len(found) if found else None)
        mean = self._mean(weights)
        return [] if mean is None else [mean]

    def stream(self, *arguments, **options):
        """Raise an error, because a stream has one encoder and one memory."""
        received = f"{type(self).__name__} of {len(self.models)} models"
        way_out = (
            "Stream one of the models, or the result of Ensemble.average()."
        )
        reason = "each read the source at their own pace"
        refuse_to_stream(received, reason, way_out)

    def _known(self, model, ids, size=None):
        """Replace copied tokens with unknown for members that cannot copy."""
        if not self.source_ids or model.source_ids:
            return ids
        size = self.target_vocabulary_size if size is None else size
        return ops.where(ids < size, ids, UNKNOWN)

    def _known_pairs(self, source, target):
        for model in self.models:
            known = self._known(model, source, model.source_vocabulary_size)
            yield model, (known, self._known(model, target))

    def _same_words(self, log_probs):
        """Extend scores so that all members score the same tokens."""
        dtypes = {wide_dtype(x.dtype) for x in log_probs}
        wide = "float64" if "float64" in dtypes else "float32"
        log_probs = [cast(x, wide) for x in log_probs]
        pairs = list(zip(self.models, log_probs, strict=True))
        whole = [x for model, x in pairs if model.source_ids]
        if not whole:
            return log_probs
        beyond = ops.zeros_like(whole[0][..., self.target_vocabulary_size :])

        def widened(x):
            return ops.concatenate([x, self.copied(x) + beyond], axis=-1)

        return [x if model.source_ids else widened(x) for model, x in pairs]

    def _mean(self, weights):
        """Return the mean of weights `(B, K, Tv)`; `None` without weights."""
        pairs = zip(weights, self.shares, strict=True)
        found = [(x, share) for x, share in pairs if x is not None and share]
        if not found:
            return None
        first = found[0][0]
        total, sums = 0.0, 0.0
        for x, share in found:
            x, same = _fitted(x, ops.shape(first)[-1])
            share = share * ops.cast(same, first.dtype)
            total, sums = total + share * ops.cast(x, first.dtype), sums + share
        return total / sums

    def compute_output_shape(self, input_shape) -> tuple:
        source, target = input_shape
        size = self.target_vocabulary_size
        if self.source_ids:
            size = None if source[1] is None else size + source[1]
        return (*target[:2], size)


def _first(values):
    return next((x for x in values if x is not None), None)


def _listed(log_probs, ids):
    """Select the entries `(B, K, S)` of ids `(B, S)`; with `None`, all."""
    if ids is None:
        return log_probs
    return take_columns(log_probs, ops.expand_dims(ids, 1))


def _fitted(x, size) -> tuple:
    """Return `x` as `(B, K, size)`, and whether it has this size."""
    own = ops.shape(x)[-1]
    if isinstance(own, int) and isinstance(size, int) and own == size:
        return x, True
    places = ops.minimum(ops.arange(size, dtype="int32"), own - 1)
    return ops.take(x, places, axis=-1), ops.equal(own, size)


def members_config(models: Sequence[AbstractModel]) -> list:
    """Return the configs of members, without compile arguments."""
    configs = [keras.saving.serialize_keras_object(x) for x in models]
    for config in configs:  # not of a copy: Keras marks a model met again
        config["compile_config"] = None
    return configs
