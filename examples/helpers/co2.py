"""Monthly CO2 on Mauna Loa, windows of it, and forecasts by other means.

The series is the one that statsmodels ships: weekly means from March 1958 to
December 2001, here averaged by month. The few months without a measurement lie
before 1965, and are filled in along a line.

A forecast is an array `(N, steps, 3)`: for each origin, which is the number of
months known, and for each month after it the quantiles 0.1, 0.5 and 0.9.
"""

import numpy as np

from keras_attention.extras import require

YEAR = 12
QUANTILES = 0.1, 0.5, 0.9
CALLER = "forecast.py"


def monthly() -> tuple[np.ndarray, np.ndarray]:
    """Read the series: months `(N,)` as dates, and values `(N,)` in ppm."""
    co2 = require("statsmodels.datasets.co2", "forecast", CALLER)
    weekly = co2.load_pandas().data["co2"]
    means = weekly.resample("MS").mean().interpolate()
    return means.index.values.astype("datetime64[M]"), means.to_numpy()


def windows(
    values: np.ndarray, origins: np.ndarray, past: int, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cut the months before each origin, and those after it.

    Args:
        values: The series `(N,)`.
        origins: Numbers of months known, `(B,)`.
        past: Number of months before an origin.
        steps: Number of months after it.

    Returns:
        Values `(B, past)` and `(B, steps)`.
    """
    origins = np.asarray(origins)[:, None]
    before = values[origins + np.arange(-past, 0)]
    return before, values[origins + np.arange(steps)]


def tilted(
    before: np.ndarray, after: np.ndarray, copies: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Repeat windows, each time stretched and tilted at random.

    The growth of CO2 has never been as fast as in the months that will be
    tested. So a model should not learn it by heart: each copy is stretched by
    up to a quarter, and tilted by up to 1.2 ppm a year.
    """
    random = np.random.default_rng(seed)
    both = np.tile(np.concatenate([before, after], axis=1), (copies, 1))
    level = both[:, [before.shape[1] - 1]]
    months = np.arange(both.shape[1]) - before.shape[1] + 1
    stretch = random.uniform(0.8, 1.25, level.shape)
    tilt = random.uniform(-0.1, 0.1, level.shape)
    both = level + stretch * (both - level) + tilt * months
    return tuple(np.split(both, [before.shape[1]], axis=1))


def last_season(
    values: np.ndarray, origins: np.ndarray, steps: int, grow: bool = False
) -> np.ndarray:
    """Forecast that each month is as the same month of the last known year.

    Args:
        values: The series `(N,)`.
        origins: Numbers of months known, `(B,)`.
        steps: Number of months to forecast.
        grow: Whether to add the growth of the last year, once for each year.

    Returns:
        Values `(B, steps)`.
    """
    origins, ahead = np.asarray(origins)[:, None], np.arange(steps)
    years = ahead // YEAR + 1
    forecast = values[origins + ahead - YEAR * years]
    growth = values[origins - 1] - values[origins - 1 - YEAR]
    return forecast + years * growth if grow else forecast


def with_quantiles(
    values: np.ndarray, trained: int, origins: np.ndarray, steps: int, **options
) -> np.ndarray:
    """Forecast by `last_season`, with the quantiles of its earlier errors.

    They are widened, if need be, so that the forecast lies between them.

    Args:
        values: The series `(N,)`.
        trained: Number of months whose errors are known.
        origins: Numbers of months known, `(B,)`.
        steps: Number of months to forecast.
        **options: Options of `last_season`.

    Returns:
        Quantiles `(B, steps, 3)`.
    """
    known = np.arange(2 * YEAR, trained - steps + 1)
    truth = windows(values, known, 0, steps)[1]
    errors = truth - last_season(values, known, steps, **options)
    low, high = np.quantile(errors, QUANTILES[::2], axis=0)
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    middle = last_season(values, origins, steps, **options)
    return np.stack([middle + low, middle, middle + high], axis=-1)


def exponential_smoothing(
    values: np.ndarray, trained: int, origins: np.ndarray, steps: int
) -> np.ndarray:
    """Forecast by the ETS model of statsmodels: level, trend and season.

    Its parameters are fitted to the first `trained` months. At each origin it
    has smoothed all months before.

    Args:
        values: The series `(N,)`.
        trained: Number of months that the parameters are fitted to.
        origins: Numbers of months known, `(B,)`.
        steps: Number of months to forecast.

    Returns:
        Quantiles `(B, steps, 3)`.
    """
    name = "statsmodels.tsa.exponential_smoothing.ets"
    ets = require(name, "forecast", CALLER)
    series = require("pandas", "forecast", CALLER).Series(values)

    def model(count):
        known = series[:count]
        return ets.ETSModel(
            known, trend="add", seasonal="add", seasonal_periods=YEAR
        )

    parameters = model(trained).fit(disp=False).params
    forecasts = []
    for origin in origins:
        smoothed = model(origin).smooth(parameters)
        found = smoothed.get_prediction(origin, origin + steps - 1)
        middle = np.asarray(found.predicted_mean)
        low, high = np.asarray(found.pred_int(alpha=2 * QUANTILES[0])).T
        forecasts.append(np.stack([low, middle, high], axis=-1))
    return np.stack(forecasts)


def scores(
    forecast: np.ndarray, truth: np.ndarray, scale: float
) -> dict[str, float]:
    """Compare a forecast with what came.

    Args:
        forecast: Quantiles `(B, steps, 3)`.
        truth: Values `(B, steps)`.
        scale: What one unit of MASE is.

    Returns:
        Errors of the median in the first year, in the second, and relative
        to `scale`; the pinball loss, averaged over the quantiles; the share
        of months between the outer quantiles.
    """
    low, middle, high = np.moveaxis(forecast, -1, 0)
    errors = np.abs(middle - truth)
    above = truth[..., None] - forecast
    shares = np.array(QUANTILES)
    pinball = np.maximum(shares * above, (shares - 1) * above)
    return {
        "MAE year 1": float(errors[:, :YEAR].mean()),
        "year 2": float(errors[:, YEAR:].mean()),
        "MASE": float(errors.mean() / scale),
        "pinball": float(pinball.mean()),
        "inside": float(((low <= truth) & (truth <= high)).mean()),
    }
