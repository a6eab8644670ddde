#!/bin/sh
# Installs Clover for the person who runs this: no administrator's rights are needed, nothing else is touched.
#   ./install.sh               into ~/.local
#   PREFIX=/somewhere ./install.sh
# Running it again replaces the program. uninstall.sh takes it away; chats and models stay.
set -eu
here=$(dirname "$(readlink -f "$0")")
prefix=${PREFIX:-$HOME/.local}
target=$prefix/lib/clover-gui
share=$prefix/share

# The new program lies complete beside the old one before that is replaced.
mkdir -p "$prefix/lib" "$prefix/bin"
rm -rf "$target.new"
mkdir "$target.new"
cp -R "$here/program" "$here/share" "$here/clover-gui.sh" "$here/uninstall.sh" "$target.new/"
for data in clover-data program/clover-data; do
    # Somebody made the installed program a portable one: chats and models lie inside.
    if [ -d "$target/$data" ]; then
        mv "$target/$data" "$target.new/$data"
    fi
done
rm -rf "$target"
mv "$target.new" "$target"
ln -sf "$target/clover-gui.sh" "$prefix/bin/clover-gui"

(cd "$here/share" && find . -type f ! -name '*.desktop') | while IFS= read -r file; do
    mkdir -p "$share/$(dirname "$file")"
    cp "$here/share/$file" "$share/$file"
done
mkdir -p "$share/applications"
# In an entry's command \ " ` $ have to be marked, and % is written twice.
command=$(printf '%s' "$target/clover-gui.sh" | sed -e 's/[\\"`$]/\\&/g' -e 's/\\/\\\\/g' -e 's/%/%%/g')
while IFS= read -r line; do
    case $line in
    Exec=*) printf 'Exec="%s" %%f\n' "$command" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$here/share/applications/clover-gui.desktop" >"$share/applications/clover-gui.desktop"

sh "$target/uninstall.sh" --refresh "$prefix"
echo "Clover is installed in $target. Start it from the menu, or with $prefix/bin/clover-gui"
