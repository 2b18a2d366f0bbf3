"""Hypothesis, which tries the same examples every time, and keeps none."""

from hypothesis import HealthCheck, given, settings

__all__ = ["given", "settings"]

settings.register_profile(
    "kit",
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("kit")
