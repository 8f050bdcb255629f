#!/usr/bin/env bash
# Checks the model of the journal (journal.pml) with Spin.
#
#   check.sh         the protocol as it is must hold in every state, and each rule left out must break it; some minutes
#   LARGE=1 check.sh  also explores a larger size
#   check.sh RULE    prints the shortest counterexample that Spin finds without this rule, for example: check.sh SINCE
#
# Exit status: 0 if everything came out as expected, 1 if something did not, 69 if Spin or a C compiler is missing.
set -uo pipefail
cd "$(dirname "$0")"
model=$PWD/journal.pml

for tool in spin "${CC:=gcc}"; do
    command -v "$tool" > /dev/null || { echo "$tool is missing (on Debian and Ubuntu: apt-get install spin gcc)" >&2; exit 69; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1

# The least size at which leaving a rule out breaks something, where the model's own is too small or too large.
size() {
    case $1 in
        WAIT_AGAIN) echo "-DWORKERS=3 -DCOMMANDS=1 -DBATCH=1" ;;  # a third worker's open claim hides what the second wrote
        SAME_ID) echo "-DSAME_INSTANCE" ;;                        # two processes with the same ids
        VERIFIED) echo "-DWORKERS=1 -DASSIGNMENTS=1 -DCOMMANDS=4" ;;
    esac
}

# Without the brokers' verification a partition may also hang for good. Only the wrong answer counts.
ends() { [ "$1" != VERIFIED ] || echo -E; }

# explore FLAGS-OF-SPIN FLAGS-OF-THE-COMPILER FLAGS-OF-THE-SEARCH: fills `out`. Flags are split at spaces.
# Most searches end at once, so the compiler's optimisation would take longer than it saves; only the whole searches ask for it.
explore() {
    rm -f pan* out ./*.trail
    # shellcheck disable=SC2086
    spin $1 -a "$model" > spin.log 2>&1 && nice "$CC" -w -DSAFETY -DCOLLAPSE -DMEMLIM=7500 $2 -o pan pan.c > cc.log 2>&1 || {
        cat spin.log cc.log >&2 2> /dev/null
        return 1
    }
    # shellcheck disable=SC2086
    nice ./pan -w25 -m10000 $3 > out 2>&1
}

states() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out; }
depth() { sed -n 's/.*depth reached \([0-9]*\).*/\1/p' out; }
violated() { sed -n 's/^pan:1: \(.*\) (at depth \([0-9]*\))$/\1, after \2 steps/p' out; }

status=0
line() {
    printf '%-5s %-42s %4d s  %s\n' "$1" "$2" $((SECONDS - begun)) "$3"
    [ "$1" = ok ] || status=1
}

# The search ended by itself, went through every state, and found nothing.
holds() {
    begun=$SECONDS
    explore "$2" -O2 ""
    if grep -qs 'errors: 0$' out &&
        ! grep -Eq 'max search depth|not completed|out of memory|reached -D?MEMLIM|memory limit|error:' out; then
        line ok "$1" "$(states) states, all of them; depth $(depth)"
    else
        line WRONG "$1" "$(violated)$(grep -m1 -E 'error:|not completed|memory' out)"
    fi
}

# The search found what the pattern says. Another error, such as a log that is too small, does not count.
breaks() {
    begun=$SECONDS
    explore "$2" -O0 "$3"
    if grep -Eq "^pan:1: assertion violated ($4) " out; then
        line ok "$1" "$(violated), $(states) states"
    else
        line WRONG "$1" "expected a violation, found: $(violated)$(grep -m1 -E 'errors: ' out)"
    fi
}

audit='inOrder|rightState|forwardStands|forwardsInOrder|answeredOnce'
rules=$(sed -n '/The rules/,/ifndef LEAVE_OUT/s/^#define \([A-Z_]*\) *[1-9].*/\1/p' "$model")

if [ $# -gt 0 ]; then
    grep -qx -- "$1" <<< "$rules" || { printf 'Rules:\n%s\n' "$rules" >&2; exit 64; }
    flags="-DLEAVE_OUT=$1 $(size "$1")"
    explore "$flags" "-O1 -DREACH" "-i $(ends "$1")"
    grep -q '^pan:1: assertion violated' out || { echo "no counterexample" >&2; exit 1; }
    sed -n "s|^#define $1 .*/\* \(.*\) \*/|Without the rule: \1|p" "$model"
    cp "$model" journal.pml && mv ./*.trail story && mv story journal.pml.trail
    # shellcheck disable=SC2086
    spin $flags -t journal.pml | grep -E '^ *(worker|a late|the transaction)' | sed 's/^ */  /'
    # shellcheck disable=SC2086
    spin $flags -t journal.pml | sed -n 's/.*text of failed assertion: assert((*\([A-Za-z]*\).*/  so this is not true: \1/p'
    exit 0
fi

# The largest takes a minute on an idle core, and 1.3 GB.
holds "2 workers, 3 assignments, 2 commands" ""
holds "2 workers, 3 assignments, 2 forwards" "-DALL_MISPLACED"
holds "2 workers, 4 assignments, 1 command" "-DASSIGNMENTS=4 -DCOMMANDS=1 -DBATCH=1"
holds "3 workers, 3 assignments, 1 command" "-DWORKERS=3 -DCOMMANDS=1 -DBATCH=1"
holds "2 workers under one name, 2 commands" "-DSAME_INSTANCE"
holds "late AddPartitions, 1 command" "-DLATE_ADD_PARTITIONS -DCOMMANDS=1 -DBATCH=1"
# Two to five minutes more, and up to 1.5 GB.
[ -z "${LARGE:-}" ] || holds "2 workers, 3 assignments, 3 commands" "-DCOMMANDS=3"
[ -z "${LARGE:-}" ] || holds "late AddPartitions, 2 commands" "-DLATE_ADD_PARTITIONS"
for goal in $(sed -n '/Proof that/,/ifndef SHOW/s/^#define \([A-Z_]*\) *[1-9].*/\1/p' "$model"); do
    breaks "comes to $goal" "-DSHOW=$goal" "" notShown
done
for rule in $rules; do
    breaks "without $rule" "-DLEAVE_OUT=$rule $(size "$rule")" "$(ends "$rule")" "$audit"
done
printf '%s, %d s in all\n' "$([ $status -eq 0 ] && echo 'as expected' || echo 'NOT as expected')" $SECONDS
exit $status
