#!/bin/sh
# Checks what greet.sh says.
here=$(dirname "$0")
expect() {
    if [ "$1" = "$2" ]; then echo "ok: $1"; else echo "not ok: $1, expected $2"; exit 1; fi
}
expect "$(sh "$here/greet.sh" Ada)" "Hello, Ada!"
expect "$(sh "$here/greet.sh")" "Hello, stranger!"
