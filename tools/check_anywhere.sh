#!/usr/bin/env bash
# Prove that the tests pass on any machine: tools/check_anywhere.sh [--browser N] [-- PYTEST-ARGUMENTS…]
# Clones HEAD into a folder whose path has spaces and non-ASCII letters and sets it up there with network. Then, as an
# ordinary user, without network and while every core is kept busy, runs `make test`, with N the browser tests N times.
# As root it works as the user `nobody`. MAREY_DATA, PYTHON, PIP_… and NODE_EXTRA_CA_CERTS are handed on; FOLDER=…
# keeps the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
browser=0
while [ $# -gt 0 ]; do
    case $1 in
        --browser) browser=$2; shift 2 ;;
        --) shift; break ;;
        *) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
    esac
done
say() { printf '== %s\n' "$*"; }

kept=${FOLDER:-}
place=${kept:-$(mktemp -d)}
home="$place/mårey ünd co"
checkout="$home/die Prüfung"
[ "$(id -u)" -eq 0 ] && user=nobody || user=$(id -un)
uid=$(id -u "$user") gid=$(id -g "$user")
busy=()
finish() {
    [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true
    [ -n "$kept" ] || rm -rf "$place"
}
trap finish EXIT

# Runs a command with nothing of this user's environment but a path, a home of its own, the data and mirrors.
passed_on=()
while IFS= read -r -d '' variable; do
    case $variable in PIP_*|NODE_EXTRA_CA_CERTS=*|MAREY_DATA=*|PYTHON=*) passed_on+=("$variable") ;; esac
done < <(env -0)
plainly() {
    env -i "${passed_on[@]}" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME="$home" TMPDIR="$home/tmp dir" LANG=C.UTF-8 \
        "$@"
}
ordinary() {
    if [ "$(id -u)" -eq 0 ]; then
        plainly setpriv --reuid="$uid" --regid="$gid" --clear-groups -- "$@"
    else
        plainly "$@"
    fi
}
offline() {
    local inside='ip link set lo up && exec "$@"'
    if [ "$(id -u)" -eq 0 ]; then
        plainly unshare --net -- sh -c "$inside" sh \
            setpriv --reuid="$uid" --regid="$gid" --clear-groups --no-new-privs -- "$@"
    else
        plainly unshare --map-root-user --net -- sh -c "$inside" sh \
            unshare --user --map-user="$uid" --map-group="$gid" -- "$@"
    fi
}

say "a checkout in $checkout"
mkdir -p "$home/tmp dir"
if [ -d "$checkout" ]; then
    git -c safe.directory='*' -C "$checkout" pull -q
else
    git clone -q . "$checkout"
fi
chmod 755 "$place"
[ "$(id -u)" -ne 0 ] || chown -R "$user" "$home"
tools/setup.sh --browser

say "set-up with network, as $user"
ordinary make -C "$checkout" .venv/.test .venv/.docs .node/.ready

say "two busy loops a core"
for _ in $(seq $((2 * $(nproc)))); do
    (while :; do :; done) &
    busy+=($!)
done

if offline ip route get 192.0.2.1 >/dev/null 2>&1; then
    say "there is network where there should be none"
    exit 1
fi

failed=0
results=()
attempt() {
    local name=$1 began=$SECONDS
    shift
    say "$name, as $user, without network"
    if offline make -C "$checkout" test TESTS="$*"; then
        results+=("passed  $((SECONDS - began)) s  $name")
    else
        results+=("FAILED  $((SECONDS - began)) s  $name")
        failed=1
    fi
}
attempt "make test ${*:-}" "$@"
for turn in $(seq "$browser"); do
    attempt "browser tests, $turn of $browser" tests/studio/*_in_browser.py tests/views/test_pages_in_browser.py
done

say "summary"
printf '%s\n' "${results[@]}"
exit $failed
