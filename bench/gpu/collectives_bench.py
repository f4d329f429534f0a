"""Collectives of the library among 2, 4 and 8 ranks on one GPU, beside CUDA by hand, device copies and NVSHMEM.

    python bench/gpu/collectives_bench.py build DIR           # anywhere: bundles, of each collective and algorithm
    python bench/gpu/collectives_bench.py run DIR [RANKS...]  # where the GPU is: Python, NumPy, nvcc, MPS, bundles

A rank is a process with its share of the GPU under MPS. A size is that of the larger one of a rank's two arrays, what
it sends and what it ends with, as NCCL's tests count it. All arrays are in memory that all ranks map, of ours in the
symmetric heap. Calls are captured in a graph of CUDA, so that no host is in their time; a sample is some calls one
after the other on all ranks, from when the last rank begins to when the last one has ended. All take samples in turn;
times are medians. Results are compared with NumPy before and after. NVSHMEM takes part where its library is found.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from contenders import (
    BUFFER_BYTES,
    TIMEOUT_SECONDS,
    ByHand,
    Case,
    Nvshmem,
    OurWork,
    Place,
    SharedWorld,
    Work,
    find_nvshmem,
)
from run import Mps

RANKS = 2, 4, 8
KINDS = "all_gather", "broadcast", "all_to_all", "reduce_scatter", "all_reduce"
SMALL, LARGE = 128, BUFFER_BYTES
MOST_CALLS, SAMPLE_SECONDS = 500, 0.003
"""Of a sample: as many as take so long, but one at least."""
SAMPLES = 15
WANTED_BANDWIDTH, WANTED_LATENCY = 0.90, 1.10
BY_HAND = (1, 2), (1, 4), (2, 2), (2, 8), (4, 4)
"""How what is written by hand runs: blocks on a multiprocessor, and vectors that a lane has on their way."""
LARGE_CTAS = 128
"""Blocks of NVSHMEM's collectives, of all ranks together."""
PROBE_SECONDS = 40


def build(folder: Path) -> None:
    """Bundles for sm_90."""
    from python_programs import compile_bundle

    from tilewright.air.library.collectives import PROGRAMS, REDUCING

    folder.mkdir(parents=True, exist_ok=True)
    for algorithm, program in PROGRAMS.items():
        for kind in KINDS:
            # what is only moved are words, as in the library
            array = np.zeros((4, 4), np.float32 if kind in REDUCING else np.uint32)
            source = folder / f"{kind}_{algorithm}.mlir"
            options = program.options(backend="cuda", chip="sm_90", wave_size=32)
            source.write_text(options.mlir(array, array, 0, kind=kind, operation="sum"))
            compile_bundle(source, source.with_suffix(""), program.function.__name__, "sm_90")


class Row:
    """Calls of one contender, captured in a graph, and how long each took."""

    def __init__(self, work: Work):
        self.work, self.samples = work, list[float]()
        self.calls, self._graph = 1, work.place.driver.graph(work.place.stream, work.enqueue)
        # the first one brings everything to its place
        self._seconds()
        wanted = int(SAMPLE_SECONDS / self._seconds())
        self.close()
        self.calls = max(1, min(MOST_CALLS, wanted))
        self._graph = work.place.driver.graph(work.place.stream, self._enqueue)
        self._seconds()

    def _enqueue(self) -> None:
        for _ in range(self.calls):
            self.work.enqueue()

    def take_sample(self) -> None:
        self.samples.append(self._seconds())

    def _seconds(self) -> float:
        """Of a call, the same on all ranks: from when the last one begins to when the last one has ended."""
        place = self.work.place
        place.world.barrier()
        begin = time.monotonic()
        place.driver.call("cuGraphLaunch", self._graph, place.stream)
        place.wait()
        times = place.world.exchange(np.array([begin, time.monotonic()]).tobytes())
        begins, ends = zip(*(np.frombuffer(data) for data in times), strict=True)
        return (max(ends) - max(begins)) / self.calls

    def close(self) -> None:
        self.work.place.driver.call("cuGraphExecDestroy", self._graph)


