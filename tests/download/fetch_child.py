"""A download in a process of its own, to be killed. Arguments: endpoint, folder, name of the file."""

from __future__ import annotations

import sys
from pathlib import Path

from clover_gui.download.control import Control
from clover_gui.download.hub_settings import HubSettings
from clover_gui.download.manager import DownloadManager
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Status
from tests.kit.fake_hub import REPOSITORY


def main() -> int:
    endpoint, folder, name = sys.argv[1:4]
    policy = TransferPolicy(chunk_bytes=1 << 20, sync_bytes=4 << 20, report_interval_s=0.0)
    manager = DownloadManager(Path(folder), HubSettings(endpoint), policy)

    def tell(status: Status) -> None:
        print(status.phase.value, status.done_bytes, flush=True)

    print(manager.fetch(manager.hub.find(REPOSITORY, name), Control(), tell).path, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
