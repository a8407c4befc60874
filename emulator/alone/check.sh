#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copies the emulator out of the tree, builds the copy alone and runs suites that reach each layer.
#
#   emulator/alone/check.sh FOLDER [MESON_OPTION...]     FOLDER is made anew
set -euo pipefail
alone=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
folder=$1
shift

rm -rf "$folder"
mkdir -p "$folder"
cp -R "$alone/.." "$folder/emulator"
cp "$alone"/meson* "$folder"
meson setup "$folder/build" "$folder" --werror "$@"
ninja -C "$folder/build"
meson test -C "$folder/build" --no-rebuild --print-errorlogs \
    emu_check emu_driver emu_tool golden_wgmma golden_tma
