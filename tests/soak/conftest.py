"""The options of `pytest tests/soak --minutes 60 --builds 50`."""


def pytest_addoption(parser):
    parser.addoption(
        "--minutes",
        type=float,
        default=None,
        help="How long the soak lasts. Without it there is none.",
    )
    parser.addoption(
        "--builds",
        type=int,
        default=None,
        help="How many models to build and drop. Without it there are none.",
    )
