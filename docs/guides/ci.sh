#!/usr/bin/env bash
# What a machine without NPU can say of a project: its sources, its tests and wheel, whether its deliverables agree.
set -euo pipefail
opwright lint . --format sarif -o lint.sarif
.ci/run
opwright check . --json check.json --html check.html
