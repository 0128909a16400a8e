"""Models that `sentencepiece` trains for others, of every kind."""

import io

import sentencepiece

TEXT = [
    "Ein Mann, der lacht.",
    "Zwei Hunde spielen im Schnee.",
    "Über 3.5 km: der Hund?",
    "Zwei Männer und ein Hund im Schnee.",
]
KINDS = {
    "default": {},
    "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "bytes": {"byte_fallback": True, "vocab_size": 400},
    "bpe": {"model_type": "bpe"},
    "char": {"model_type": "char"},
    "symbols": {"user_defined_symbols": ["<2de>"], "control_symbols": ["<m>"]},
    "no prefix": {"add_dummy_prefix": False},
    "spaces": {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "case folding": {"normalization_rule_name": "nmt_nfkc_cf"},
    "names": {
        "unk_piece": "[UNK]",
        "bos_piece": "[CLS]",
        "eos_piece": "[SEP]",
        "pad_piece": "[PAD]",
        "pad_id": 3,
        "unk_id": 2,
        "bos_id": 0,
        "eos_id": 1,
    },
}


def foreign_model(**options) -> bytes:
    """Train a model of `TEXT` with its own special pieces and normalization.

    Args:
        **options: Of its trainer, such as one of `KINDS`.
    """
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT),
        model_writer=model,
        minloglevel=2,
        **{
            "vocab_size": 70,
            "hard_vocab_limit": options.get("model_type") == "bpe",
            **options,
        },
    )
    return model.getvalue()
