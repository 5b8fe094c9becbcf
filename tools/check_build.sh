#!/bin/sh
# Does what stands in dist/ work where the repository is not? Needs `make build` before it.
set -eu
cd "$(dirname "$0")/.."
here=$PWD/build/check

rm -rf "$here"
mkdir -p "$here/empty"
"${PYTHON:-python3}" -m venv "$here/venv"
"$here/venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl

cd "$here/empty"
unset PYTHONPATH
PATH=$here/venv/bin:$PATH
rle --version
rle train fourroom --total-steps 20000
rle report runs
echo "PASSED: the wheel installs, trains and reports"
