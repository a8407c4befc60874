#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: check_root.sh SUITE FOLDER [STAGE...]
# What the README promises, in an empty Debian or Ubuntu (bookworm, trixie, jammy, noble): makes a root of it in
# FOLDER, if none is there; then, with the last commit in it: scripts/demo, the lines of the chapter Install,
# the README's program on the emulator, and scripts/check STAGE... By hand only: it needs root's rights,
# debootstrap and the network. MIRROR and KEYRING name others than the usual ones; PIP_CERT goes along.
set -euo pipefail
suite=$1 folder=$(realpath -m "$2")
shift 2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

step() { echo "== $suite: $*"; }
die() { echo "$*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die "a root needs root's rights"

step "an empty root in $folder"
options=(--variant=minbase --include=ca-certificates)
case $suite in
jammy | noble)
    mirror=${MIRROR:-http://archive.ubuntu.com/ubuntu}
    options+=("--components=main,universe" "--keyring=${KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}")
    ;;
*)
    mirror=${MIRROR:-http://deb.debian.org/debian}
    [ -z "${KEYRING:-}" ] || options+=("--keyring=$KEYRING")
    ;;
esac
if [ ! -d "$folder/etc" ]; then
    # Scripts are links to one another; an older debootstrap lacks the newest names.
    script=/usr/share/debootstrap/scripts/$suite
    case $suite in
    noble) [ -e "$script" ] || script=/usr/share/debootstrap/scripts/jammy ;;
    esac
    debootstrap "${options[@]}" "$suite" "$folder" "$mirror" "$script"
fi
cp /etc/resolv.conf "$folder/etc/resolv.conf"
environment=(HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
if [ -n "${PIP_CERT:-}" ]; then
    cp "$PIP_CERT" "$folder/etc/pip-cert.pem"
    environment+=(PIP_CERT=/etc/pip-cert.pem)
fi
echo 'APT::Get::Assume-Yes "true";' >"$folder/etc/apt/apt.conf.d/90yes" # the README's lines ask
mount -t proc proc "$folder/proc"
mount --rbind /dev "$folder/dev" # with /dev/shm, which tests look at
mount --make-rslave "$folder/dev"
trap 'umount -R "$folder/dev"; umount "$folder/proc"' EXIT

# inside COMMAND: in a fresh copy's folder.
inside() { chroot "$folder" env -i "${environment[@]}" bash -euo pipefail -c "cd /src && $1"; }
fresh() {
    rm -rf "$folder/src"
    mkdir "$folder/src"
    git -C "$source" archive HEAD | tar -x -C "$folder/src"
}

step "the chapter Install of the README"
fresh
inside "apt-get update -q"
# The last two lines are looked at below: without a GPU doctor fails, as it should.
lines=$(sed -n '/^## Install/,/^## In C/s/^    //p' "$source/README.md" | grep -vE 'doctor|^export')
inside "$lines"
awk '/^```/ { inside = $0 == "```c"; next } inside' "$source/README.md" >"$folder/src/program.c"
line=$(grep '^    cc program\.c' "$source/README.md")
inside "$(sed -n 's/^    \(export PKG_CONFIG_PATH\)/\1/p' "$source/README.md")
    $line
    LD_LIBRARY_PATH=\$(dirname \"\$(find ~/.local/lib* -name libjit_gemm.so)\") JIT_GEMM_DRIVER=emulator \\
        JIT_GEMM_NVRTC=/src/build/cuda/lib ./a.out
    ~/.local/bin/jit-gemm doctor || [ \$? -eq 1 ]
    ninja -C build-install uninstall
    [ ! -e ~/.local ]"

step "scripts/demo"
fresh
inside ./scripts/demo
if [ $# -gt 0 ]; then
    step "scripts/check $*"
    inside "./scripts/check $*"
fi
step "all of it works"
