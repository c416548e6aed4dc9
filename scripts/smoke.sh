#!/usr/bin/env bash
# Prove docker-compose.yml from outside, in a project and on free ports of its own: the
# first `up` serves, limits refuse and tell when to come back, a second `up` on the old
# volume keeps the money, two instances share one bucket, and SIGTERM ends with exit 0.
#
#   scripts/smoke.sh COMPOSE-COMMAND...
set -euo pipefail

compose=("$@")
export COMPOSE_PROJECT_NAME=bankapi-smoke BANKAPI_PUBLISH=127.0.0.1: # the engine picks the ports

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

status() { curl --silent --show-error --max-time 10 --output /dev/null --write-out '%{http_code}' "$@"; }

log_in() {
	local answer
	answer=$(curl --silent --show-error --fail-with-body --max-time 10 "$1/sessions" -H 'Content-Type: application/json' \
		-d '{"email":"ada@example.com","password":"correct-horse-battery-staple"}')
	token=$(grep -o '"token":"[^"]*"' <<<"$answer" | cut -d '"' -f 4)
}

# accounts prints the ids of ada's NGN accounts.
accounts() {
	curl --silent --show-error --fail-with-body --max-time 10 "$1/accounts" -H "Authorization: Bearer $token" |
		grep -o '{[^{}]*}' | grep '"currency":"NGN"' | grep -o 'acct_[a-z0-9]*'
}

headers=$(mktemp)
# transfer BASE FROM TO KEY moves 1.00 NGN and prints the status.
transfer() {
	status "$1/transfers" --dump-header "$headers" \
		-H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H "Idempotency-Key: smoke-$4" \
		-d "{\"from_account\":\"$2\",\"to_account\":\"$3\",\"amount\":100,\"currency\":\"NGN\"}"
}

replayed() { awk 'tolower($1) == "idempotent-replayed:" { sub("\r", ""); print $2 }' "$headers"; }

expect() {
	if [[ $1 != "$2" ]]; then
		echo "smoke: $3: want $1, got $2" >&2
		[[ ! -s $headers ]] || cat "$headers" >&2
		"${compose[@]}" logs --tail 40 api >&2
		exit 1
	fi
	echo "smoke: $3: $2"
}

step() { echo "smoke: == $*"; }
compose_quietly() { "${compose[@]}" "$@" >/dev/null 2>&1; }

main
