#!/bin/sh
# A double click (or ./run.sh) sets Clover up and starts it; run.py beside this file does the work.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 20
for python in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$python" "$here/run.py" "$@"
    fi
done
echo "Python 3.11 or newer is needed. Install it (package manager, python.org), then start this again." >&2
exit 20
