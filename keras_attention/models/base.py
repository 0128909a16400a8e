"""The base of all models that generate sequences."""

import contextlib
import functools
from typing import Any
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.arrays import check_dense
from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_built
from keras_attention.checks import check_function
from keras_attention.checks import check_object
from keras_attention.checks import check_shape
from keras_attention.checks import missing_method
from keras_attention.checks import shapes_agree
from keras_attention.layers import AbstractDenseLayer
from keras_attention.layers import AbstractPartMaker
from keras_attention.layers import carried_mask
from keras_attention.models import checks
from keras_attention.models.generation import Programs
from keras_attention.models.generation import Version
from keras_attention.models.generation import asking_nothing
from keras_attention.models.generation import score_compiled
from keras_attention.models.generation import score_words
from keras_attention.models.generation import search_compiled
from keras_attention.models.generation import search_words
from keras_attention.ops import widen
from keras_attention.ops.tokens import fused
from keras_attention.outputs import Shortlist
from keras_attention.search import AbstractSearch
from keras_attention.search import Generation
from keras_attention.search import GreedySearch
from keras_attention.search.base import check_row_words
from keras_attention.search.constraints import as_prefix

SEARCH = "a search strategy"
BUILD = "Train it, load it, or `model.build(((None, None), (None, None)))`."


class Begun(NamedTuple):
    """A source that a model has read, before the first target token.

    Attributes:
        prepared: Structure of tensors that are the same at all steps.
        states: List of tensors `(B, K, ...)` before the first step.
        mask: Boolean `(B, Tv)`, `True` at valid positions of the memory that
            weights attend to, or `None`.
        ids: The ids `(B, S)` that are scored, in ascending order; `None` for
            the whole vocabulary.
    """

    prepared: Any
    states: list
    mask: Any = None
    ids: Any = None


