# Build stage: the toolchain, librdkafka, one release binary with the Swift runtime linked in.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends librdkafka-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Dependencies first: they change less often than the sources. Tests and tools are not needed.
COPY Package.swift ./
RUN swift package resolve
COPY Sources ./Sources
RUN swift build -c release --product juice --static-swift-stdlib \
    && install -D -s "$(swift build -c release --show-bin-path)/juice" /out/juice

# Run stage: the binary, the shared libraries it needs, and an unprivileged user. Debian 13 has librdkafka 2.8, which costs half the
# processor time of Debian 12's at low rates, and has the same interface.
FROM debian:trixie-slim
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends librdkafka1 ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 juice \
    && useradd --uid 10001 --gid juice --no-create-home --shell /usr/sbin/nologin juice
COPY --from=build /out/juice /usr/local/bin/juice
# Licenses must travel with the image.
COPY LICENSE docs/LICENSES.md /usr/share/doc/juice/
# As numbers, so that Kubernetes can verify that it is not root.
USER 10001:10001
# Containers are probed and scraped, and their logs collected.
ENV JUICE_HTTP=0.0.0.0:8080 JUICE_LOG_FORMAT=json
# Without brokers `juice serve` would start one on the container's loopback, where nobody reaches it.
ENV JUICE_REQUIRE_BROKERS=true
# `juice demo` starts one and writes a run file here, where the container can write even if its root file system is read-only.
ENV XDG_RUNTIME_DIR=/dev/shm
EXPOSE 8080
ENTRYPOINT ["juice"]
CMD ["serve"]
