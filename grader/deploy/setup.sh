#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image (Ubuntu or Debian).
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ca-certificates libseccomp2 python3 python3-venv
id student-code > /dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin student-code
python3 -m venv /opt/dspark_mini
/opt/dspark_mini/bin/pip install -e /autograder/source/kit "pyseccomp>=0.1.2"
chmod -R go= /autograder/source # hidden cases and secret: not for the user that runs the student's code
