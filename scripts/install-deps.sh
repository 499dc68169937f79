#!/usr/bin/env bash
# Installs what building and testing Meshwright needs on Debian 12, all from Debian's own packages.
# Does nothing if everything is there.
set -euo pipefail

packages=(
  cmake ninja-build g++ pkg-config
  libabsl-dev libcli11-dev nlohmann-json3-dev libprotobuf-dev libyaml-cpp-dev protobuf-compiler
  zlib1g-dev nettle-dev libsqlite3-dev
  python3-venv
  clang-format clang-tidy libgtest-dev libgmock-dev libbenchmark-dev coinor-libcbc-dev shellcheck chromium fonts-dejavu-core  # tests and benchmarks only
)

# Builds the report's page. Node.js from elsewhere brings its own npm, which Debian's package would clash with.
command -v npm >/dev/null || packages+=(nodejs npm)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -eq 0 ]; then exit 0; fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
echo "installing: ${missing[*]}"
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
