#!/bin/bash
# What the official entrypoint does, as far as this project uses it: drop root, make
# the cluster at the first start with a server that only its socket reaches, then
# become the real server, so that signals arrive.
set -euo pipefail

[[ ${1-} != -* ]] || set -- postgres "$@"
[[ ${1-} == postgres ]] || exec "$@"

if [[ $EUID == 0 ]]; then
	install -d -m 0700 -o postgres -g postgres "$PGDATA"
	chown -R postgres:postgres "$PGDATA" /run/postgresql
	exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

echo "stand-in for the official postgres image: $(postgres --version)"

user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}

init_cluster() {
	: "${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD to a non-empty value for the superuser}"
	initdb --username="$user" --pwfile=<(echo "$POSTGRES_PASSWORD") \
		--auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 >/dev/null
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
	[[ $database != postgres ]] || return 0
	pg_ctl start --silent --wait --options="-c listen_addresses=''"
	createdb --username="$user" --maintenance-db=postgres -- "$database"
	pg_ctl stop --silent --wait --mode=fast
}

if [[ ! -s $PGDATA/PG_VERSION ]]; then
	init_cluster
elif [[ " $(postgres --version)" != *" $(<"$PGDATA/PG_VERSION")."* ]]; then
	echo "the data in $PGDATA belong to PostgreSQL $(<"$PGDATA/PG_VERSION"): remove the volume or run that version" >&2
	exit 1
fi
exec "$@"