class AbstractModel(AbstractPartMaker, AbstractDenseLayer, keras.Model):
    """Generates a target for each source, token by token.

    This is the interface that searches, translators and exports use. A subclass
    sets the attributes below and defines `begin` and `next_word`. For plots and
    shortlists, it also defines `attend`. You can then generate, translate and
    export with the subclass, as with `Seq2Seq`. A call of the model takes a
    pair of source and target, as in `Seq2Seq`.

    Args:
        **kwargs: Keras model arguments, such as `name` and `dtype`.

    Attributes:
        source_vocabulary_size: Number of source ids, or `None` if the source
            consists of features. A tuple for sources of ids `(B, Tv, M)`.
        target_vocabulary_size: Number of target ids `V`.
        source_spec: A `keras.InputSpec` of the source, `(None, Tv)` for ids or
            `(None, Tv, D)` for features, with `None` for sizes that may vary.
            Defaults to ids of any length.
        source_ids: Whether the model generates ids `V + j`, which stand for the
            source token at position `j`.
        shortlist: The `Shortlist` that limits generation, or `None`.
        pads_freely: Whether padding after a source has no effect. If so,
            sources are padded to a few lengths, so that fewer programs are
            compiled.
        programs: The compiled `Programs` of this model, and its variant with a
            `Shortlist`.
        changes: Number that you increase when you change what the model
            computes, other than the values of its variables. The model then
            recompiles its programs.
    """

    source_vocabulary_size: int | None = None
    target_vocabulary_size: int
    source_spec = keras.InputSpec(shape=(None, None), dtype="int32")
    source_ids: bool = False
    shortlist: Shortlist | None = None
    pads_freely: bool = False

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.programs = Programs()
        self.changes = 0
        self._version = Version()

    @property
    def uses_xla(self) -> bool:
        """Whether `compile` has selected XLA on TensorFlow."""
        return bool(self.compiled and self.jit_compile)

    @property
    def compiles_each_shape(self) -> bool:
        """Whether its programs are compiled anew for each shape."""
        return self.uses_xla or backend.compiles_each_shape

    @property
    def version(self) -> int:
        """Number that increases when compiled programs become outdated.

        The number increases when a layer gets other variables, for example by
        `enable_lora` or `quantize`, when `changes` increases, and when another
        compiler is selected. It does not depend on the values of weights.
        """
        facts = self.changes, self.uses_xla
        return self._version.number(self.variables, *facts)

    def begin(self, source, beams: int = 1, search=None, prefix=None) -> Begun:
        """Read a source, once for all steps.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            beams: Number `K` of beams in the states. Defaults to `1`.
            search: The search that requests the scores. An output layer may use
                the options of the search to choose which tokens to score.
                Defaults to `None`.
            prefix: Ids `(B, P)` that hypotheses must contain, such as those of
                a prefix, padded with 0. Defaults to `None`.

        Returns:
            A `Begun`.
        """
        raise missing_method(self.begin)

    def next_word(self, tokens, states, prepared) -> tuple:
        """Score the possible next tokens.

        Args:
            tokens: The last ids, `(B, K)`.
            states: The list of states `(B, K, ...)`.
            prepared: The `prepared` tensors from `begin`, the same at all
                steps.

        Returns:
            Log probabilities `(B, K, V)`, or `(B, K, S)` if `begin` returned a
            list of `ids`; the next states; and attention weights `(B, K, Tv)`
            or `None`.
        """
        raise missing_method(self.next_word)

    def log_probabilities(self, scores):
        """Compute log probabilities from the results of a call.

        Args:
            scores: `(B, T, V)`, the result of a call.

        Returns:
            `(B, T, V)` in float32 or wider. Defaults to the log-softmax.
        """
        return ops.log_softmax(widen(scores), axis=-1)

    def attend(self, source, target) -> list:
        """Compute the attention of a known target.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            target: The decoder's input ids `(B, T)`, which begin with the
                start id.

        Returns:
            A list of the weights `(B, T, Tv)` of each attention, `[]` without
            attention.
        """
        raise missing_method(self.attend)

    def limited_to(self, shortlist: Shortlist) -> "AbstractModel":
        """Return this model, limited to the tokens of a shortlist.

        Args:
            shortlist: A `Shortlist`. For each source, only the tokens in its
                list are scored.

        Returns:
            A model with the same layers. A second call with the same shortlist
            returns the same object, so that the model is compiled only once.

        Raises:
            ValueError: If the model copies tokens or reads features, or if its
                source ids do not match the shortlist's table.
        """
        way_out = "Train one: Shortlist.train(model, batches)."
        check_object("shortlist", shortlist, Shortlist, way_out)
        make = functools.partial(self._limit, shortlist)
        return self.programs.get(self.version, shortlist, make)

    def _limit(self, shortlist):
        raise ValueError(
            "`shortlist` needs a model whose output it can limit. Received: "
            f"{type(self).__name__}. Omit `shortlist`."
        )

    def reading_apart(self) -> "AbstractModel":
        """Return this model with a separate source for each member.

        The returned model reads ids `(B, Tv, M)`, where `[..., m]` is the
        source of member `m`. All members' sources are padded to one length, as
        `ParallelTokenizer` returns them. Attention weights are those of the
        first member.

        Returns:
            A model with the same layers. All calls return the same object. Its
            `source_vocabulary_size` is a tuple with one size for each member.

        Raises:
            ValueError: If this model is not a combination of models, or if a
                member cannot read its own ids.
        """
        return self.programs.get(self.version, "apart", self._read_apart)

    def _read_apart(self):
        raise ValueError(
            "Several source tokenizers need a combination of models, such as "
            f"an Ensemble. Received: {type(self).__name__} `{self.name}`. Pass "
            "one tokenizer."
        )

    def generate(
        self,
        source,
        search: AbstractSearch | None = None,
        prefix=None,
        return_attention_scores: bool = True,
        shortlist: Shortlist | None = None,
    ) -> Generation:
        """Generate a target for every source.

        Neither padding (id 0) nor the search's start id is ever generated. No
        gradient flows through this method.

        Outside of a graph, generation is compiled, once for each search. On
        JAX, and on TensorFlow after `compile(jit_compile=True)`, XLA compiles
        once per shape. Therefore, batches are padded to a few sizes. Sources of
        ids are also padded to a few lengths, if the encoder consists of layers
        of Keras or of this package that obey masks, such as recurrent layers.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            search: A search strategy. Defaults to `GreedySearch()`.
            prefix: Ids `(B, P)` that the target of each row must begin with,
                padded with 0, or `None`. In a graph, ids cannot be checked: if
                a prefix contains an id that is never generated, its row gets no
                tokens. In a graph with an unknown batch size, a prefix with one
                row applies to all rows. Defaults to `None`.
            return_attention_scores: Whether to return the attention weights of
                all steps, which take most of the memory of the result. Defaults
                to `True`.
            shortlist: A `Shortlist`. For each source, only the tokens in its
                list are scored. This requires an `AbstractSearch`. The step of
                the search then receives and returns indices in the list of the
                row instead of ids; the ids in the options of the search are
                unchanged. In a function that you compile with XLA on
                TensorFlow, set `jit_compile=True` in the model's `compile` as
                well. Defaults to `None`, the whole vocabulary.

        Returns:
            A `Generation`. Its attention weights are those of the cell's
            attention layer, or the mean over several attention layers; `None`
            if not requested. If the search finds no hypothesis for a row, or
            the model returns only NaN, the row is empty, its score is `-inf`,
            and a warning is issued.

        Raises:
            ValueError: If the model is not built, if `search` is not a search,
                if `source` or `prefix` has the wrong number of axes, if
                `prefix` does not have one row per source, or, outside of a
                graph, if an id is not in the vocabulary or `prefix` contains
                the start id. With a shortlist, if the model copies tokens or
                reads features, or if its source ids do not match the table.
        """
        attends = return_attention_scores
        check_built(self, "generate", BUILD)
        if shortlist is not None:
            limited = self.limited_to(shortlist)
            return limited.generate(source, search, prefix, attends)
        search = GreedySearch() if search is None else search
        way_out = "Try BeamSearch(5) or GreedySearch()."
        check_function("search", search, SEARCH, way_out)
        (source,) = as_tensors(self, "generate", source)
        prefix = check_generation(self, source, search, prefix)
        empty = source.shape[0] == 0
        if empty:  # no reshape infers a size of a tensor without elements
            shape = (1, *ops.shape(source)[1:])
            source, prefix = ops.ones(shape, source.dtype), None
            search = asking_nothing(search)
        run = search_compiled
        if backend.is_traced(source):
            run = backend.do_not_convert(search_words)
        generation = run(self, source, search, prefix, attends)
        if not empty:
            return generation
        return Generation(*[None if x is None else x[:0] for x in generation])

    def score(self, source, target) -> tuple:
        """Score given targets by their log probability.

        Formula:

            score = sum_t log p(y_t | y_1 ... y_{t-1}, x)

        This method is compiled like `generate`, and no gradient flows through
        it.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            target: Ids `(B, T)`, as in training: the start id, the tokens, the
                end id, then padding. The ids after the start id are scored.
                Padding on the left has no effect.

        Returns:
            scores: `(B,)`, the sums of `token_scores`, in float32 or wider.
            token_scores: `(B, T - 1)`, log probabilities of the ids after
                the first one; 0 at padding.

        Raises:
            ValueError: If the model is not built, if a shape does not match,
                or, outside of a graph, if an id is not in the vocabulary.
        """
        check_built(self, "score", BUILD)
        source, target = as_tensors(self, "score", source, target)
        check_scored(self, source, target)
        run = score_compiled
        if backend.is_traced(source) or carried_mask(source) is not None:
            run = backend.do_not_convert(score_words)
        elif target.shape[0] == 0:
            return ops.zeros((0,)), ops.zeros((0, target.shape[1] - 1))
        token_scores = run(self, source, target)
        return ops.sum(token_scores, axis=1), token_scores

    def compute_mask(self, inputs, previous_mask=None):
        return None  # the scores carry no mask of the inputs

    @functools.wraps(keras.Model.compile)
    def compile(self, *arguments, **options):
        checks.check_compiled(self, *arguments, **options)
        super().compile(*arguments, **options)

    @functools.wraps(keras.Model.compile_from_config)
    def compile_from_config(self, config):
        # Unchecked: files of earlier versions may have any loss and metric.
        super().compile(**keras.saving.deserialize_keras_object(config))
        if self.built:
            self.optimizer.build(self.trainable_variables)

    @functools.wraps(keras.Model.train_on_batch)
    def train_on_batch(self, *arguments, **options):
        checks.check_classes(self, "train_on_batch", *arguments, **options)
        return super().train_on_batch(*arguments, **options)

    @functools.wraps(keras.Model.fit)
    def fit(self, x=None, y=None, *arguments, **options):
        checks.check_classes(self, "fit", x, y, *arguments, **options)
        checks.check_arrays(self, x, y)
        history = super().fit(x, y, *arguments, **options)
        checks.check_losses(self, history)
        return history

    @functools.wraps(keras.Model.train_step)
    def train_step(self, *args):
        step = super().train_step
        return backend.without_all_reduce(self.optimizer, step, *args)

    @functools.wraps(keras.Model.compute_loss)
    def compute_loss(self, *args, **kwargs):
        with fused(self.jit_compile):
            return super().compute_loss(*args, **kwargs)

    @functools.wraps(keras.Model.compute_metrics)
    def compute_metrics(self, *args, **kwargs):
        with fused(self.jit_compile):
            return super().compute_metrics(*args, **kwargs)

    @functools.wraps(keras.Model.export)
    def export(
        self,
        filepath,
        format="tf_saved_model",
        verbose=None,
        input_signature=None,
        **options,
    ):
        check_functions(self)
        if input_signature is None:  # of any batch size and any length
            ids = keras.InputSpec(shape=(None, None), dtype="int32")
            input_signature = [(self.source_spec, ids)]
        return super().export(
            filepath, format, verbose, input_signature, **options
        )


