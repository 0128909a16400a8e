"""What a translator is made of: model, tokenizers, search."""

from keras_attention.checks import check_object
from keras_attention.models import AbstractModel
from keras_attention.search import AbstractSearch
from keras_attention.text import AbstractTokenizer
from keras_attention.text import check_shared


def check_translator(
    model: AbstractModel,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
    search: AbstractSearch,
):
    """Raise a `ValueError` unless the parts of a translator fit together.

    Args:
        model: Must be an `AbstractModel`, such as a `Seq2Seq`.
        source_tokenizer: Must be a tokenizer, whose ids the model knows. If
            the model copies words, both tokenizers have all of its ids.
        target_tokenizer: Likewise.
        search: Must be a search strategy.
    """
    check_object(
        "model",
        model,
        AbstractModel,
        "Only a Seq2Seq, or a model like it, generates translations.",
    )
    check_object("search", search, AbstractSearch, "Give a `BeamSearch(5)`.")
    tokenizers = {"source": source_tokenizer, "target": target_tokenizer}
    for side, tokenizer in tokenizers.items():
        check_object(
            f"{side}_tokenizer",
            tokenizer,
            AbstractTokenizer,
            "Make one, such as by `WordTokenizer.train(sentences, 8000)`.",
        )
        size = getattr(model, f"{side}_vocabulary_size")
        known = tokenizer.vocabulary_size
        if size is None or known > size or (model.source_ids and known < size):
            raise ValueError(
                f"`{side}_tokenizer` must give ids that the model knows, "
                "and all of them if it copies. Received: vocabulary_size="
                f"{known}, the model's {side}_vocabulary_size={size}."
            )
    if model.source_ids:
        check_shared("Translator", source_tokenizer, target_tokenizer)
