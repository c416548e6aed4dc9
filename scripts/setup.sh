#!/usr/bin/env bash
# See to it that the named things are on this machine: postgres, redis, nginx, cc.
# As root on Debian what is missing is installed; anyone else is told what to do.
# Quick and silent when all is there.
#
#   scripts/setup.sh [--optional] THING...
#
# --optional: what is missing is only mentioned (the bank can fetch a PostgreSQL itself).
set -euo pipefail

optional=false
if [[ ${1-} == --optional ]]; then
	optional=true
	shift
fi

main() {
	local thing packages=()
	for thing in "$@"; do
		"has_$thing" || packages+=("$(package_of "$thing")")
	done
	[[ ${#packages[@]} -gt 0 ]] || return 0

	if [[ $EUID == 0 ]] && command -v apt-get >/dev/null; then
		install "${packages[@]}"
	else
		explain "${packages[@]}"
	fi
}

has_postgres() {
	local initdb
	[[ -z ${BANKAPI_TEST_DATABASE_URL-} ]] || return 0
	for initdb in "$(command -v initdb)" "$(pg_config --bindir 2>/dev/null)/initdb" /usr/lib/postgresql/*/bin/initdb; do
		[[ ! -x $initdb ]] || return 0
	done
	return 1
}

has_redis() {
	[[ -n ${BANKAPI_TEST_REDIS_URL-} ]] || command -v redis-server >/dev/null
}

has_nginx() {
	command -v nginx >/dev/null || [[ -x /usr/sbin/nginx ]]
}

has_cc() {
	command -v cc >/dev/null || command -v gcc >/dev/null
}

package_of() {
	case "$1" in
	postgres) echo postgresql ;;
	redis) echo redis-server ;;
	nginx) echo nginx-light ;;
	cc) echo gcc libc6-dev ;;
	esac
}

install() {
	echo "setup: installing $*"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	# shellcheck disable=SC2068 # an entry may be two packages
	apt-get install -qq --yes --no-install-recommends $@ >/dev/null
}

explain() {
	{
		echo "setup: missing here: $*"
		if command -v apt-get >/dev/null; then
			echo "  install them:  sudo apt-get install --yes --no-install-recommends $*"
		elif command -v brew >/dev/null; then
			echo "  install them:  brew install postgresql redis"
		fi
		$optional || echo "  or name servers that run already in BANKAPI_TEST_DATABASE_URL and BANKAPI_TEST_REDIS_URL"
	} >&2
	$optional
}

main "$@"
