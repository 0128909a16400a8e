"""Options of `pytest tests/soak --thorough --minutes 60 --builds 50`."""


def pytest_addoption(parser):
    parser.addoption(
        "--minutes",
        type=float,
        default=2.0,
        help="How long the soak lasts. Defaults to 2.",
    )
    parser.addoption(
        "--builds",
        type=int,
        default=None,
        help="How many models to build and drop. Without it there are none.",
    )
