"""Training on short texts, and translating them, by yoyodyne.

Training is a plain loop, without what Lightning's `Trainer` takes.
"""

import tempfile
from pathlib import Path

import lightning
import torch
from sides.serve import serve
from torch.utils.data import DataLoader
from works import TransductionWork
from yoyodyne import data
from yoyodyne import models


def make(work: dict, arrays: dict, mode: str):
    """Make the model; return functions that run it, and count its weights."""
    work = TransductionWork(**work)
    module = read(work, arrays)
    model = build(work, module)
    training, plain = (
        DataLoader(
            module.train_dataloader().dataset,
            batch_size=work.batch,
            collate_fn=module.collator,
            shuffle=trains,
            drop_last=trains,
        )
        for trains in (True, False)
    )
    adam = torch.optim.Adam(model.parameters(), lr=work.rate)
    trainer = lightning.Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
    )

    def train():
        model.train()
        for batch in training:
            adam.zero_grad()
            loss = model.loss_func(model(batch), batch.target.tensor)
            loss.backward()
            adam.step()

    def translate():
        trainer.predict(model, plain)

    run = {"train": train, "translate": translate}[mode]
    count = sum(x.numel() for x in model.parameters())
    return run, lambda: {"weights": count}


def read(work: TransductionWork, arrays: dict) -> data.DataModule:
    """Write the table, which yoyodyne reads."""
    folder = Path(tempfile.mkdtemp())
    pairs = zip(arrays["sources"], arrays["targets"], strict=True)
    table = folder / "pairs.tsv"
    table.write_text("".join(f"{x}\t{y}\n" for x, y in pairs))
    return data.DataModule(
        model_dir=str(folder),
        train=str(table),
        target_sep=" ",
        batch_size=work.batch,
    )


def build(work: TransductionWork, module: data.DataModule):
    """Make the model with random weights."""
    return models.SoftAttentionLSTMModel(
        decoder_hidden_size=work.units,
        decoder_dropout=work.dropout,
        embedding_size=work.size,
        label_smoothing=work.smoothing,
        max_target_length=work.longest,
        source_encoder=models.modules.LSTMEncoder(
            dropout=work.dropout,
            embedding_size=work.size,
            hidden_size=work.units,
        ),
        target_vocab_size=module.target_vocab_size,
        vocab_size=module.vocab_size,
    )


if __name__ == "__main__":
    serve(make)
