# Build stage: the toolchain, librdkafka, one release binary with the Swift runtime linked in.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends librdkafka-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Dependencies first: they change less often than the sources.
COPY Package.swift ./
RUN swift package resolve
COPY Sources ./Sources
COPY Tests ./Tests
RUN swift build -c release --product juice --static-swift-stdlib \
    && install -D -s "$(swift build -c release --show-bin-path)/juice" /out/juice

# Run stage: the binary, the shared libraries it needs, and a user without rights.
FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends librdkafka1 ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin juice
COPY --from=build /out/juice /usr/local/bin/juice
# Whoever hands the image on hands these on, too.
COPY LICENSE docs/LICENSES.md /usr/share/doc/juice/
USER juice
# Whoever runs a container wants to probe and scrape it, and to have its log collected.
ENV JUICE_HTTP=0.0.0.0:8080 JUICE_LOG_FORMAT=json
EXPOSE 8080
ENTRYPOINT ["juice"]
CMD ["serve"]
