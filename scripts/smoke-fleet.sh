#!/usr/bin/env bash
# Prove `make fleet` from outside, in a project, a network and on ports of its own: three
# instances share one bucket through nginx, made-up addresses change nothing, Redis stops
# and comes back, an instance is killed, and all end in good order.
#
#   scripts/smoke-fleet.sh COMPOSE-COMMAND...
set -euo pipefail

compose=("$@" --profile fleet)
show=(nginx api-1 api-2 api-3)
# shellcheck source=scripts/smoke-caller.sh
source scripts/smoke-caller.sh
readonly net=10.213.81
export COMPOSE_PROJECT_NAME=bankapi-smoke-fleet BANKAPI_EDGE_NET=$net BANKAPI_FLEET_PUBLISH=127.0.0.1:
readonly instances=(api-1 api-2 api-3)
notes=$(mktemp -d) # what the callers of the last step were answered

main() {
	trap 'compose_quietly down --volumes' EXIT
	compose_quietly down --volumes

	step 'three instances behind nginx'
	scripts/compose-up.sh --fleet "$@"
	edge=http://$("${compose[@]}" port nginx 8000)
	expect 200 "$(status "$edge/readyz")" 'GET /readyz through nginx'
	log_in "$edge"
	read -r from to <<<"$(accounts "$edge" | head -n 2 | xargs)"

	one_bucket
	made_up_addresses
	redis_away
	redis_back
	instance_killed
	orderly_end
	echo 'smoke: all as expected'
}

one_bucket() {
	step 'one bucket for all instances'
	sleep 1
	two_transfers_pass shared
	expect 3 "$(last_served_by)" 'instances that answered these three'
}

# two_transfers_pass NAME: of three transfers at once a full bucket admits two. A machine that
# is so busy that the third one has its tokens back by then shows nothing: try again.
two_transfers_pass() {
	local try began answers
	for try in 1 2 3 4 5; do
		began=$(now_ms)
		answers=$(three_at_once "$1-$try")
		[[ $answers != '201 201 429' && $(($(now_ms) - began)) -ge 2000 ]] || break
		sleep 6
	done
	expect '201 201 429' "$answers" 'three transfers at once'
}

three_at_once() {
	local n
	for n in 1 2 3; do
		[[ $n == 1 ]] || echo next
		printf '%s = "%s"\n' url "$edge/transfers" header "$bearer" header "$json" header "Idempotency-Key: smoke-$1-$n" \
			output /dev/null write-out '%{http_code}\n' max-time 20
		printf 'data = "%s"\n' "{\\\"from_account\\\":\\\"$from\\\",\\\"to_account\\\":\\\"$to\\\",\\\"amount\\\":100,\\\"currency\\\":\\\"NGN\\\"}"
	done | curl --parallel --parallel-immediate --no-progress-meter --config - | sort | xargs
}

# last_served_by counts the instances in nginx's lines of the last three transfers.
last_served_by() {
	"${compose[@]}" logs --no-color --tail 50 nginx | grep '"POST /transfers"' | tail -n 3 |
		grep -o 'upstream=[0-9.]*' | sort -u | wc -l
}

made_up_addresses() {
	step 'made-up addresses'
	local began=$SECONDS passed
	passed=$(gets 60 "$edge/me" lie | grep -c 401)
	# 20 at once and 5 a second, and the second that has begun.
	expect_between 20 $((20 + 5 * (SECONDS - began + 1))) "$passed" 'of 60 requests without a token, each from another made-up address, looked at'
	expect 401 "$(elsewhere 1 "$net.10" 8000 | head -n 1)" 'a first one from another machine'
	passed=$(elsewhere 60 "$net.11" 8080 | grep -c 401)
	expect_between 19 59 "$passed" 'of 60 that go around nginx and lie, looked at'
}

redis_away() {
	step 'Redis is stopped'
	local name began seen passed most
	declare -A before
	for name in "${instances[@]}"; do before[$name]=$(metric "$name" "$here"); done
	"${compose[@]}" stop redis
	began=$SECONDS
	gets 30 "$edge/me" "$bearer" >"$notes/away"
	seen=$((SECONDS - began + 1)) # whole seconds in which tokens came back

	expect '200 429' "$(sort -u "$notes/away" | xargs)" 'answers to 30 reads'
	passed=$(grep -c 200 "$notes/away")
	expect_between 9 $((10 + 2 * seen)) "$passed" 'of them let in, 10 at 2/s shared out'
	most=$((3 + (2 * seen + 2) / 3))
	for name in "${instances[@]}"; do
		expect_between 3 "$most" $(($(metric "$name" "$here") - ${before[$name]})) "of them by $name, its third"
		expect_between 1 1000000 "$(metric "$name" 'bankapi_ratelimit_store_failures_total{store="redis"}')" "store failures that $name counted"
		expect_between 1 1000000 "$("${compose[@]}" logs --no-color "$name" | grep -c 'limiter store failed')" "warnings in the log of $name"
	done
}

readonly here='bankapi_ratelimit_decisions_total{outcome="admitted_here",policy="user"}'

redis_back() {
	step 'Redis is back'
	"${compose[@]}" start redis
	until "${compose[@]}" exec -T redis redis-cli ping | grep -q PONG; do sleep 0.1; done
	sleep 2
	two_transfers_pass again
}

