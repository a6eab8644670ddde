"""Clover: chat with a strong local model after a double click."""

from __future__ import annotations

__version__ = "0.1.0"
