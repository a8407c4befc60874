#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the subjects of all commits of HEAD: `area: what it does`, at most 72 columns, no
# period at the end, second line empty. Areas are names of folders; `project` is the root.
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"

areas=" project $(git log --format= --name-only | grep / | sed 's#/[^/]*$##' | tr '/' '\n' |
    sed 's/^\.//' | sort -u | tr '\n' ' ') "
bad=0
count=0
complain() {
    printf '%s: %s: %s\n' "$1" "$3" "$2"
    bad=$((bad + 1))
}
while IFS= read -r -d '' commit; do # its name, the subject, the second line, and others
    count=$((count + 1))
    mapfile -t lines <<<"$commit"
    short=${lines[0]} subject=${lines[1]} second=${lines[2]:-}
    area=${subject%%: *}
    [[ $subject =~ ^[a-z0-9_.-]+:\ [^\ ] ]] || complain "$short" "$subject" "not 'area: what'"
    [[ $areas == *" $area "* ]] || complain "$short" "$subject" "no folder is named '$area'"
    [ ${#subject} -le 72 ] || complain "$short" "$subject" "over 72 columns"
    [[ $subject != *. ]] || complain "$short" "$subject" "ends with a period"
    [ -z "$second" ] || complain "$short" "$subject" "second line is not empty"
done < <(git log -z --no-merges --format='%h%n%B' HEAD)
echo "$count commits, $bad problems"
[ "$count" -gt 0 ] && [ $bad -eq 0 ]