# instance_killed kills one of three under transfers and reads. A read never notices. A
# transfer that was under way may be answered 503: nobody knows; the same key then tells.
instance_killed() {
	step 'an instance is killed'
	"${compose[@]}" exec -T postgres psql --quiet -U bankapi -c "UPDATE users SET plan = 'enterprise' WHERE email = 'ada@example.com'"
	log_in "$edge"
	local before after workers=() killed n
	before=$(balance "$from")
	for n in 1 2; do
		send "out-$n" "$from" "$to" 100 & workers+=($!)
		send "home-$n" "$to" "$from" 7 & workers+=($!)
		read_on "$n" & workers+=($!)
	done
	until [[ $(cat "$notes"/sent-* 2>/dev/null | wc -l) -ge 10 ]]; do sleep 0.05; done
	killed=$("${compose[@]}" ps -q api-2)
	docker kill "$killed" >/dev/null
	wait "${workers[@]}"

	expect 200 "$(cat "$notes"/read-* | sort -u | xargs)" "answers to $(cat "$notes"/read-* | wc -l) reads"
	echo "smoke: answers to 48 transfers:$(cut -d ' ' -f 2 "$notes"/sent-* | sort | uniq -c | xargs -n 2 printf ' %s x %s')"
	expect '' "$(cut -d ' ' -f 2 "$notes"/sent-* | grep -vx -e 201 -e 503)" 'other answers than 201 and 503'
	local key a b amount
	while read -r key _ a b amount _; do
		expect 201 "$(transfer "$edge" "$a" "$b" "$key" "$amount")" "$key once more"
		location >>"$notes/locations"
	done < <(grep -h ' 503 ' "$notes"/sent-*)
	grep -ho '/transfers/.*' "$notes"/sent-* >>"$notes/locations"

	after=$(balance "$from")
	expect $((24 * (100 - 7))) $((before - after)) 'gone from the account, by 24 transfers of 100 and 24 of 7 back'
	entries "$from" >"$notes/entries"
	expect 48 "$(sort -u "$notes/locations" | cut -d / -f 3 | grep -cxFf - "$notes/entries")" 'of them once in its statement'
	expect ok "$("${compose[@]}" run --rm --no-deps -T migrate verify | grep -o '^ok')" 'bankapi verify'
	"${compose[@]}" start api-2
}

# send NAME FROM TO AMOUNT makes 12 transfers and notes: key, status, from, to, amount and,
# of a 201, the location.
send() {
	local n
	headers=$notes/headers-$1
	for n in {1..12}; do
		echo "$1-$n $(transfer "$edge" "$2" "$3" "$1-$n" "$4") $2 $3 $4 $(location)" >>"$notes/sent-$1"
	done
	touch "$notes/over-$1"
}

# read_on reads until the transfers of the same number are made.
read_on() {
	until [[ -e $notes/over-out-$1 && -e $notes/over-home-$1 ]]; do
		echo "$(status "$edge/me" -H "$bearer")" >>"$notes/read-$1"
	done
}

orderly_end() {
	step 'orderly end'
	local name container
	declare -A containers
	for name in nginx "${instances[@]}"; do containers[$name]=$("${compose[@]}" ps -q "$name"); done
	until [[ $(docker inspect -f '{{.State.Health.Status}}' "${containers[api-2]}") == healthy ]]; do sleep 0.2; done
	"${compose[@]}" stop nginx "${instances[@]}"
	for name in nginx "${instances[@]}"; do
		expect 0 "$(docker inspect -f '{{.State.ExitCode}}' "${containers[$name]}")" "exit code of $name"
	done
}

# gets N URL lie: N reads over one connection, each with another made-up address. With a
# header instead of the word: with that header. It prints the statuses.
gets() {
	local n
	for ((n = 1; n <= $1; n++)); do
		[[ $n == 1 ]] || echo next
		printf 'url = "%s"\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\nsilent\nshow-error\nmax-time = 20\n' "$2"
		case "$3" in
		lie) printf 'header = "%s: 203.0.113.%d"\n' X-Forwarded-For "$n" X-Real-IP "$n" True-Client-IP "$n" ;;
		*) printf 'header = "%s"\n' "$3" ;;
		esac
	done | curl --config -
}

# elsewhere N ADDRESS PORT: N reads without a token and from made-up addresses, by a machine
# of its own in the network of nginx. It prints the statuses.
elsewhere() {
	# shellcheck disable=SC2016 # the container's shell fills these in
	docker run --rm --network "${COMPOSE_PROJECT_NAME}_edge" --ip "$net.20" --entrypoint bash redis:8 -c '
		for ((n = 1; n <= $0; n++)); do
			exec 3<>"/dev/tcp/$1/$2"
			printf "GET /me HTTP/1.0\r\nHost: bank\r\nX-Forwarded-For: 198.51.100.$n\r\n\r\n" >&3
			read -r _ status _ <&3
			echo "$status"
			exec 3>&-
		done' "$1" "$2" "$3"
}

# metric INSTANCE SERIES prints the number; 0 when there is no such series yet.
metric() {
	quiet_curl --fail "http://$("${compose[@]}" port "$1" 8081)/metrics" |
		awk -v series="$2" '$1 == series { n = $2 } END { print n + 0 }'
}

balance() {
	quiet_curl --fail-with-body "$edge/accounts/$1" -H "$bearer" | grep -o '"balance":[0-9]*' | cut -d : -f 2
}

# entries prints the ids of an account's last hundred transfers.
entries() {
	quiet_curl --fail-with-body "$edge/accounts/$1/entries?limit=100" -H "$bearer" | grep -o 'tr_[a-z0-9]*'
}

now_ms() { date +%s%3N; }

main "$@"
