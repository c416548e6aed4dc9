# A caller of the bank for the smoke tests, to be sourced. It needs `compose`, the compose
# command as an array, and `show`, the services whose log explains a failure.
# shellcheck shell=bash disable=SC2154

headers=$(mktemp)
readonly json='Content-Type: application/json'

quiet_curl() { curl --silent --show-error --max-time 20 "$@"; }

status() { quiet_curl --output /dev/null --write-out '%{http_code}' "$@"; }

log_in() {
	local answer
	answer=$(quiet_curl --fail-with-body "$1/sessions" -H "$json" \
		-d '{"email":"ada@example.com","password":"correct-horse-battery-staple"}')
	token=$(grep -o '"token":"[^"]*"' <<<"$answer" | cut -d '"' -f 4)
	bearer="Authorization: Bearer $token"
}

# accounts prints the ids of ada's NGN accounts.
accounts() {
	quiet_curl --fail-with-body "$1/accounts" -H "$bearer" |
		grep -o '{[^{}]*}' | grep '"currency":"NGN"' | grep -o 'acct_[a-z0-9]*'
}

# transfer BASE FROM TO KEY [AMOUNT] moves 1.00 NGN, or the amount, and prints the status.
transfer() {
	: >"$headers"
	status "$1/transfers" --dump-header "$headers" -H "$bearer" -H "$json" -H "Idempotency-Key: smoke-$4" \
		-d "{\"from_account\":\"$2\",\"to_account\":\"$3\",\"amount\":${5:-100},\"currency\":\"NGN\"}"
}

# replayed and location are headers of the last transfer's answer.
replayed() { header idempotent-replayed; }
location() { header location; }
header() { awk -v name="$1:" 'tolower($1) == name { sub("\r", ""); print $2 }' "$headers"; }

expect() {
	if [[ $1 != "$2" ]]; then
		echo "smoke: $3: want $1, got $2" >&2
		[[ ! -s $headers ]] || cat "$headers" >&2
		"${compose[@]}" logs --tail 40 "${show[@]}" >&2
		exit 1
	fi
	echo "smoke: $3: $2"
}

# expect_between LEAST MOST GOT WHAT
expect_between() {
	local within=no
	[[ $3 -lt $1 || $3 -gt $2 ]] || within=yes
	expect yes "$within" "$4: $3, between $1 and $2"
}

step() { echo "smoke: == $* ($SECONDS s)"; }
compose_quietly() { "${compose[@]}" "$@" >/dev/null 2>&1; }
