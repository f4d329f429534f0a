"""stub"""

from typing import Any

FOLDERS: dict[str, Any] = {}
PATTERNS: dict[str, Any] = {}
