# A temporary PostgreSQL server: `sh postgres.sh BIN PORT`, as a user who is not root.
#
# It prints its folder once it answers, obeys "crash", "stop", and "start" on standard input, and ends with its
# caller: when standard input closes, for any reason, the server is stopped and the folder removed.
bin=$1
port=$2
trap '' INT HUP TERM PIPE
folder=$(mktemp -d /tmp/trimtab-postgres.XXXXXX) || exit 1
certify() {
    cat >"$folder/openssl.cnf" <<'END'
[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
CN = localhost
[extensions]
basicConstraints = critical,CA:FALSE
subjectAltName = DNS:localhost
END
    openssl req -x509 -config "$folder/openssl.cnf" -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -keyout "$folder/server.key" -out "$folder/server.crt" 2>>"$folder/log" && chmod 600 "$folder/server.key"
}
begin() {
    "$bin/postgres" -D "$folder/data" -c listen_addresses=127.0.0.1 -c port="$port" -c max_connections=300 \
        -c unix_socket_directories="$folder" -c fsync=off -c full_page_writes=off -c shared_buffers=32MB \
        -c max_wal_size=256MB -c deadlock_timeout=200ms $tls >>"$folder/log" 2>&1 </dev/null &
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
    # Who is called "ann" needs a password.
    printf '%s\n' 'host all ann all scram-sha-256' "$(cat "$folder/data/pg_hba.conf")" >"$folder/data/pg_hba.conf"
    tls=
    certify && tls="-c ssl=on -c ssl_cert_file=$folder/server.crt -c ssl_key_file=$folder/server.key"
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
