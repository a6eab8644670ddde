#!/bin/sh
# Takes away what install.sh brought. Chats, settings and models stay where they are.
set -eu
here=$(dirname "$(readlink -f "$0")")
prefix=$(dirname "$(dirname "$here")")

refresh() {
    # Menus and file types are read again; where these tools are missing, the desktop does it by itself.
    update-desktop-database -q "$1/share/applications" 2>/dev/null || true
    if [ -d "$1/share/mime/packages" ]; then
        update-mime-database "$1/share/mime" 2>/dev/null || true
    fi
    gtk-update-icon-cache -q -f -t "$1/share/icons/hicolor" 2>/dev/null || true
}

if [ "${1:-}" = --refresh ]; then
    refresh "$2"
    exit 0
fi
if [ "$here" != "$prefix/lib/clover-gui" ]; then
    echo "This folder was not made by install.sh; there is nothing to take away." >&2
    exit 1
fi
for data in "$here/clover-data" "$here/program/clover-data"; do
    if [ -d "$data" ]; then
        echo "Chats and models lie in $data. Move that folder away first, or remove it, then start again." >&2
        exit 1
    fi
done
(cd "$here/share" && find . -type f) | while IFS= read -r file; do
    rm -f "$prefix/share/$file"
    # Folders that are empty now; those that others use stay.
    (cd "$prefix/share" && rmdir -p "$(dirname "$file")" 2>/dev/null) || true
done
if [ "$(readlink "$prefix/bin/clover-gui" 2>/dev/null)" = "$here/clover-gui.sh" ]; then
    rm -f "$prefix/bin/clover-gui"
fi
rm -rf "$here"
rmdir "$prefix/lib" "$prefix/bin" 2>/dev/null || true
refresh "$prefix"
echo "Clover is removed. Chats and models are still in ${XDG_DATA_HOME:-$HOME/.local/share}/clover-gui"
