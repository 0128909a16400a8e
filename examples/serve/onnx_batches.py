"""Joins requests that wait for an ONNX file, so that it runs full batches."""

import asyncio
import json
import unicodedata
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import onnxruntime

EXTENSIONS = "onnxruntime_extensions"
TOKENIZER = "source_tokenizer"  # in the file's metadata
DIGITS = 6
THEIR_DOMAIN = b"ai.onnx.contrib"  # of nodes that they have operations for


class OnnxFile:
    """Runs a file that `translator.export` wrote, text to text.

    It is of the format `"onnx_text"`, or `"onnx_align"`, with attention.

    Args:
        file: The file. If it has words, `onnxruntime-extensions` is loaded.
        threads: Of onnxruntime. Defaults to `0`, one for each core.

    Attributes:
        aligns: Whether it gives tokens, too.
        known: The letters that it was trained on, or `None` if it reads
            something else.
    """

    def __init__(self, file: str | Path, threads: int = 0):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        if THEIR_DOMAIN in Path(file).read_bytes():
            library = import_module(EXTENSIONS).get_library_path()
            options.register_custom_ops_library(library)
        self.session = onnxruntime.InferenceSession(str(file), options)
        self.names = [x.name for x in self.session.get_outputs()]
        self.aligns = "target_tokens" in self.names
        content = self.session.get_modelmeta().custom_metadata_map
        self.known, self.form = read_letters(content.get(TOKENIZER, "{}"))

    def __call__(self, texts: list[str]) -> list[dict[str, np.ndarray]]:
        """Translate texts.

        Args:
            texts: `B` texts, at least one.

        Returns:
            The file's outputs for each text, by their names.
        """
        found = self.session.run(None, {"text": np.array(texts, object)})
        rows = zip(*found, strict=True)
        return [dict(zip(self.names, row, strict=True)) for row in rows]

    def unknown(self, text: str) -> list[str]:
        """List the letters of a text that were not in training, each once."""
        if self.known is None:
            return []
        if self.form != "identity":
            text = unicodedata.normalize(self.form.upper(), text)
        return [x for x in dict.fromkeys(text) if x not in self.known]


def read_letters(tokenizer: str) -> tuple[set[str] | None, str]:
    """Read the tokenizer in a file.

    Args:
        tokenizer: Its JSON.

    Returns:
        The letters that it knows, and their form of Unicode; `None` for the
        letters, if it is not of letters.
    """
    content = json.loads(tokenizer)
    config = content.get("config", {})
    if not content.get("class_name", "").endswith("CharacterTokenizer"):
        return None, "identity"
    return {*config["vocabulary"]}, config["normalization"]


def as_json(
    rows: list[dict[str, np.ndarray]], align: bool, unknown: list[list[str]]
) -> bytes:
    """Write the outputs for some texts.

    Args:
        rows: The outputs for each text.
        align: Whether to write tokens, too.
        unknown: The letters of each text that the file does not know.

    Returns:
        An object with a list for each output, one entry a text: `translations`
        and `scores`; if asked for, the others, without what stands behind the
        last token. Numbers have 6 digits, and are `null` where JSON has none.
        If any letter is unknown, `unknown` has those of each text.
    """
    written = [_as_lists(row, align) for row in rows]
    names = written[0] if written else ("translations", "scores")
    columns = {name: [x[name] for x in written] for name in names}
    if any(unknown):
        columns["unknown"] = unknown
    return json.dumps(columns, ensure_ascii=False, allow_nan=False).encode()


def _as_lists(row, align):
    scores = row["scores"]
    found = {
        "translations": row["translations"].tolist(),
        "scores": np.where(
            np.isfinite(scores), _rounded(scores), None
        ).tolist(),
    }
    if not align:
        return found
    width = _count(row["source_tokens"])
    found["source_tokens"] = row["source_tokens"][:width].tolist()
    counts = [_count(tokens) for tokens in row["target_tokens"]]
    for name, ends in (
        ("target_tokens", ()),
        ("token_scores", ()),
        ("attention", (slice(width),)),
    ):
        if name in row:
            each = zip(row[name], counts, strict=True)
            cut = [x[(slice(count), *ends)] for x, count in each]
            found[name] = [_rounded(x).tolist() for x in cut]
    return found


def _count(tokens):
    """Count tokens, of which the last ones may be empty."""
    return max(np.flatnonzero(tokens != ""), default=-1) + 1


def _rounded(x):
    return x if x.dtype == object else x.astype(float).round(DIGITS)


class Batches:
    """Runs texts of many requests in common batches, in a thread of its own.

    While a batch runs, others wait in one queue. If a batch fails, each of its
    texts runs alone, so that a text fails by itself only.

    Args:
        run: Function from a list of texts to an answer for each.
        size: The most texts in a batch. Defaults to `64`.
        wait: Seconds that a text waits at most for others, if nothing runs.
            Defaults to `0.002`.
        seen: Function that is called with the size of each batch. Defaults to
            none.

    Attributes:
        waiting: Texts that wait, each with the future of its answer.
    """

    def __init__(
        self,
        run: Callable[[list[str]], list],
        size: int = 64,
        wait: float = 0.002,
        seen: Callable[[int], None] = lambda _: None,
    ):
        self.run = run
        self.size = size
        self.wait = wait
        self.seen = seen
        self.waiting = deque()
        self.arrived = asyncio.Event()
        self.thread = ThreadPoolExecutor(1)

    async def ask(self, texts: list[str]) -> list:
        """Wait for the answers of texts.

        Args:
            texts: Texts of one request. If the caller is cancelled, those
                that have not begun to run are dropped.

        Returns:
            Their answers.
        """
        loop = asyncio.get_running_loop()
        answers = [loop.create_future() for _ in texts]
        self.waiting.extend(zip(texts, answers, strict=True))
        self.arrived.set()
        return await asyncio.gather(*answers)

    async def serve(self):
        """Run batches until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            batch = await self._next()
            texts = [text for text, _ in batch]
            self.seen(len(texts))
            found = await loop.run_in_executor(self.thread, self._each, texts)
            for (_, answer), given in zip(batch, found, strict=True):
                if answer.done():  # cancelled meanwhile
                    continue
                if isinstance(given, Exception):
                    answer.set_exception(given)
                else:
                    answer.set_result(given)

    async def _next(self):
        """Wait for a batch of texts that somebody waits for."""
        while True:
            await self._more(than=0)
            try:
                async with asyncio.timeout(self.wait):
                    await self._more(than=self.size - 1)
            except TimeoutError:
                pass
            count = min(self.size, len(self.waiting))
            taken = [self.waiting.popleft() for _ in range(count)]
            batch = [x for x in taken if not x[1].done()]
            if batch:
                return batch

    async def _more(self, than):
        while len(self.waiting) <= than:
            self.arrived.clear()
            await self.arrived.wait()

    def _each(self, texts):
        """Run texts, each alone if they fail together."""
        try:
            return self.run(texts)
        except Exception as error:  # of onnxruntime, for a text
            if len(texts) == 1:
                return [error]
            return [found for text in texts for found in self._each([text])]