def as_tensors(model, method: str, *arguments) -> list:
    """Convert the arguments of a model's method to tensors.

    Args:
        model: The model.
        method: Name of the method, for the error.
        *arguments: Its source, and its target if there is one.

    Raises:
        ValueError: If their rows differ in length.
    """
    for name, x in zip(("source", "target"), arguments, strict=False):
        check_dense(f"{type(model).__name__}.{method} needs tensors", name, x)
    return [keras.ops.convert_to_tensor(x) for x in arguments]


def check_functions(model):
    """Raise a `ValueError` if a function in a model cannot be loaded again."""
    # Layers of the user's own may have no config.
    with contextlib.suppress(NotImplementedError):
        model.get_config()


def check_generation(model, source, search, prefix=None):
    """Check the arguments of `generate`; ids only outside of graphs.

    Args:
        model: A built `Seq2Seq`.
        source: A tensor, ids `(B, Tv)` or features `(B, Tv, D)`.
        search: The search strategy.
        prefix: Ids `(B, P)`, or `None`.

    Returns:
        The prefix, a tensor `(B, P)` or `None`.

    Raises:
        ValueError: If the rank of the source differs from the rank that the
            model was built for, if the prefix is not one row of ids for each
            source, if an id is not in its vocabulary, or if the prefix contains
            the start id, which is never generated.
    """
    _check_rank("generate", model, source)
    prefix = as_prefix(prefix, source.shape[0])
    if isinstance(search, AbstractSearch):
        check_row_words(search, source.shape[0])
    if backend.is_traced(source) or backend.is_traced(prefix):
        return prefix
    _check_sides("generate", model, source, "prefix", prefix)
    start = getattr(search, "start_id", 0)
    if prefix is None or start in (0, getattr(search, "end_id", None)):
        return prefix
    if np.any(keras.ops.convert_to_numpy(prefix) == start):
        raise ValueError(
            "`prefix` must not contain the start id, which is never generated. "
            f"Received: a prefix with start_id={start}. Remove it: prefix[:, "
            "1:]."
        )
    return prefix


