#!/usr/bin/env bash
# Checks for the tools that come from the system's packages. What is missing is installed with apt-get if this
# runs as root, or named in one line. PYTHON: the interpreter to use. Without the optional ones some tests are skipped.
set -euo pipefail

python=${PYTHON:-python3}
missing=()
optional=()
need() { missing+=("$1"); }

if ! command -v "$python" >/dev/null; then
  need python3 && need python3-venv && need python3-dev
else
  "$python" -c 'import ensurepip, venv' 2>/dev/null || need python3-venv
  # cocotb loads the interpreter as a shared library
  "$python" -c 'import ctypes, sysconfig; ctypes.CDLL(sysconfig.get_config_var("INSTSONAME"))' 2>/dev/null ||
    need python3-dev
fi
major_java() { java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p'; }
if ! command -v javac >/dev/null || [ "$(major_java)" -lt 11 ]; then need default-jdk-headless; fi
command -v mvn >/dev/null || need maven
command -v g++ >/dev/null || need g++
command -v gcc >/dev/null || need gcc
command -v make >/dev/null || need make
# Verilator's front end
perl -MPod::Usage -e 1 2>/dev/null || need perl
# the test of the Wireshark dissector
command -v tshark >/dev/null || optional+=(tshark)
# weir-sim live
PATH=$PATH:/usr/sbin:/sbin command -v ip >/dev/null || optional+=(iproute2)
command -v ping >/dev/null || optional+=(iputils-ping)
command -v iperf3 >/dev/null || optional+=(iperf3)

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "weir: packages are missing; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "== apt-get install ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install --no-install-recommends "${missing[@]}" >/dev/null
fi
if [ ${#optional[@]} -gt 0 ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "== apt-get install ${optional[*]} (optional)"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get -qq update && apt-get -qq install --no-install-recommends "${optional[@]}"; } >/dev/null 2>&1 ||
    echo "weir: ${optional[*]} cannot be installed; its tests will be skipped" >&2
fi

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "weir: $("$python" --version) is too old; Python 3.11 or newer is needed (make PYTHON=python3.12 …)" >&2
  exit 1
fi
