"""The option `--minutes` of `pytest tests/soak --minutes 60`."""


def pytest_addoption(parser):
    parser.addoption(
        "--minutes",
        type=float,
        default=None,
        help="How long the soak lasts. Without it there is none.",
    )
