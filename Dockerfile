# evalbench as a command; see docs/containers.md.
#
#   docker build -t evalbench .                                     hosted models
#   docker build -t evalbench --build-arg EXTRAS=providers,local .  models in the container too
#
#   docker run --rm --init -v evalbench:/data -e ANTHROPIC_API_KEY evalbench \
#       run mmlu --model anthropic/NAME --family chat --limit 100 --foreground
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist

FROM python:${PYTHON}-slim
ARG EXTRAS=providers
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(echo /dist/*.whl)[${EXTRAS}]" && rm -r /dist \
    && useradd --uid 1000 --create-home evalbench \
    && install --directory --owner evalbench --group evalbench --mode 700 /data
USER evalbench
# Runs, caches and settings; keep it, and a run that was cut off goes on in the next container.
ENV EVALBENCH_HOME=/data
# Weights of the hub, which would go with the container elsewhere.
ENV HF_HOME=/data/huggingface
VOLUME /data
WORKDIR /data
ENTRYPOINT ["evalbench"]
