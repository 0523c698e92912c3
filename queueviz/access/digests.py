"""Digests of secrets: a stored digest does not give its secret away."""

import hashlib


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
