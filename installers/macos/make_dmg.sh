#!/bin/sh
# Makes the disk image of Clover.app:
#   sh installers/macos/make_dmg.sh dist/Clover.app dist/clover-gui/licences dist/Clover-1.2.3-arm64.dmg
#
# With CLOVER_SIGN_IDENTITY (a "Developer ID Application" in the keychain) everything is signed for the hardened
# runtime; with CLOVER_NOTARY_PROFILE as well (made by: xcrun notarytool store-credentials) Apple checks the
# image. Without them the signature is a local one: the program runs, but its first start on another Mac has to
# be allowed in System Settings, under Privacy & Security. Runs on macOS only.
set -eu

app=${1:?the bundle}
licences=${2:?the licences of the parts of others}
image=${3:?the disk image}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sign() {
    if [ -n "${CLOVER_SIGN_IDENTITY:-}" ]; then
        codesign --force --timestamp --options runtime --sign "$CLOVER_SIGN_IDENTITY" "$@"
    else
        codesign --force --sign - "$@"
    fi
}

rm -rf "$app/Contents/Resources/licences"
cp -R "$licences" "$app/Contents/Resources/licences"
(cd "$root" && "${PYTHON:-python3}" -m installers.macos.plists "$work/plists")
# From the inside out: each library before what contains it. "--deep" would give all of them entitlements.
find "$app/Contents" -type f | while read -r file; do
    case $(file -b "$file") in
        Mach-O*) sign "$file" ;;
    esac
done
sign --entitlements "$work/plists/entitlements.plist" "$app"
codesign --verify --strict --verbose=2 "$app"

mkdir "$work/image"
cp -R "$app" "$work/image/"
ln -s /Applications "$work/image/Applications"
rm -f "$image"
hdiutil create -volname Clover -srcfolder "$work/image" -fs HFS+ -format ULFO -ov "$image"
if [ -n "${CLOVER_SIGN_IDENTITY:-}" ]; then
    codesign --force --timestamp --sign "$CLOVER_SIGN_IDENTITY" "$image"
fi
if [ -n "${CLOVER_NOTARY_PROFILE:-}" ]; then
    xcrun notarytool submit "$image" --keychain-profile "$CLOVER_NOTARY_PROFILE" --wait
    xcrun stapler staple "$image"
fi
hdiutil verify "$image"
