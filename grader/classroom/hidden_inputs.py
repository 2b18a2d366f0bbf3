"""Derive the hidden inputs of a class from the secret of its course.

The secret is made once and stays where results are kept. A judge gets the keys of rounds only, from
which neither the secret nor another round's inputs follow. A round's name is a number, which
anybody may know.
"""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

SIZE = 32  # bytes of a secret
OPEN = "others on this machine can read or replace {}: `chmod o-rwx` its folder, or use your own"


def new_secret() -> bytes:
    """Return a secret that nobody can guess."""
    return secrets.token_bytes(SIZE)


def derive_key(secret: bytes, name: int | str) -> str:
    """Return the key of a round's hidden inputs, 64 hexadecimal digits."""
    return hmac.new(secret, f"round {name}".encode(), hashlib.sha256).hexdigest()


def prove(secret: bytes) -> str:
    """Return a text by which the secret can be recognised, and which does not give it away."""
    return hmac.new(secret, b"proof", hashlib.sha256).hexdigest()[:16]


def find_open(file: Path) -> str:
    """Return a sentence if everybody on this machine can read or replace a file, else ""."""
    folder = file.parent.stat().st_mode
    is_read = folder & stat.S_IXOTH and file.stat().st_mode & stat.S_IROTH
    return OPEN.format(file) if os.name == "posix" and (is_read or folder & stat.S_IWOTH) else ""
