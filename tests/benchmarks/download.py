"""Throughput of a download with its checksum, against the hub library's own download of the same file.

    python -m tests.benchmarks.download [--size-mb 1024] [--rounds 3] [--kills 5] [--folder DIR]

The hub is a fake one on loopback in a process of its own; each download is a fresh process, and the two ways
take turns. The library does not check the hash; ours does, while it writes. Afterwards the same file is
fetched with a process that is killed some times at random. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.kit.fake_hub import REPOSITORY, FakeHub

NAME = "bench-Q4_K_M.gguf"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-mb", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where files are served from and written to")
    parser.add_argument("--child", choices=("ours", "library"), help=argparse.SUPPRESS)
    parser.add_argument("--endpoint", help=argparse.SUPPRESS)
    wishes = parser.parse_args()
    if wishes.child:
        seconds = _ours(wishes.endpoint, wishes.folder) if wishes.child == "ours" else _library(wishes.folder)
        print(json.dumps({"seconds": seconds, "processor_s": time.process_time()}))
        return 0
    with tempfile.TemporaryDirectory(dir=wishes.folder) as work:
        figures = compare(Path(work), wishes.size_mb << 20, wishes.rounds)
        figures |= killed(Path(work), wishes.kills) if wishes.kills else {}
        print(json.dumps(figures, indent=2))
    return 0


def compare(work: Path, size_bytes: int, rounds: int) -> dict[str, float]:
    """Median of each way, in MB/s, and their ratio."""
    source = work / "hub"
    source.mkdir()
    with (source / NAME).open("wb") as file:
        file.write(b"GGUF")
        left = size_bytes - 4
        while left:
            left -= file.write(os.urandom(min(left, 16 << 20)))
    hub = subprocess.Popen(
        [sys.executable, "-m", "tests.kit.fake_hub", str(source)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert hub.stdin is not None
    assert hub.stdout is not None
    endpoint = hub.stdout.readline().strip()
    seconds: dict[str, list[float]] = {"ours": [], "library": []}
    processor: dict[str, list[float]] = {"ours": [], "library": []}
    try:
        for _round in range(rounds):
            for way in ("library", "ours"):
                target = work / way
                found = _child(way, endpoint, target)
                seconds[way].append(found["seconds"])
                processor[way].append(found["processor_s"])
                shutil.rmtree(target)
    finally:
        hub.stdin.close()
        hub.wait()
        hub.stdout.close()
    speed = {way: size_bytes / statistics.median(times) / (1 << 20) for way, times in seconds.items()}
    return {
        "size_mb": size_bytes >> 20,
        "ours_with_hash_mb_per_s": round(speed["ours"], 1),
        "library_without_hash_mb_per_s": round(speed["library"], 1),
        "ratio": round(speed["ours"] / speed["library"], 2),
        "ours_processor_s": round(statistics.median(processor["ours"]), 2),
        "library_processor_s": round(statistics.median(processor["library"]), 2),
    }


def killed(work: Path, kills: int) -> dict[str, float]:
    """Kill the fetching process at random moments; the share of bytes that were fetched twice."""
    size = (work / "hub" / NAME).stat().st_size
    target = work / "killed"
    with FakeHub(work / "hub") as hub:
        hub.rate = 100 << 20
        for kill in range(kills):
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.download.fetch_child", hub.endpoint, str(target), NAME],
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdout is not None
            wanted = size * (kill + random.random()) / (kills + 1)
            for line in process.stdout:
                phase, _space, done = line.strip().partition(" ")
                if phase == "downloading" and int(done) >= wanted:
                    break
            process.kill()
            process.wait()
            process.stdout.close()
        _child("ours", hub.endpoint, target)
        starts = [asked.first for asked in hub.file_requests()]
        right = hub.sha256(target / NAME) == hub.sha256(work / "hub" / NAME)
        return {
            "kills": len(starts) - 1,
            "started_from_zero": starts[1:].count(0),
            "hash_right": float(right),
            "fetched_twice_percent": round(100 * (hub.sent_bytes() - size) / size, 2),
        }


def _child(way: str, endpoint: str, target: Path) -> dict[str, float]:
    environment = os.environ | {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "tests.benchmarks.download", "--child", way]
    done = subprocess.run(
        [*command, "--endpoint", endpoint, "--folder", str(target)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _ours(endpoint: str, folder: Path) -> float:
    from clover_gui.download.control import Control
    from clover_gui.download.hub_settings import HubSettings
    from clover_gui.download.manager import DownloadManager

    manager = DownloadManager(folder, HubSettings(endpoint))
    source = manager.hub.find(REPOSITORY, NAME)
    start = time.perf_counter()
    manager.fetch(source, Control(), lambda status: None)
    return time.perf_counter() - start


def _library(folder: Path) -> float:
    from huggingface_hub import hf_hub_download, model_info

    model_info(REPOSITORY)
    start = time.perf_counter()
    hf_hub_download(REPOSITORY, NAME, local_dir=folder)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
