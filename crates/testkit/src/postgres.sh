# A temporary PostgreSQL server: `sh postgres.sh BIN PORT`, as a user who is not root.
#
# It prints its folder once it answers, obeys "crash", "stop", and "start" on standard input, and ends with its
# caller: when standard input closes, for any reason, the server is stopped and the folder removed.
bin=$1
port=$2
trap '' INT HUP TERM
folder=$(mktemp -d /tmp/trimtab-postgres.XXXXXX) || exit 1
begin() {
    "$bin/postgres" -D "$folder/data" -c listen_addresses=127.0.0.1 -c port="$port" -c max_connections=300 \
        -c unix_socket_directories="$folder" -c fsync=off -c full_page_writes=off -c shared_buffers=32MB \
        -c max_wal_size=256MB -c deadlock_timeout=200ms >>"$folder/log" 2>&1 </dev/null &
    server=$!
    for _ in $(seq 300); do
        "$bin/pg_isready" -q -h "$folder" -p "$port" -d postgres && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    cat "$folder/log" >&2
}
end() {
    kill "-$1" "$server" 2>/dev/null
    wait "$server" 2>/dev/null
}
if "$bin/initdb" -D "$folder/data" -U trimtab -A trust -E UTF8 --locale=C --no-sync >"$folder/log" 2>&1; then
    begin
    echo "$folder"
    while read -r order; do
        case $order in
            crash) end KILL ;;
            stop) end INT ;;
            start) begin ;;
        esac
        echo "$order"
    done
    end QUIT
else
    cat "$folder/log" >&2
fi
rm -rf "$folder"
