#!/bin/sh
# Runs deploy/compose.yaml from nothing, sends the printed request, and removes everything again, data included.
# Needs the images (npm run image -- core facade edge agent). COMPOSE: docker compose, or podman-compose (the default).
# Variables of the file count: ports, POSTGRES_IMAGE, ENGINE_SOCKET.
set -eu
cd "$(dirname "$0")"
compose="${COMPOSE:-podman-compose} -p slipway-try -f compose.yaml"
trap '$compose down -v >/dev/null 2>&1' EXIT
started=$(date +%s)
$compose up -d >/dev/null 2>&1
tries=0
until $compose logs setup 2>/dev/null | grep -q 'curl -s'; do
  tries=$((tries + 1))
  [ "$tries" -lt 180 ] || { $compose logs; echo "The setup did not end."; exit 1; }
  sleep 1
done
echo "ready after $(($(date +%s) - started)) s"
request=$($compose logs setup 2>/dev/null | grep -o 'curl -s .*}' | head -1)
answer=$(sh -c "$request'")
echo "$answer"
case $answer in *'"status":"COMPLETED"'*'"hello":"Ada"'*) echo "it works, after $(($(date +%s) - started)) s" ;; *) $compose logs agent; exit 1 ;; esac
