#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: check_release.sh ROOT SCRATCH CUDA_INCLUDE
# scripts/release on a clone of the last commit: what the archive has, its sum, its tag, and what is refused.
# It is the last commit that is looked at, not what is changed since. Without git there is nothing to do.
set -euo pipefail
root=$1 scratch=$2 cuda=$3
rm -rf "$scratch"
mkdir -p "$scratch"

step() { echo "-- $*"; }
die() { echo "$*"; exit 1; }
if ! git -C "$root" rev-parse --verify HEAD >/dev/null 2>&1; then
    echo "skipped: $root is no git checkout"
    exit 0
fi
clone=$scratch/clone out=$scratch/out
git clone -q --no-hardlinks "$root" "$clone"
git -C "$clone" config user.name tester
git -C "$clone" config user.email tester@localhost
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$clone/meson.build" | head -n 1)
name=jit_gemm-$version
options=(-Doptimization=0 -Dexamples=false -Dbench=false)

# refuse WORDS: scripts/release fails, says so, and writes nothing.
refuse() {
    if "$clone/scripts/release" --tag "$out" "${options[@]}" >"$scratch/log" 2>&1; then
        die "it was not refused: $1"
    fi
    grep -qF "$1" "$scratch/log" || { cat "$scratch/log"; die "without '$1'"; }
    [ -z "$(ls -A "$out")" ] || die "refused, but there is something in $out"
}

step "what is refused"
mkdir -p "$out"
echo more >>"$clone/README.md"
refuse "uncommitted files"
git -C "$clone" checkout -q README.md
sed -i '0,/^## .*/s//## 99.0.0/' "$clone/CHANGELOG.md"
git -C "$clone" commit -qam "another version"
refuse "CHANGELOG.md does not begin with '## $version'"
git -C "$clone" tag -f "v$version" >"$scratch/log"
git -C "$clone" reset -q --hard HEAD~1
refuse "the tag v$version is another commit"
git -C "$clone" tag -d "v$version" >"$scratch/log"

step "release $name"
"$clone/scripts/release" --tag "$out" "${options[@]}"
(cd "$out" && sha256sum -c "$name.sha256")
[ "$(git -C "$clone" rev-parse "v$version^{commit}")" = "$(git -C "$clone" rev-parse HEAD)" ] ||
    die "there is no tag"
python3 "$root/tests/install/check_sbom.py" "$out/$name.spdx.json" "$version" xxHash libsodium jit-gemm
tar -xJf "$out/$name.tar.xz" -C "$scratch"
diff <(cd "$scratch/$name" && find . -type f | sed 's#^\./##' | LC_ALL=C sort) \
    <(git -C "$clone" ls-files | LC_ALL=C sort) || die "the archive has other files than the commit"

step "an archive finds what scripts/fetch_cuda has left"
mkdir -p "$scratch/$name/build/cuda"
ln -s "$cuda" "$scratch/$name/build/cuda/include"
meson setup "$scratch/b" "$scratch/$name" -Dtests=false >"$scratch/log"
grep -qF -- "$scratch/$name/build/cuda/include" "$scratch/b/compile_commands.json" ||
    die "meson takes other headers than those in build/cuda"
echo "$name: archive, sums, tag and parts"
