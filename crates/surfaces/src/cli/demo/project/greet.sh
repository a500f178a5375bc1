#!/bin/sh
# Prints a greeting.
echo "Hello, $1!"
