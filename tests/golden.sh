#!/bin/bash
# Run the transcripts in tests/golden: lines that start with "$ " are commands, what follows is what
# they print (stdout and stderr), then "[exit N]". Lines before the first command are comment.
#
#   tests/golden.sh [FILE...]         compare; prints a diff for each transcript that differs
#   UPDATE=1 tests/golden.sh [FILE]   write what is printed now (read the diff before committing)
set -u
cd "$(dirname "$0")/.." || exit 1
GDSIM=${GDSIM:-out/bin/gdsim}
GDSIM=$(realpath "$GDSIM")
export GDSIM
gdsim() { "$GDSIM" "$@"; }
GDPROBE=$(realpath "${GDPROBE:-out/bin/gdprobe}")
export GDPROBE
export FAKE=$PWD/${BUILD:-out/build/gcc-release}/fake # pretended libraries for gdprobe
gdprobe() { "$GDPROBE" "$@"; }
passed=0 failed=0
[ $# -gt 0 ] || set -- tests/golden/*.txt
for file in "$@"; do
    actual=$(mktemp)
    seen=0
    while IFS= read -r line; do
        case $line in
        '$ '*)
            seen=1
            printf '%s\n' "$line"
            ( eval "${line#\$ }" ) 2>&1 </dev/null
            printf '[exit %s]\n' "$?"
            ;;
        *) [ $seen = 1 ] || printf '%s\n' "$line" ;;
        esac
    done <"$file" >"$actual"
    if cmp -s "$file" "$actual"; then
        passed=$((passed + 1))
    elif [ "${UPDATE:-}" = 1 ]; then
        cp "$actual" "$file"
        echo "updated $file"
        passed=$((passed + 1))
    else
        echo "FAILED $file"
        diff -u --label expected --label actual "$file" "$actual" | head -60
        failed=$((failed + 1))
    fi
    rm -f "$actual"
done
echo "golden: $passed passed, $failed failed"
[ $failed -eq 0 ]
