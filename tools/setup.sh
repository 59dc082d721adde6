#!/usr/bin/env bash
# Make a virtual environment, install into it and mark it: tools/setup.sh FOLDER/MARK PIP-ARGUMENTS…
# Or see to a browser for the tests: tools/setup.sh --browser
# Installs missing system packages where it may (apt-get as root or with sudo), else names them.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf 'marey: %s\n' "$*" >&2; }

apt_install() {
    local packages=("$@") run=()
    command -v apt-get >/dev/null || { say "please install: ${packages[*]}"; return 1; }
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || { say "please run: sudo apt-get install ${packages[*]}"; return 1; }
        run=(sudo)
    fi
    say "installing ${packages[*]}"
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive bash -c \
        "apt-get update -qq && apt-get install -y -qq --no-install-recommends ${packages[*]}" >/dev/null
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    say "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"
    exit 1
}

ensure_browser() {
    local name
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null && return
    done
    # Without a font of its own the browser would draw boxes.
    apt_install chromium fonts-dejavu-core || say "no browser here: its tests are skipped"
}

if [ "$1" = --browser ]; then
    ensure_browser
    exit
fi
mark=$1
venv=$(dirname "$mark")
shift

python=$(find_python)
if [ ! -x "$venv/bin/pip" ]; then
    "$python" -c 'import ensurepip' 2>/dev/null || apt_install python3-venv
    "$python" -m venv "$venv"
fi

say "installing Python packages into $venv"
# A line for each download, also into a pipe; a long silence would look like a fault.
"$venv/bin/pip" install --disable-pip-version-check --progress-bar off "$@" 2> >(grep -v ^WARNING >&2) |
    sed -un -e 's|^ *Downloading .*/\([^/ ]*\) |Downloading \1 |' -e 's|^ *Downloading \([^ ]*\)\(.*\)|marey:   downloading \1\2|p' \
        -e 's|^Installing collected packages:.*|marey:   unpacking (about a minute on a slow disk)|p'
touch "$mark"
