"""The helpers of module 13's tests, whose folder no import statement can name."""
import importlib

_support = importlib.import_module("..13_transformers.support", __package__)


def __getattr__(name): return getattr(_support, name)
