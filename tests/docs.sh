#!/bin/bash
# The documentation shows what the program prints: every ```console block of the READMEs is run and
# compared. Lines that start with "$ " are commands; a line "..." stands for lines left out.
# UPDATE=1 writes what is printed now into blocks without "..." (read the diff before committing).
# A ```lua block that sets `collective` is a whole script: it must be right for 1 to 9 ranks.
set -u
cd "$(dirname "$0")/.." || exit 1
GDSIM=$(realpath "${GDSIM:-out/bin/gdsim}")
export GDSIM
gdsim() { "$GDSIM" "$@"; }
GDPROBE=$(realpath "${GDPROBE:-out/bin/gdprobe}")
export GDPROBE
gdprobe() { "$GDPROBE" "$@"; }
bad=0 blocks=0
check() { # FILE LINE COMMAND EXPECTED
    local actual pattern
    actual=$(mktemp) pattern=$(mktemp)
    ( eval "$3" ) >"$actual" 2>&1 </dev/null
    printf '%s' "$4" >"$pattern"
    # With "..." lines: what stands before, between and after them must come in this order.
    if ! awk -v pattern="$pattern" '
        BEGIN { while ((getline line < pattern) > 0) want[++n] = line; w = 1; skip = 0 }
        { while (w <= n && want[w] == "...") { skip = 1; w++ }
          if (w <= n && $0 == want[w]) { w++; skip = 0 } else if (!skip) { bad = 1; exit } }
        END { while (w <= n && want[w] == "...") w++; exit (bad || w <= n) }' "$actual"; then
        echo "$1:$2: \`$3\` prints something else:"
        diff -u --label "$1" --label actual "$pattern" "$actual" | head -30
        bad=1
    fi
    rm -f "$actual" "$pattern"
    blocks=$((blocks + 1))
}
prove() { # FILE LINE SCRIPT
    local script
    script=$(mktemp --suffix=.lua)
    printf '%s' "$3" >"$script"
    if ! "$GDSIM" verify "$script" --ranks 1-9 >"$script.out" 2>&1; then
        echo "$1:$2: the script is not right:"
        grep -v '^right' "$script.out" | head -5
        bad=1
    fi
    rm -f "$script" "$script.out"
    blocks=$((blocks + 1))
}
for file in README.md */README.md sim/*/README.md scenarios/*/README.md; do
    [ -f "$file" ] || continue
    inside=0 command='' expected='' number=0 at=0 script=''
    while IFS= read -r line; do
        number=$((number + 1))
        case $inside$line in
        '0```console') inside=1 ;;
        '0```lua') inside=2 script='' at=$number ;;
        '2```')
            case $script in *collective\ =*) prove "$file" $at "$script" ;; esac
            inside=0
            ;;
        2*) script+=$line$'\n' ;;
        '1```')
            [ -z "$command" ] || check "$file" $at "$command" "$expected"
            inside=0 command=''
            ;;
        '1$ '*)
            [ -z "$command" ] || check "$file" $at "$command" "$expected"
            command=${line#\$ } expected='' at=$number
            ;;
        1*) expected+=$line$'\n' ;;
        esac
    done <"$file"
done
if [ "${UPDATE:-}" = 1 ]; then
    for file in README.md */README.md sim/*/README.md scenarios/*/README.md; do
        [ -f "$file" ] || continue
        fresh=$(mktemp)
        inside=0 keep=0
        while IFS= read -r line; do
            case $inside$line in
            '0```console') inside=1 keep=0 ;;
            '1```') inside=0 ;;
            '1$ '*)
                printf '%s\n' "$line"
                ( eval "${line#\$ }" ) 2>&1 </dev/null
                keep=1
                continue
                ;;
            1*) [ $keep = 0 ] || continue ;;
            esac
            printf '%s\n' "$line"
        done <"$file" >"$fresh"
        grep -qx '\.\.\.' "$file" || cp "$fresh" "$file"
        rm -f "$fresh"
    done
    exit 0
fi
[ $bad = 0 ] && echo "documentation: $blocks commands and scripts do what it says"
exit $bad
