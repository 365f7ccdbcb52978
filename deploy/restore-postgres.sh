#!/bin/sh
# Puts a backup into an empty database, and lets nothing be anchored until it was compared with the chain:
#   restore-postgres.sh /backups/svc-20261121T040000Z.dump 'postgres://svc@db.example/svc_restored?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt'
# Stop every instance first. The password comes from PGPASSWORD or ~/.pgpass. Afterwards, with SVC_CHAIN_RPC_URL and the
# anchoring keys in the environment: svc-server reconcile, then start.
set -eu
dump=${1:?the backup comes first}
url=${2:?the address of an empty database comes second}
pg_restore --exit-on-error --single-transaction --no-owner --dbname="$url" "$dump"
# A backup of an older version: hold needs the schema of this one. Neither starts anything.
SVC_DATABASE_URL=$url svc-server migrate
SVC_DATABASE_URL=$url svc-server hold
