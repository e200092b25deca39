#!/bin/bash
# The rooms of the house: who may include whom, and what the lower rooms never do.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
# complain WHAT FILES-WITH-LINES
complain() { if [ -n "$2" ]; then echo "$1:"; printf '%s\n' "$2" | sed 's/^/  /'; bad=1; fi; }
# only ROOM ALLOWED-REGEX: quoted includes of ROOM must match.
only() {
    complain "$1 includes what it may not" \
        "$(grep -nE '^#include "' "$1"/*.[ch] 2>/dev/null | grep -vE "#include \"($2)/" )"
}
# system ROOM REGEX: angle includes of ROOM that must not occur.
without() {
    complain "$1 uses a library it may not" "$(grep -nE "^#include <($2)" "$1"/*.[ch] 2>/dev/null)"
}
only models models
only sim/core 'models|sim/core'
only sim/load 'sim/core|sim/load'
only sim/script 'sim/core|sim/script'
only sim/study 'sim/core|sim/study'
only sim/report 'sim/core|sim/report'
only sim/cli 'models|sim/[a-z]+'
only probe probe
without models 'gsl|yaml|lua|csv|jansson|pthread|unistd|sys/'
without sim/core 'gsl|yaml|lua|csv|jansson|pthread|unistd|sys/'
without sim/load 'gsl|lua'
without sim/script 'gsl|yaml|csv|jansson'
without sim/study 'yaml|lua'
without sim/report 'gsl|yaml|lua'
without probe 'gsl|yaml|lua|csv|jansson|expat|pthread|nvml|cuda|infiniband|cufile'
complain "printing or ending the process below sim/cli" \
    "$(grep -nE '\b(printf|puts|putchar|perror|exit|abort|fprintf *\( *std(out|err))\b *\(?' \
        models/*.c sim/core/*.c sim/load/*.c sim/script/*.c sim/study/*.c sim/report/*.c 2>/dev/null |
        grep -vE '^\S+: *(\*|/\*)|snprintf|text_printf|"[^"]*\b(printf|exit|abort)\b' |
        grep -E '\b(printf|puts|putchar|perror|exit|abort) *\(|fprintf *\( *std')"
complain "global state below sim/cli" \
    "$(grep -nE '^static [a-z_ ]+\**[a-z_]+(\[[^]]*\])?( = .*)?;$' models/*.c sim/core/*.c sim/load/*.c \
        sim/script/*.c sim/study/*.c sim/report/*.c 2>/dev/null | grep -vE '\bconst\b')"
[ $bad = 0 ] && echo "layers: ok"
exit $bad
