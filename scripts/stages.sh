# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# How stages run, beside each other and in shares, and are counted; sourced by check, which has set `logs` and `out`, and
# which sets `stages`, `with_tests`, `beside_tests`, `chosen`, `full` and `turn` before anything here is called.
# shellcheck disable=SC2154

logs=${logs:?}
passed=0 failed=0 skipped=0

# pass NAME TEXT, fail NAME TEXT, skip NAME REASON
pass() { passed=$((passed + 1)); printf 'ok    %-9s %s\n' "$1" "$2"; }
fail() { failed=$((failed + 1)); printf 'FAIL  %-9s %s\n' "$1" "$2"; }
skip() { skipped=$((skipped + 1)); printf 'skip  %-9s %s\n' "$1" "$2"; }

# What a reader needs who sees only the output of this script: what sanitizers and tests said
# where they failed, and the end of the log without the tests that passed.
show_failure() {
    {
        grep -nE -A 12 '(Sanitizer|runtime error|^not ok|\[FAIL\]|[0-9]/[0-9]+ .* (FAIL|TIMEOUT))' \
            "$1" | head -n 60 || true
        grep -vE '^ok    tests' "$1" | tail -n 20
    } | sed 's/^/      | /'
}

# A stage leaves what it says in NAME.said, and when it has ended its three counts in NAME.counts.
run_stage() {
    passed=0 failed=0 skipped=0
    "check_$1" >"$logs/$1.said" 2>&1 || true
    echo "$passed $failed $skipped" >"$logs/$1.counts.new"
    mv "$logs/$1.counts.new" "$logs/$1.counts"
}

is_chosen() { [[ " ${chosen[*]} " == *" $1 "* ]]; }

# await NAME: until this stage has ended, if it is one of this run.
await() {
    is_chosen "$1" || return 0
    until [ -f "$logs/$1.counts" ]; do sleep 0.2; done
}

# has_passed NAME: in this run?
has_passed() { [ -f "$logs/$1.counts" ] && [ "$(cat "$logs/$1.counts")" = "1 0 0" ]; }

# Those of its arguments that were chosen, one after the other.
run_list() {
    local name
    for name in "$@"; do
        if is_chosen "$name"; then run_stage "$name"; fi
    done
}

