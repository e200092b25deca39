#!/bin/bash
# Every test of the default run, closing with "N passed, N failed". GDSIM: the program; BUILD: where
# the unit tests were built.
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0
log=$(mktemp)
# A step that passes or fails as a whole.
whole() {
    local name=$1
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        tail -n 1 "$log"
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        tail -n 60 "$log"
    fi
}
for test in "$BUILD"/tests/test_*; do
    case $test in *.d) continue ;; esac
    "$test" >"$log" 2>&1
    code=$?
    good=$(grep -c '\[       OK \]' "$log")
    bad=$(grep -c '\[  FAILED  \] [a-zA-Z_0-9]*$' "$log")
    if [ $code -ne 0 ]; then
        [ "$bad" -gt 0 ] || bad=1
        echo "FAILED $(basename "$test")"
        tail -n 60 "$log"
    else
        bad=0
        echo "$(basename "$test"): $good passed"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
whole layers tests/layers.sh
whole "parameter page" tests/params-page.sh
whole documentation tests/docs.sh
whole sweep tests/sweep.sh
whole predictions tests/predictions.sh
whole "fitted values" tests/fitted.sh
for file in tests/golden/*.txt; do whole "$file" tests/golden.sh "$file"; done
rm -f "$log"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
