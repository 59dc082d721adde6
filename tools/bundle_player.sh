#!/bin/sh
# Bundles the player of HTML pages (src/marey/views/pages/player.js) with the parts of three.js it uses.
# Needs npm; run it after a change of any .js file there, and commit player.min.js with it.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
pages="$here/src/marey/views/pages"
room="${TMPDIR:-/tmp}/marey-bundle-$(id -u)"
mkdir -p "$room"
if [ ! -x "$room/node_modules/.bin/esbuild" ]; then
  npm install --silent --no-audit --no-fund --prefix "$room" three@0.187.0 esbuild@0.28.2
fi
cp "$room/node_modules/three/LICENSE" "$pages/LICENSE.three.txt"
# The tests compare this sum with the sources: a bundle that is out of date does not pass.
sum=$(cd "$pages" && find . -name '*.js' ! -name player.min.js | LC_ALL=C sort | xargs cat | sha256sum | cut -d ' ' -f 1)
NODE_PATH="$room/node_modules" "$room/node_modules/.bin/esbuild" "$pages/player.js" --bundle --minify --format=iife \
  --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning \
  --banner:js="/* marey. Contains three.js, copyright three.js authors, MIT licence. Sources: $sum */" --outfile="$pages/player.min.js"
wc -c "$pages/player.min.js"
