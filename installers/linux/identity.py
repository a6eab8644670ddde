"""Under which names the packages go out. Whoever publishes them changes these, and nothing else."""

from __future__ import annotations

APP_ID = "io.github.clover_gui.CloverGui"
"""For AppStream and Flatpak. The desktop file and the icons have the program's own name."""

DEVELOPER_ID = "io.github.clover_gui"

DESKTOP_ID = "clover-gui.desktop"

MAINTAINER = "Clover developers <packages@clover-gui.invalid>"
"""Nobody reads mail at this address; a package has to have one."""
