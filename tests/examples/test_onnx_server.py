"""examples/serve/onnx_server.py, in a process that has no TensorFlow."""

import configparser
import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("onnxruntime")

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples/serve/onnx_server.py"
FILE = ROOT / "saved_models/pronounce_en/pronounce.onnx"
ALONE = """
import runpy, sys
for name in ("tensorflow", "keras", "keras_attention"):
    sys.modules[name] = None
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
SAID = {"attention": "AH0 T EH1 N SH AH0 N", "cat": "K AE1 T"}
ECHO = """
<ir_version: 9, opset_import: ["" : 20]>
echo (string[B] text) => (string[B, 2] translations, float[B, 2] scores,
    string[B, T] source_tokens, string[B, 2, T] target_tokens,
    float[B, 2, T] token_scores, float[B, 2, T, T] attention) {
  one = Constant <value_ints = [1]> ()
  many = Unsqueeze (text, one)
  pair = Concat <axis = 1> (many, many)
  translations = Identity (pair)
  source_tokens, count = StringSplit <delimiter = " "> (text)
  more = Unsqueeze (source_tokens, one)
  target_tokens = Concat <axis = 1> (more, more)
  number = Cast <to = 1> (count)
  column = Unsqueeze (number, one)
  ranks = Constant <value_floats = [-0.5, -inf]> ()
  scores = Mul (column, ranks)
  shape = Shape (target_tokens)
  quarter = Constant <value_float = -0.25> ()
  token_scores = Expand (quarter, shape)
  side = Shape <start = 2> (target_tokens)
  square = Concat <axis = 0> (side, side)
  numbers = Expand (quarter, square)
  eye = EyeLike (numbers)
  whole = Concat <axis = 0> (shape, side)
  attention = Expand (eye, whole)
}
"""
SECONDS = 2.0  # of the server that is tried by slow clients
MEMORY = "process_resident_memory_bytes"
HEAD = b"POST /translate HTTP/1.1\r\nHost: here\r\n"


@contextlib.contextmanager
def onnx_server(*options):
    """Start a server on a free port, and end it by SIGTERM."""
    command = [sys.executable, "-c", ALONE, PROGRAM, "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            said = process.stdout.readline().decode()
            port = int(re.search(r"http://127.0.0.1:(\d+)$", said)[1])
            yield SimpleNamespace(port=port, process=process)
            process.terminate()
            assert process.wait(20) == 0, "it has to stop when it is told to"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server():
    with onnx_server("--threads", "1", "--letters", "100") as running:
        yield running


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """A server of a file that gives each text twice, and where it looked."""
    onnx = pytest.importorskip("onnx")
    file = tmp_path_factory.mktemp("served") / "echo.onnx"
    file.write_bytes(onnx.parser.parse_model(ECHO).SerializeToString())
    with onnx_server(str(file)) as running:
        yield running


@pytest.fixture(scope="module")
def strict():
    limits = {"seconds": SECONDS, "waiting": 3, "wait": 0.5}
    options = (f"--{name}={value}" for name, value in limits.items())
    with onnx_server(*options) as running:
        yield running


def send(server, path, body=None, **options):
    """Send a request; give the status and the body."""
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    ) as connection:
        method = "GET" if body is None else "POST"
        connection.request(method, path, body, **options)
        answer = connection.getresponse()
        return answer.status, answer.read()


def translate(server, *texts):
    status, body = send(server, "/translate", json.dumps({"texts": texts}))
    return status, json.loads(body)


def metrics(server):
    status, body = send(server, "/metrics")
    assert status == 200
    found = re.findall(r"(?m)^([^#\s]\S*) (\S+)$", body.decode())
    return {name: float(value) for name, value in found}


def connect(server, sent):
    client = socket.create_connection(("127.0.0.1", server.port), 20)
    client.sendall(sent)
    return client


def read_all(client):
    """Read until the server closes the connection."""
    with client, contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_it_says_what_the_file_says(server):
    status, found = translate(server, *SAID)
    assert status == 200
    assert found["translations"] == [[said] for said in SAID.values()]
    assert all(score < 0 for (score,) in found["scores"])
    status, said = send(server, "/health")
    wanted = {"status": "ok", "file": "pronounce.onnx", "aligns": True}
    assert (status, json.loads(said)) == (200, wanted)


def test_letters_that_the_model_has_not_seen_are_told(server):
    status, found = translate(server, "café", "cat", "日本本")
    assert status == 200
    assert found["unknown"] == [["é"], [], ["日", "本"]]
    assert "unknown" not in translate(server, "cat", "dog")[1]


def test_the_load_is_of_a_file_and_of_texts():
    program = PROGRAM.with_name("onnx_load.py")
    options = "--clients", "2", "--seconds", "0.5", "--options=--threads 1"
    done = subprocess.run(
        [sys.executable, program, FILE, "cat", "café", *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "café: the model has not seen é"
    assert re.match(r"\d+ answers, 0 lost, ", said[1])
    done = subprocess.run(
        [sys.executable, program, "cat", *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "cat" in done.stderr
    assert "did not start" in done.stderr


@pytest.mark.parametrize("name", ["onnx_server.py", "onnx_load.py"])
def test_help_says_what_each_option_does(name):
    command = [sys.executable, PROGRAM.with_name(name), "--help"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    options = re.findall(
        r"(?m)^  (?:--\w+|\w+)(?: \w+)?(.*(?:\n {10,}.*)?)", said
    )
    assert len(options) > 4
    for about in options:
        assert len(about.split()) > 1, said


def test_the_container_has_what_the_server_needs():
    """Its files, the packages of the extra, and a user who is not root."""
    said = PROGRAM.with_name("Dockerfile").read_text()
    said = said.replace("\\\n", "")
    files = re.search(r"(?m)^COPY (.*) \./$", said)[1].split()
    model = re.search(r"(?m)^ARG FILE=(\S+)$", said)[1]
    assert all((ROOT / file).is_file() for file in (*files, model))
    local = {path.name for path in PROGRAM.parent.glob("onnx_*")}
    assert {Path(file).name for file in files} == local - {"onnx_load.py"}
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extra = config["options.extras_require"]["onnx_server"].split()
    assert re.findall(r'"(\S+>=\S+)"', said) == extra
    user, start = re.search(
        r"(?s)^USER (\w+)$.*^ENTRYPOINT (.*)$", said, re.M
    ).groups()
    assert user != "root"
    assert json.loads(start)[1:3] == ["onnx_server.py", "model.onnx"]
    ignored = PROGRAM.with_name("Dockerfile.dockerignore").read_text()
    assert "\n*\n!examples/serve/onnx_*\n!**/*.onnx\n" in ignored


def test_attention_comes_where_it_is_asked_for(echo):
    question = {"texts": ["a b c", "", "日本 x"], "align": True}
    with ThreadPoolExecutor(2) as threads:
        body = json.dumps(question)
        aligned = threads.submit(send, echo, "/translate", body)
        plain = threads.submit(translate, echo, *question["texts"])
    status, found = aligned.result()[0], json.loads(aligned.result()[1])
    assert status == 200
    first = {name: x[0] for name, x in found.items()}
    assert first == {
        "translations": ["a b c"] * 2,
        "scores": [-1.5, None],
        "source_tokens": ["a", "b", "c"],
        "target_tokens": [["a", "b", "c"]] * 2,
        "token_scores": [[-0.25] * 3] * 2,
        "attention": [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]] * 2,
    }
    assert found["source_tokens"][1:] == [[], ["日本", "x"]]
    assert found["attention"][1:] == [[[], []], [[[1, 0], [0, 1]]] * 2]
    names = ("translations", "scores")
    assert plain.result() == (200, {name: found[name] for name in names})


def test_a_file_without_attention_says_so(tmp_path):
    onnx = pytest.importorskip("onnx")
    content = onnx.parser.parse_model(ECHO)
    del content.graph.output[2:]
    (tmp_path / "x.onnx").write_bytes(content.SerializeToString())
    with onnx_server(str(tmp_path / "x.onnx")) as plain:
        assert json.loads(send(plain, "/health")[1])["aligns"] is False
        question = b'{"texts": ["cat"], "align": true}'
        status, said = send(plain, "/translate", question)
    assert status == 400
    assert "onnx_align" in said.decode()


def test_any_text_is_answered(server):
    texts = ["", "\0", "日本", "é" * 100, "\U0010ffff x\n\t"]
    status, found = translate(server, *texts)
    assert status == 200
    assert [len(x) for x in found["translations"]] == [1] * len(texts)
    assert translate(server) == (200, {"translations": [], "scores": []})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "no JSON"),
        (b"\xff\xfe\xfa", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"1" * 5000, "no JSON"),
        (b"", "no JSON"),
        (b"null", "an object"),
        (b'["cat"]', "an object"),
        (b'{"text": "cat"}', "an object"),
        (b'{"texts": ["cat"], "n": 1}', "an object"),
        (b'{"texts": ["cat"], "align": 1}', "true or false"),
        (b'{"texts": "cat"}', "list of strings"),
        (b'{"texts": {"0": "cat"}}', "list of strings"),
        (b'{"texts": ["cat", 1]}', "1 is none"),
        (b'{"texts": [["cat"]]}', "0 is none"),
        (b'{"texts": ["cat", "\\ud800"]}', "1 has half a pair"),
        (json.dumps({"texts": ["a"] * 65}).encode(), "at most 64"),
        (json.dumps({"texts": ["a" * 101]}).encode(), "at most 100 letters"),
    ],
)
def test_what_it_cannot_read_is_told(server, body, said):
    status, answer = send(server, "/translate", body)
    assert status == 400
    assert said in json.loads(answer)["error"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/translate", None, 405), ("/health", "{}", 405), ("/else", None, 404)],
)
def test_other_paths_and_methods_are_told(server, path, body, status):
    found, answer = send(server, path, body)
    assert found == status
    assert json.loads(answer)["error"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_long_body_is_told_and_not_kept(server, chunked):
    body, size = b"[" * 10_000_000, len(b"[") * 10_000_000
    before = metrics(server)[MEMORY]
    for _ in range(3):
        content = iter([body[:65536]] * (size // 65536)) if chunked else body
        options = {"encode_chunked": True} if chunked else {}
        headers = {"Transfer-Encoding": "chunked"} if chunked else {}
        status, answer = send(
            server, "/translate", content, headers=headers, **options
        )
        assert status == 413
        assert "1000000 bytes" in json.loads(answer)["error"]
    assert metrics(server)[MEMORY] - before < size
    assert translate(server, "cat")[1]["translations"] == [["K AE1 T"]]


def test_many_at_once_are_joined_and_counted(server):
    before = metrics(server)
    words = [*SAID] * 30
    with ThreadPoolExecutor(len(words)) as threads:
        found = list(threads.map(lambda x: translate(server, x), words))
    for word, (status, answer) in zip(words, found, strict=True):
        assert status == 200
        assert answer["translations"] == [[SAID[word]]]
    after = metrics(server)
    names = {
        "requests": 'translate_requests_total{status="200"}',
        "timed": "translate_seconds_count",
        "texts": "translate_batch_texts_sum",
        "batches": "translate_batch_texts_count",
    }
    more = {x: after[name] - before[name] for x, name in names.items()}
    assert more["requests"] == more["timed"] == more["texts"] == len(words)
    assert more["batches"] < len(words)
    assert after["translate_waiting_texts"] == 0


def test_slow_clients_are_ended_and_others_served(strict):
    begun = time.monotonic()
    silent = [connect(strict, b"") for _ in range(20)]
    heads = [connect(strict, HEAD) for _ in range(20)]
    length = b"Content-Length: 30\r\n\r\n"
    bodies = [connect(strict, HEAD + length + b"{") for _ in range(20)]
    for client in heads:
        client.sendall(b"X-Slow: yes\r\n")
    assert translate(strict, "cat")[1]["translations"] == [["K AE1 T"]]
    assert time.monotonic() - begun < SECONDS + 1
    assert {read_all(client) for client in (*silent, *heads)} == {b""}
    # Each is told, and then owes the rest of its body.
    assert all(b"408 Request Timeout" in read_all(x) for x in bodies)
    assert time.monotonic() - begun > SECONDS


def wait_until_closed(client, sent):
    """Send again and again, until the server has ended the connection."""
    client.settimeout(0.5)
    end = time.monotonic() + 30 * SECONDS
    while time.monotonic() < end:
        try:
            client.sendall(sent)
            time.sleep(0.1)
        except TimeoutError:  # the server does not read
            pass
        except ConnectionError:
            return
    pytest.fail("the connection is still open")


def test_an_endless_body_ends(strict):
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    part = b"%x\r\n%b\r\n" % (2**20, b"[" * 2**20)
    with connect(strict, head + part) as client:
        assert b"413 Request" in client.recv(1000)
        wait_until_closed(client, b"1\r\n[\r\n")


def test_an_answer_that_nobody_reads_ends(strict):
    requests = b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n" * 100
    with socket.socket() as client:
        # Before it connects: a buffer that shrinks later goes on taking bytes.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", strict.port))
        client.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            while True:  # until nothing goes through any more
                client.sendall(requests)
        wait_until_closed(client, requests)


def test_too_many_are_told(strict):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: translate(strict, "cat"), range(8)))
    codes = [status for status, _ in found]
    assert {*codes} == {200, 503}
    assert codes.count(200) >= 3
    assert all("wait" in x["error"] for code, x in found if code == 503)


def test_a_stop_answers_what_waits():
    texts = [*SAID] * 4
    with (
        onnx_server("--wait", "2") as server,
        ThreadPoolExecutor(8) as threads,
    ):
        answers = [threads.submit(translate, server, text) for text in texts]
        while metrics(server)["translate_waiting_texts"] < len(texts):
            assert not any(answer.done() for answer in answers)
        server.process.terminate()
        for text, answer in zip(texts, answers, strict=True):
            assert answer.result()[1]["translations"] == [[SAID[text]]]
        assert server.process.wait(20) == 0


def test_a_file_that_is_none_is_told(tmp_path):
    command = [sys.executable, PROGRAM, tmp_path / "x.onnx"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode
    assert "x.onnx" in done.stderr
