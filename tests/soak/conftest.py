"""The option of `pytest tests/soak --thorough --minutes 60`."""


def pytest_addoption(parser):
    parser.addoption(
        "--minutes",
        type=float,
        default=2.0,
        help="How long the soak lasts. Defaults to 2.",
    )
