#!/usr/bin/env bash
# Start the containers, wait until what callers reach is healthy, say where it listens.
#
#   scripts/compose-up.sh [--fleet] COMPOSE-COMMAND... [-- UP-OPTION...]
#
# --fleet: three instances behind nginx, instead of the one that is reached directly. Each
# takes the other's place: they are one bank, on one database.
set -euo pipefail

door=api port=8080
instead_of=(nginx api-1 api-2 api-3)
if [[ ${1-} == --fleet ]]; then
	door=nginx port=8000
	instead_of=(api)
	shift
fi

compose=()
while [[ $# -gt 0 && $1 != -- ]]; do
	compose+=("$1")
	shift
done
[[ $# -eq 0 ]] || shift
compose+=(--profile fleet)

# Builds fetch modules from where this machine fetches them, if it has Go at all.
if command -v go >/dev/null; then
	GOPROXY=$(go env GOPROXY)
	GOSUMDB=$(go env GOSUMDB)
	export GOPROXY GOSUMDB
fi

"${compose[@]}" rm --stop --force "${instead_of[@]}" >/dev/null 2>&1 || true # up tells what is wrong
"${compose[@]}" up --detach --build "$@" "$door"

for ((tenths = 0; tenths < 600; tenths++)); do
	states=$("${compose[@]}" ps -q "$door" | xargs docker inspect -f '{{.State.Health.Status}}' | sort -u)
	if [[ $states == healthy ]]; then
		echo "the bank listens on http://$("${compose[@]}" port "$door" "$port"); stop it with: make down"
		exit
	fi
	sleep 0.1
done

"${compose[@]}" ps
"${compose[@]}" logs --tail 30 migrate "$door"
echo "$door did not become healthy within a minute" >&2
exit 1
