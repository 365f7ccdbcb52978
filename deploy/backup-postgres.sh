#!/bin/sh
# A backup of svc's PostgreSQL database, beside live instances, for cron or a systemd timer:
#   backup-postgres.sh 'postgres://svc@db.example/svc?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt' /backups
# The password comes from PGPASSWORD or ~/.pgpass. Keeps what is there; removes nothing.
set -eu
url=${1:?the address of the database comes first}
folder=${2:?the folder of the backups comes second}
umask 077
file="$folder/svc-$(date -u +%Y%m%dT%H%M%SZ).dump"
trap 'rm -f "$file.part"' EXIT
pg_dump --format=custom --no-owner --dbname="$url" --file="$file.part"
# A dump that pg_restore can read to its end is whole; --list reads the beginning alone.
pg_restore --file=/dev/null "$file.part"
mv "$file.part" "$file"
echo "$file"
