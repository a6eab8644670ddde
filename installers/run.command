#!/bin/sh
# macOS opens a file of this name in a terminal when it is double-clicked; run.sh beside it does the work.
exec "$(dirname -- "$0")/run.sh" "$@"