# report NAME LIST: a stage's lines, when it has ended; LIST is the process that runs it. One whose list
# died has failed, so that nobody awaits it.
report() {
    local name=$1 list=$2 p f s
    until [ -f "$logs/$name.counts" ]; do
        if ! kill -0 "$list" 2>/dev/null && [ ! -f "$logs/$name.counts" ]; then
            fail "$name" "it did not end; what it said: $logs/$name.said"
            echo "0 1 0" >"$logs/$name.counts"
            return 0
        fi
        sleep 0.2
    done
    cat "$logs/$name.said"
    read -r p f s <"$logs/$name.counts"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# spent FILE COMMAND...: leaves in FILE the seconds that it takes, and those of a processor.
spent() {
    local file=$1 status=0 TIMEFORMAT='%0R s, %0U + %0S of a processor'
    shift
    { time "$@" 2>&3; } 3>&2 2>"$file" || status=$?
    return $status
}

# stage NAME WHAT COMMAND...: one check; its output is shown if it fails.
stage() {
    local name=$1 what=$2 log=$logs/$1.log
    shift 2
    if spent "$logs/$name.spent" "$@" >"$log" 2>&1; then
        pass "$name" "$what ($(cat "$logs/$name.spent"))"
        if grep -q '^UNSTABLE' "$log"; then show_failure "$log"; fi
    else
        fail "$name" "$what; log: $log"
        show_failure "$log"
        return 1
    fi
}

# meson_tests NAME FOLDER OPTION...: runs tests; the JSON log of the run is the result.
meson_tests() {
    local name=$1 folder=$2
    shift 2
    rm -f "$folder"/meson-logs/testlog*.json
    CRITERION_VERBOSITY_LEVEL=1 meson test -C "$folder" --no-rebuild --print-errorlogs "${longer[@]}" "$@" \
        >"$logs/$name.log" 2>&1 || true
    # Of tests that a wrapper begins meson names the log by the wrapper.
    find "$folder/meson-logs" -name 'testlog-*.json' -exec mv {} "$folder/meson-logs/testlog.json" \;
}

# run_sanitized NAME FOLDER OPTION...: run the tests that are built, and say how many ran.
#
# Sanitizers stop and inspect the process that they watch, and on a crowded machine that fails
# at times by itself. Programs that failed run once more, alone, with what they had said kept in
# the log under UNSTABLE; the second result counts.
run_sanitized() {
    local name=$1 folder=$2 again
    shift 2
    meson_tests "$name-tests" "$folder" "$@"
    cat "$logs/$name-tests.log"
    count_sanitized "$name" "$folder" && return 0
    again=$(sed -nE 's/^FAIL +tests +([^:]+):.*/\1/p' "$logs/$name-count.txt")
    echo "UNSTABLE, or broken: ${again//$'\n'/ }; once more, alone:"
    [ -n "$again" ] || return 1
    # shellcheck disable=SC2086 # one word per name
    meson_tests "$name-tests" "$folder" --num-processes 1 $again
    cat "$logs/$name-tests.log"
    count_sanitized "$name" "$folder"
}
count_sanitized() {
    local name=$1 folder=$2 p f
    python3 tools/dev/count_tests.py "$folder/meson-logs/testlog.json" "$logs/$name-tests.log" \
        >"$logs/$name-count.txt"
    cat "$logs/$name-count.txt"
    read -r p f _ <<<"$(tail -n 1 "$logs/$name-count.txt")"
    [ "$p" -gt 0 ] && [ "$f" -eq 0 ]
}
# The number of this commit, so that the next one takes the next shares; 0 outside of git. Where the history is
# not there, a number that is drawn by the commit's name.
number_of_commit() {
    if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = true ]; then
        echo $((16#$(git rev-parse HEAD | cut -c 1-7)))
    else
        git rev-list --count HEAD 2>/dev/null || echo 0
    fi
}

# has_turn NUMBER COUNT: is share NUMBER of COUNT this commit's? With --full all are.
has_turn() { [ "$full" = yes ] || [ $((turn % $2)) -eq "$1" ]; }

# is_due NAME NUMBER: of a release and of `alone`, which find little, one runs in each commit; by its name each.
is_due() {
    if has_turn "$2" 2 || [ "$by_name" = yes ]; then return 0; fi
    echo "$1 has its turn in the next commit"
    return 1
}

# of_turn COUNT: of the files that it reads every third one, and what the last COUNT commits changed.
of_turn() {
    if [ "$full" = yes ] || ! git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
        cat
    else
        awk -v turn=$((turn % 3)) 'NR == FNR { changed[$0] = 1; next } FNR % 3 == turn || $0 in changed' \
            <(echo . && git log -n "$1" --name-only --format= && git diff --name-only HEAD) -
    fi
}

# sanitized SUITE: the names of its tests and what each needs, of the build `clang`: every other one, and those between
# in the next commit. Without sanitizers all of them run each time.
sanitized() {
    python3 tools/dev/test_programs.py "$out/clang" "suite:$1" |
        if [ "$full" = yes ]; then cat; else awk -v turn=$((turn % 2)) 'NR % 2 == turn'; fi
}

# run_of_turn STAGE SUITE
run_of_turn() {
    local names
    mapfile -t names < <(sanitized "$2" | cut -d' ' -f1)
    [ "${#names[@]}" -gt 0 ] || { echo "there are no tests of the suite $2"; return 1; }
    run_sanitized "$1" "$out/clang" "${names[@]}"
}
# All chosen stages, in two lists that run at a time, and what they say in the order of `stages`.
run_beside_each_other() {
    local name first second
    rm -f "$logs"/*.said "$logs"/*.counts
    set -m # each list in a process group of its own, which ends as a whole
    run_list "${with_tests[@]}" &
    first=$!
    run_list "${beside_tests[@]}" &
    second=$!
    set +m
    trap 'kill -TERM -- -$first -$second 2>/dev/null; wait; exit 130' INT TERM
    for name in "${stages[@]}"; do
        is_chosen "$name" || continue
        if [[ " ${with_tests[*]} " == *" $name "* ]]; then
            report "$name" $first
        else
            report "$name" $second
        fi
    done
    wait
    trap - INT TERM
}
