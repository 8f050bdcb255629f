#!/usr/bin/env bash
# Installs the command, its manual pages and its completions: install.sh JUICE MANUAL-FOLDER PREFIX
set -euo pipefail
juice=$1 manual=$2 prefix=$3

install -d "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
install -m 755 "$juice" "$prefix/bin/juice"
for page in "$manual"/juice*.1; do
    awk -f "$(dirname "$0")/manual.awk" "$page" > "$prefix/share/man/man1/${page##*/}"
done
"$juice" --generate-completion-script bash > "$prefix/share/bash-completion/completions/juice"
"$juice" --generate-completion-script zsh > "$prefix/share/zsh/site-functions/_juice"
"$juice" --generate-completion-script fish > "$prefix/share/fish/vendor_completions.d/juice.fish"
echo "Installed juice, its manual pages (man juice) and completions for bash, zsh and fish under $prefix"
