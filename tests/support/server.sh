# Sourced by the scripts that want a running arbiterd: `work` is a folder of theirs, gone with the server at their end.
work=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    rm -rf "$work"
}
trap finish EXIT

# start_server ARBITERD ARGUMENT...: on a free port, which `port` says then; what it logs is in $work/server.log.
start_server() {
    : >"$work/server.log" # so that it can be read before the server is there
    "$@" --set net.port=0 2>"$work/server.log" &
    server=$!
    await_ready
}

# await_ready: until the last line that is awaited is in the log of $server.
await_ready() {
    port=
    for _ in $(seq 2400); do
        port=$(sed -n 's/.*"event":"ready".*"port":\([0-9]*\).*/\1/p' "$work/server.log")
        [ -z "$port" ] || return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    cat "$work/server.log"
    echo "the server did not become ready"
    exit 1
}
