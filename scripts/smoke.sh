#!/usr/bin/env bash
# Prove docker-compose.yml from outside, in a project and on free ports of its own: the
# first `up` serves, limits refuse and tell when to come back, a second `up` on the old
# volume keeps the money, two instances share one bucket, and SIGTERM ends with exit 0.
#
#   scripts/smoke.sh COMPOSE-COMMAND...
set -euo pipefail

compose=("$@")
show=(api)
# shellcheck source=scripts/smoke-caller.sh
source scripts/smoke-caller.sh
export COMPOSE_PROJECT_NAME=bankapi-smoke BANKAPI_EDGE_NET=10.213.82 BANKAPI_PUBLISH=127.0.0.1: # the engine picks the ports

main() {
	trap 'compose_quietly down --volumes' EXIT
	compose_quietly down --volumes

	step 'first up'
	scripts/compose-up.sh "${compose[@]}"
	local first second
	first=$(instance 1)
	expect 200 "$(status "$first/healthz")" 'GET /healthz'
	expect 200 "$(status "$first/readyz")" 'GET /readyz'
	expect 401 "$(status "$first/accounts")" 'GET /accounts without a token'

	log_in "$first"
	local from to
	read -r from to <<<"$(accounts "$first" | head -n 2 | xargs)"
	sleep 1
	expect 201 "$(transfer "$first" "$from" "$to" one)" 'transfer one'
	expect 201 "$(transfer "$first" "$from" "$to" two)" 'transfer two'
	expect 429 "$(transfer "$first" "$from" "$to" three)" 'transfer three'

	step 'orderly end'
	local api
	api=$("${compose[@]}" ps -q api)
	"${compose[@]}" stop api
	expect 0 "$(docker inspect -f '{{.State.ExitCode}}' "$api")" 'exit code after SIGTERM'
	"${compose[@]}" down

	step 'second up on the old volume, two instances'
	scripts/compose-up.sh "${compose[@]}" -- --scale api=2
	first=$(instance 1)
	second=$(instance 2)
	log_in "$first"
	expect 201 "$(transfer "$first" "$from" "$to" one)" 'transfer one again, a replay'
	expect true "$(replayed)" 'Idempotent-Replayed'
	sleep 5
	expect 201 "$(transfer "$second" "$from" "$to" three)" 'transfer three at the second instance'
	expect 201 "$(transfer "$first" "$from" "$to" four)" 'transfer four at the first'
	expect 429 "$(transfer "$second" "$from" "$to" five)" 'transfer five at the second'
	echo 'smoke: all as expected'
}

instance() { echo "http://$("${compose[@]}" port --index="$1" api 8080)"; }

main
