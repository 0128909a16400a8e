"""examples/serve: the clients, and all that README.md shows.

They ask the stand-in, in a process of its own, which knows the session loader
and the protocols of TensorFlow Serving, and nothing of this package.
"""

import configparser
import os
import re
import shlex
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from google.protobuf import text_format
    from serve import client
    from tensorflow_serving.config import model_server_config_pb2

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "serve"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
WAYS = ["grpc", "rest"]
ODD = [
    "12 May 2021",
    'say "12 May 2021" \\ \n\t\u2028 <&> 😀',
    "\x00\x1f",
    "",
    os.fsdecode(b"\xff 3 mars 2021 \xed\xa0\x80"),
    "2024년 2월 29일 목요일 שלום",
]
both_ways = pytest.mark.parametrize("way", WAYS)


def ask(server, way, texts, align=False, **more):
    port = getattr(server, way)
    host = "127.0.0.1"
    return client.main(texts, way == "rest", align, host, port, **more)


# The clients.


@pytest.mark.slow
@both_ways
def test_a_text_is_translated_and_printed(server, way, capsys):
    (row,) = ask(server, way, ["12 May 2021"])
    assert row["translations"] == ["2021-05-12"]
    assert -0.1 < row["scores"][0] < 0
    printed = capsys.readouterr().out
    assert re.search(r"12 May 2021\n +-0\.00\d\d  2021-05-12\n", printed)
    assert "looks at" not in printed


@pytest.mark.parametrize("align", [False, True])
def test_both_ways_give_the_same(server, align):
    by_grpc, by_rest = (ask(server, way, ODD, align) for way in WAYS)
    assert len(by_grpc) == len(by_rest) == len(ODD)
    for x, y in zip(by_grpc, by_rest, strict=True):
        assert set(x) == set(y)
        for name, value in x.items():
            if name in ("scores", "token_scores", "attention"):
                np.testing.assert_allclose(value, y[name], atol=1e-6)
            else:
                assert value == y[name]
    assert by_rest[0]["translations"] == ["2021-05-12"]
    assert by_rest[5]["translations"] == ["2024-02-29"]


@both_ways
def test_align_says_where_a_token_looked(server, way, capsys):
    (row,) = ask(server, way, ["12 May 2021"], align=True)
    letters = list("12 may 2021")
    assert row["source_tokens"] == ["<s>", *letters, "</s>"]
    assert row["target_tokens"] == [[*"2021-05-12", "</s>"]]
    assert np.shape(row["attention"]) == (1, 11, 13)
    assert re.search(r"'5' looks at 'm' \(\d+%\)", capsys.readouterr().out)


def test_by_rest_python_alone_is_enough(server):
    command = [sys.executable, "-I", "-S", FOLDER / "client.py", "2/29/24"]
    options = ["--rest", "--host", "127.0.0.1", "--port", str(server.rest)]
    printed = subprocess.check_output([*command, *options], text=True)
    assert "2024-02-29" in printed


@both_ways
def test_without_a_server_the_error_says_how_to_get_one(way):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        absent = SimpleNamespace(**{way: nobody.getsockname()[1]})
        with pytest.raises(client.ClientError, match=r"serve/README\.md"):
            ask(absent, way, ["1"])


@both_ways
def test_the_clients_repeat_what_the_server_refuses(server, way):
    with pytest.raises(client.ClientError, match=r"(404|NOT_FOUND).*nobody"):
        ask(server, way, ["1"], model="nobody")


def test_without_grpc_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)
    needed = r"keras-rnn-attention\[serving\]"
    with pytest.raises(client.ClientError, match=needed):
        client.main(["1"])
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = config["options.extras_require"]
    assert "tensorflow-serving-api" in extras["serving"]
    assert "serving" in re.search(r"\[(.*)\]", extras["all"])[1].split(",")


# What README shows.


@pytest.mark.parametrize("file", [FOLDER, ROOT / "saved_models"])
def test_the_requests_of_readme_are_answered(server, file):
    text = (file / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^curl .*(?:\n  .*)*", text, re.M)
    found = [x for x in found if "8080" not in x]  # of onnx_server.py
    for command in found:
        words = shlex.split(command)
        (url,) = (word for word in words if word.startswith("http://"))
        url = url.replace("localhost:8501", f"127.0.0.1:{server.rest}")
        body = words[words.index("-d") + 1].encode()
        with urllib.request.urlopen(url, body, timeout=20) as response:
            assert b"2024-02-29" in response.read()
    assert found


def test_the_client_lines_of_readme_work(server):
    lines = re.findall(r"^python examples/serve/client\.py (.*)", README, re.M)
    for line in lines:
        given = client.arguments(shlex.split(line))
        given["port"] = server.rest if given["rest"] else server.grpc
        given["host"] = "127.0.0.1"
        assert client.main(**given)[0]["translations"] == ["2021-05-12"]
    assert len(lines) == 3


def test_docker_mounts_what_the_config_names():
    command = re.search(r"^docker run (?:.*\\\n)*.*", README, re.M)[0]
    mounts = dict(re.findall(r'-v "\$PWD/(.*?):(.*?):ro"', command))
    config = model_server_config_pb2.ModelServerConfig()
    text_format.Parse((FOLDER / "model.config").read_text(), config)
    (model,) = config.model_config_list.config
    assert mounts["saved_models/dates"] == model.base_path
    (option,) = re.findall(r"--model_config_file=(\S+)", command)
    assert mounts["examples/serve/model.config"] == option
    assert all((ROOT / place).exists() for place in mounts)
    assert model.name == model.base_path.split("/")[-1] == "dates"
    assert model.model_version_policy.latest.num_versions == 1
    assert {"8500:8500", "8501:8501"} <= set(command.split())
