#!/usr/bin/env bash
# Start the containers, wait until every API instance is healthy, say where it listens.
#
#   scripts/compose-up.sh COMPOSE-COMMAND... [-- UP-OPTION...]
set -euo pipefail

compose=()
while [[ $# -gt 0 && $1 != -- ]]; do
	compose+=("$1")
	shift
done
[[ $# -eq 0 ]] || shift

# Builds fetch modules from where this machine fetches them, if it has Go at all.
if command -v go >/dev/null; then
	GOPROXY=$(go env GOPROXY)
	GOSUMDB=$(go env GOSUMDB)
	export GOPROXY GOSUMDB
fi

"${compose[@]}" up --detach --build "$@"

for ((tenths = 0; tenths < 600; tenths++)); do
	states=$("${compose[@]}" ps -q api | xargs docker inspect -f '{{.State.Health.Status}}' | sort -u)
	if [[ $states == healthy ]]; then
		echo "the bank listens on http://$("${compose[@]}" port api 8080); stop it with: make down"
		exit
	fi
	sleep 0.1
done

"${compose[@]}" ps
"${compose[@]}" logs --tail 30 migrate api
echo 'the API did not become healthy within a minute' >&2
exit 1
