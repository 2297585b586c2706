#!/bin/sh
# Runs `npm start`: bootstrap.mjs installs what is missing with the caller's Node; then this process becomes the
# launcher, so that no process only waits for it. Code 100 of bootstrap.mjs: everything is installed.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit
modules=$root/node_modules
: "${NODE_COMPILE_CACHE:=$modules/.cache/slipway}"
export NODE_COMPILE_CACHE
node "$root/dev/install/bootstrap.mjs" --prepare start "$@"
code=$?
[ "$code" -eq 100 ] || exit "$code"
# npm may have been killed meanwhile. Nothing would ever stop the launcher.
[ -z "${npm_lifecycle_event:-}" ] || kill -0 "$PPID" 2>/dev/null || exit
exec "$modules/node/bin/node" "$root/dev/start.ts" "$@" </dev/null
