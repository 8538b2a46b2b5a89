"""A model of two dozen words, in the files that fastembed keeps: read, tokenised, run and pooled by the real onnxruntime.

Each word has a direction of its own, and words that mean the same share one, so what must come out is known.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

REPOSITORY, FILE, DIMENSIONS = "qdrant/paraphrase-multilingual-MiniLM-L12-v2-onnx-Q", "model_optimized.onnx", 384
"""Where fastembed looks for the model that is the default of this adapter."""
REVISION = "0" * 40
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
DIRECTIONS = {"drum": 0, "percussion": 0, "tax": 1, "levy": 1, "park": 2}
"""Of each word the model knows; all others point nowhere."""


def written(folder: Path) -> None:
    """Write the model as if it had been fetched."""
    repository = folder / f"models--{REPOSITORY.replace('/', '--')}"
    files = repository / "snapshots" / REVISION
    files.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(REVISION, encoding="utf-8")
    vocabulary = {word: at for at, word in enumerate((*SPECIAL, *DIRECTIONS))}
    for name, value in _tokenizer(vocabulary).items():
        (files / name).write_text(json.dumps(value), encoding="utf-8")
    weights = np.zeros((len(vocabulary), DIMENSIONS), dtype=np.float32)
    for word, direction in DIRECTIONS.items():
        weights[vocabulary[word], direction] = 2.0
    (files / FILE).write_bytes(_graph(weights).SerializeToString())


def spoilt(folder: Path) -> None:
    """Leave of the written model no more than its beginning, as a download that was cut short does."""
    [file] = folder.rglob(FILE)
    file.write_bytes(file.read_bytes()[:100])


def _graph(weights: np.ndarray) -> onnx.ModelProto:
    """Return a model that looks each token up; fastembed takes the mean and its length from there."""
    shape = ["batch", "length"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, DIMENSIONS])
    look_up = helper.make_node("Gather", ["weights", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([look_up], "words", inputs, [output], [numpy_helper.from_array(weights, "weights")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _tokenizer(vocabulary: dict[str, int]) -> dict[str, object]:
    special = [
        {"id": vocabulary[word], "content": word, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for word in SPECIAL
    ]
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    return {
        "tokenizer.json": {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": special,
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": single,
                "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [vocabulary["[CLS]"]], "tokens": ["[CLS]"]}},
            },
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        },
        "tokenizer_config.json": {"model_max_length": 32, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
        "config.json": {"pad_token_id": 0},
    }
