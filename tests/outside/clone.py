"""A clone of a repository, bare or with a work tree, that is only read."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path


class Clone:
    """Files of a commit, read from the objects of git: nothing is checked out."""

    def __init__(self, path: Path, commit: str = "HEAD") -> None:
        self.path, self.commit = path, commit

    def at(self, commit: str) -> Clone:
        return Clone(self.path, commit)

    def files(self, pattern: str = "*") -> list[str]:
        """Paths that a pattern fits, in order; `*` goes over folders too."""
        names = self._git("ls-tree", "-r", "-z", "--name-only", "--full-tree", self.commit).decode().split("\0")
        return sorted(name for name in names if name and fnmatchcase(name, pattern))

    def read(self, path: str) -> bytes:
        return self._git("cat-file", "blob", f"{self.commit}:{path}")

    def read_each(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Paths with what is in them, in their order, read by one process; None for a file that the clone lacks.

        A clone may list files without having them: one that was filtered, or cut down to files of some size.
        """
        command = ["git", "-C", str(self.path), "cat-file", "--batch"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None
            for path in paths:
                process.stdin.write(f"{self.commit}:{path}\n".encode())
                process.stdin.flush()
                # git-cat-file(1): `OBJECT TYPE SIZE`, the content, a newline; `NAME missing` where there is none
                told = process.stdout.readline().split()
                is_missing = told[-1] == b"missing"
                yield path, None if is_missing else process.stdout.read(int(told[-1]) + 1)[:-1]

    def extract(self, path: str, folder: Path) -> Path:
        """A file that tools can be given."""
        target = folder / Path(path).name
        target.write_bytes(self.read(path))
        return target

    def versions(self, *patterns: str) -> list[tuple[str, str]]:
        """Objects of files in all of the history whose paths a pattern fits, each once, with one of its paths."""
        log = self._git(
            "log", "--all", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames", "-z", "--", *patterns
        )
        fields = log.decode().split("\0")
        found = {entry.split()[3]: path for entry, path in zip(fields[::2], fields[1::2], strict=False)}
        # snapshots lack their largest files, and what was deleted has the object 0
        have = self._git("cat-file", "--batch-check", standard_input="".join(f"{it}\n" for it in found).encode())
        ids = [line.split()[0] for line in have.decode().splitlines() if line.split()[1] == "blob"]
        return sorted((found[it], it) for it in ids)

    def read_object(self, name: str) -> bytes:
        return self._git("cat-file", "blob", name)

    def _git(self, *arguments: str, standard_input: bytes = b"") -> bytes:
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, input=standard_input).stdout
