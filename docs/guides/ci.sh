#!/usr/bin/env bash
# The checks of a project that need no NPU: its sources, its tests and wheel, whether its deliverables agree.
set -euo pipefail
opwright lint . --format sarif -o lint.sarif
.ci/run
opwright check . --json check.json --html check.html
