"""Bring a model file here: list it at the hub, transfer, check, keep a receipt. Knows nothing of Qt."""
