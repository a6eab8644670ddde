#!/bin/sh
# Starts the program in the folder "program" beside this file. When libraries of the system are missing, the
# program says which on the terminal; where nobody sees one, the sentence is shown in a window instead.
set -u
here=$(dirname "$(readlink -f "$0")")
program=$here/program/clover-gui
# Portable: a folder of this name beside this file takes everything in.
if [ -z "${CLOVER_DATA_DIR:-}" ] && [ -d "$here/clover-data" ]; then
    export CLOVER_DATA_DIR="$here/clover-data"
fi

if [ -t 2 ] || ! said=$(mktemp 2>/dev/null); then
    exec "$program" "$@"
fi
trap 'rm -f "$said"' EXIT
"$program" "$@" 2>"$said"
code=$?
cat "$said" >&2
if [ "$code" -eq 3 ]; then
    text=$(cat "$said")
    if command -v zenity >/dev/null 2>&1; then
        zenity --error --no-markup --title=Clover --text="$text"
    elif command -v kdialog >/dev/null 2>&1; then
        kdialog --title Clover --error "$text"
    elif command -v xmessage >/dev/null 2>&1; then
        xmessage -center "$text"
    elif command -v notify-send >/dev/null 2>&1; then
        notify-send Clover "$text"
    fi
fi
exit "$code"