def check_scored(model, source, target):
    """Check the arguments of `score`; ids only outside of graphs.

    Args:
        model: A built `AbstractModel`.
        source: A tensor, ids `(B, Tv)` or features `(B, Tv, D)`.
        target: A tensor, ids `(B, T)`.

    Raises:
        ValueError: If the rank of the source differs from the rank that the
            model was built for, if the target is not one row of ids for each
            source, or if an id is not in its vocabulary.
    """
    _check_rank("score", model, source)
    shape, rows = tuple(target.shape), source.shape[0]
    if not shapes_agree(shape, (rows, None)) or shape[1] in (0, 1):
        raise ValueError(
            f"{type(model).__name__}.score needs a `target` of ids (B, T), "
            "with one row for each source, which contains the start id and at "
            f"least one id after it. Received: target.shape={shape} for {rows} "
            "sources."
        )
    if not backend.is_traced(source) and not backend.is_traced(target):
        _check_sides("score", model, source, "target", target)


def _check_rank(method, model, source):
    sizes = [None] * len(model.source_spec.shape)
    wanted = f"features with {len(sizes)} axes"
    if len(sizes) == 2:
        wanted = "ids (B, Tv)"
    elif isinstance(model.source_vocabulary_size, tuple):
        sizes[2] = model.source_spec.shape[2]
        wanted = f"ids (B, Tv, {sizes[2]})"
    needs = (
        f"{type(model).__name__}.{method} needs a source of the kind that "
        "the model was "
    )
    needs += f"built for: {wanted}"
    way_out = "Add a batch axis to a single source: source[None]."
    check_shape(needs, "source", source.shape, sizes, way_out)


def _check_sides(method, model, source, name, target):
    copies = source.shape[1] if model.source_ids else 0
    if not model.source_ids:
        checks.check_side(method, "source", "source", source, model)
    checks.check_side(method, name, "target", target, model, copies)
