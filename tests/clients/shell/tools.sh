#!/usr/bin/env bash
# The tools beside the shell: mysqladmin, mysqlcheck, mysqlshow, mysqlimport, mysqlslap, as far as they are installed.
. "$(dirname "$0")/../lib.sh"
passed=0 failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tool() { local name=$1; shift; "$name" --no-defaults -h"$HOST" -P"$PORT" -u"$USER_NAME" ${PASSWORD:+-p"$PASSWORD"} "$@"; }
check() { # what, pattern, text
    if echo "$3" | grep -q -E -- "$2"; then passed=$((passed + 1)); else
        failed=$((failed + 1)); printf 'FAIL tools: %s\n  expected: %s\n  actual:   %s\n' "$1" "$2" "$(echo "$3" | tail -3 | cut -c1-300)"
    fi
}
needs() { for name in "$@"; do command -v "$name" >/dev/null || { echo "shell: $name: LEFT OUT (not installed)" >&2; return 1; }; done; }
needs mysqladmin mysqlcheck mysqlshow mysqlimport mysqlslap || { echo "tools passed=0 failed=0"; exit 0; }

tool mysql -e 'DROP DATABASE IF EXISTS client_tools; CREATE DATABASE client_tools; CREATE TABLE client_tools.loaded (a INT, b VARCHAR(10), KEY (a)); DROP DATABASE IF EXISTS mysqlslap'
check "mysqladmin ping" "is alive" "$(tool mysqladmin ping 2>&1)"
check "mysqladmin status" "Uptime: [0-9]+ +Threads: [0-9]+ +Questions: [0-9]+" "$(tool mysqladmin status 2>&1)"
check "mysqladmin version" "Protocol version.*10" "$(tool mysqladmin version 2>&1)"
check "mysqladmin processlist" "root.*show processlist" "$(tool mysqladmin processlist 2>&1)"
check "mysqladmin variables" "max_allowed_packet" "$(tool mysqladmin variables 2>&1)"
check "mysqladmin extended-status" "Questions" "$(tool mysqladmin extended-status 2>&1)"
for command in flush-logs flush-status flush-tables flush-privileges reload "create client_tools2" "-f drop client_tools2"; do
    out=$(tool mysqladmin $command 2>&1); check "mysqladmin $command" "^0 " "$? $out"
done
check "mysqladmin kill" "Unknown thread id: 4000000" "$(tool mysqladmin kill 4000000 2>&1)"
printf '1\ta\n2\t\\N\n\\N\tb\\tc\n' >"$folder/loaded.txt"
check "mysqlimport" "Records: 3  Deleted: 0  Skipped: 0  Warnings: 0" "$(tool mysqlimport --local client_tools "$folder/loaded.txt" 2>&1)"
check "mysqlimport --delete --lock-tables" "Records: 3" "$(tool mysqlimport --local --delete --lock-tables client_tools "$folder/loaded.txt" 2>&1)"
check "what was loaded" "^3 3$" "$(tool mysql -N -e 'SELECT CONCAT(COUNT(*), " ", SUM(a)) FROM client_tools.loaded')"
check "mysqlshow" "client_tools" "$(tool mysqlshow 2>&1)"
check "mysqlshow of a database" "loaded" "$(tool mysqlshow client_tools 2>&1)"
check "mysqlshow of a table" "varchar\(10\)" "$(tool mysqlshow --keys client_tools loaded 2>&1)"
check "mysqlshow --status" "InnoDB" "$(tool mysqlshow --status client_tools 2>&1)"
check "mysqlcheck" "client_tools.loaded +OK" "$(tool mysqlcheck client_tools 2>&1)"
check "mysqlcheck --analyze" "client_tools.loaded +OK" "$(tool mysqlcheck --analyze client_tools 2>&1)"
check "mysqlcheck --optimize" "status +: OK" "$(tool mysqlcheck --optimize client_tools 2>&1)"
check "mysqlcheck --all-databases" "client_tools.loaded +OK" "$(tool mysqlcheck --all-databases 2>&1)"
for options in "" "--auto-generate-sql-add-autoincrement --auto-generate-sql-load-type=mixed" "--auto-generate-sql-guid-primary --commit=5"; do
    check "mysqlslap $options" "Number of clients running queries: 2" "$(tool mysqlslap --auto-generate-sql $options --concurrency=2 --number-of-queries=40 2>&1)"
done
tool mysql -e 'DROP DATABASE client_tools'
echo "tools passed=$passed failed=$failed"
[ $failed = 0 ]
