# `dspark-mini grade` in a container, from Debian packages and PyPI only. docs/instructors.md says how to run it.
FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap ca-certificates libseccomp2 python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --system --no-create-home --shell /usr/sbin/nologin student
WORKDIR /kit
COPY pyproject.toml README.md LICENSE ./
COPY dspark_mini dspark_mini
COPY grader grader
COPY notebooks notebooks
COPY solutions solutions
RUN python3 -m venv /opt/dspark_mini \
    && /opt/dspark_mini/bin/pip install --no-cache-dir -e ".[grade]" \
    && chmod -R go= /kit
WORKDIR /work
ENTRYPOINT ["/opt/dspark_mini/bin/dspark-mini", "grade"]