class Contest:
    """All that take part, on one rank."""

    def __init__(self, place: Place, nvshmem: Nvshmem | None):
        self.place, self.nvshmem = place, nvshmem
        self.by_hand = ByHand(place)

    def works(self, case: Case) -> dict[str, Work]:
        """By name."""
        algorithm = "line" if case.size == SMALL else "bandwidth"
        made: dict[str, Callable[[], Work | None]] = {
            "ours": partial(OurWork, self.place, case, self.place.folder / f"{case.kind}_{algorithm}"),
            "copies": partial(self.by_hand.copies, case),
        }
        if case.size == SMALL:
            made["by hand"] = partial(self.by_hand.small, case)
        else:
            made |= {f"by hand, {b} x {d}": partial(self.by_hand.large, case, b, d) for b, d in BY_HAND}
        if self.nvshmem is not None:
            made["NVSHMEM"] = partial(self.nvshmem.work, case)
        works = {name: make() for name, make in made.items()}
        return {name: work for name, work in works.items() if work is not None}

    def times(self, case: Case) -> dict[str, float]:
        """Seconds of a call of each that gives the right result, on rank 0."""
        works, sent, rank = self.works(case), case.sent(), self.place.world.rank
        given, wanted = sent[rank].copy(), case.wanted(sent, rank).copy()
        right = self._right(works, given, wanted)
        for name in [name for name in works if name not in right]:
            self._say(f"{case}: {name} is WRONG")
        rows = {name: Row(works[name]) for name in right}
        for _ in range(SAMPLES):
            for row in rows.values():
                row.take_sample()
        after = self._right({name: works[name] for name in right}, given, wanted)
        for name in right:
            if name not in after:
                self._say(f"{case}: {name} is WRONG afterwards")
        for row in rows.values():
            row.close()
        for work in works.values():
            work.close()
        return {name: statistics.median(rows[name].samples) for name in after}

    def _right(self, works: dict[str, Work], given: np.ndarray, wanted: np.ndarray) -> list[str]:
        found = list[str]()
        for name, work in works.items():
            verdict = work.check(given, wanted)
            if all(data == b"\1" for data in self.place.world.exchange(bytes([verdict]))):
                found.append(name)
        return found

    def _say(self, text: str) -> None:
        if self.place.world.rank == 0:
            print(text, flush=True)


def on_ranks(ranks: int, seconds: float, body: Callable[[SharedWorld], None]) -> bool:
    """Run `body` in so many processes with shares of the GPU; whether all ended well."""
    memory = mmap.mmap(-1, SharedWorld.SLOT * (ranks + 1))
    pids = [_start(lambda rank=rank: body(SharedWorld(rank, ranks, memory))) for rank in range(ranks)]
    end, left, fine = time.monotonic() + seconds, set(pids), True
    while left and fine and time.monotonic() < end:
        for pid in list(left):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                left.remove(pid)
                fine = fine and status == 0
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return fine and not left


def _start(body: Callable[[], None]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        body()
        status = 0
    finally:
        if status:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)


def usable_nvshmem(ranks: int, folder: Path) -> Path | None:
    """NVSHMEM's library, if it is there and works with so many ranks."""
    library = find_nvshmem()
    if library is None:
        print("NVSHMEM: not found")
        return None
    probe = partial(probe_nvshmem, folder=folder, library=library)
    return library if on_ranks(ranks, PROBE_SECONDS, probe) else None


def probe_nvshmem(world: SharedWorld, folder: Path, library: Path) -> None:
    """That it begins, reduces, and lets itself be captured."""
    place = Place(world, folder)
    work = Nvshmem(place, library).work(Case("all_reduce", SMALL, world.size))
    sent = work.case.sent()
    right = work.check(sent[world.rank], work.case.wanted(sent, world.rank))
    graph = place.driver.graph(place.stream, work.enqueue)
    place.driver.call("cuGraphLaunch", graph, place.stream)
    place.wait()
    if world.rank == 0:
        print(f"NVSHMEM, {world.size} ranks on a GPU: its sum is {'right' if right else 'WRONG'}", flush=True)


