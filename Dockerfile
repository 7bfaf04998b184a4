# syntax=docker/dockerfile:1
# The environment of uv.lock, for a user without rights: docs/cluster.md#a-container. A checkout is mounted.
#   docker build -t vouch .                                        CPU
#   docker build -t vouch:cuda --build-arg TORCH=cuda .            CUDA, which comes with torch; the driver is the node's
#   docker build --build-arg EXTRAS="remotes video" ...            further extras of pyproject.toml
FROM python:3.12-slim-bookworm
ARG TORCH=cpu
ARG EXTRAS=""
RUN apt-get update && apt-get install --yes --no-install-recommends git make && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 1000 --create-home vouch && install --directory --owner vouch /opt/vouch
USER vouch
WORKDIR /opt/vouch
COPY --chown=vouch . .
RUN make install PYTHON=python3 TORCH="$TORCH" EXTRAS="$EXTRAS" && rm -rf /home/vouch/.cache
# the code of the folder that one works in comes first; git trusts a checkout that another user owns
ENV PATH=/opt/vouch/.venv/bin:$PATH PYTHONPATH=. GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*
WORKDIR /work
CMD ["vouch", "--help"]