def contest(world: SharedWorld, folder: Path, library: Path | None, size: int, results: Path) -> None:
    """Time everything of a size on one rank; rank 0 writes what was found."""
    place = Place(world, folder)
    taking_part = Contest(place, None if library is None else Nvshmem(place, library))
    for kind in KINDS:
        found = taking_part.times(Case(kind, size, world.size))
        if world.rank == 0:
            with results.open("a") as file:
                print(json.dumps([kind, size, world.size, found]), file=file)
            shown = ", ".join(f"{name} {_shown(size, seconds)}" for name, seconds in found.items())
            print(f"{kind}, {world.size} ranks, {_size(size)}: {shown}", flush=True)


def _size(size: int) -> str:
    return f"{size} B" if size < 1 << 20 else f"{size >> 20} MiB"


def _shown(size: int, seconds: float) -> str:
    return f"{1e6 * seconds:.2f} us" if size == SMALL else f"{size / seconds / 1e9:.0f} GB/s"


def run(folder: Path, chosen: Sequence[int]) -> None:
    """Everything, and a table."""
    if not (folder / "collectives.cubin").is_file():
        source = Path(__file__).with_suffix("").with_name("collectives.cu")
        options = ["-arch=sm_90", "-O3", "-std=c++17", "-cubin", "-o", str(folder / "collectives.cubin")]
        subprocess.run(["nvcc", *options, str(source)], check=True)
    results = folder / "results.jsonl"
    results.unlink(missing_ok=True)
    for ranks in chosen:
        # NVSHMEM synchronizes ranks of a GPU where their shares of it are at most all of it
        os.environ["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(100 // ranks)
        os.environ |= {"NVSHMEM_DISABLE_NCCL": "1", "NVSHMEM_REMOTE_TRANSPORT": "none"}
        os.environ |= {"NVSHMEM_SYMMETRIC_SIZE": str(4 * BUFFER_BYTES), "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "lo"}
        with Mps():
            usable = usable_nvshmem(ranks, folder)
            for size in (SMALL, LARGE):
                # one block unless it is told otherwise; for much data it gets as many as there is room for
                os.environ["NVSHMEM_MAX_CTAS"] = "1" if size == SMALL else str(LARGE_CTAS // ranks)
                work = partial(contest, folder=folder, size=size, results=results)
                for taken in dict.fromkeys((usable, None)):
                    if on_ranks(ranks, TIMEOUT_SECONDS, partial(work, library=taken)):
                        break
                    print(f"{ranks} ranks, {_size(size)}: FAILED {'with' if taken else 'without'} NVSHMEM", flush=True)
    show([json.loads(line) for line in results.read_text().splitlines()])


def show(rows: Sequence[tuple[str, int, int, dict[str, float]]]) -> None:
    """Ours beside the best of the others."""
    print("\ncollective       ranks  size    ours         best of the others             ratio")
    for kind, size, ranks, found in rows:
        others = {name: seconds for name, seconds in found.items() if not name.startswith("ours")}
        ours = found.get("ours")
        if ours is None or not others:
            continue
        name, best = min(others.items(), key=lambda item: item[1])
        ratio = ours / best if size == SMALL else best / ours
        fine = ratio <= WANTED_LATENCY if size == SMALL else ratio >= WANTED_BANDWIDTH
        wanted = f"wanted <= {WANTED_LATENCY:.2f}" if size == SMALL else f"wanted {WANTED_BANDWIDTH:.2f}"
        verdict = f"{wanted}: {'yes' if fine else 'NO'}"
        print(
            f"{kind:16} {ranks:5}  {_size(size):6}  {_shown(size, ours):11}  {name:18} {_shown(size, best):11} "
            f"{ratio:.2f}  {verdict}"
        )


if __name__ == "__main__":
    place_of_bundles = Path(sys.argv[2])
    if sys.argv[1] == "build":
        build(place_of_bundles)
    else:
        run(place_of_bundles, [int(given) for given in sys.argv[3:]] or RANKS)
