# The toolchain; go.mod says which version.
FROM golang:1.26-trixie AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# .git is not in the context, so the version comes from outside.
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.built=$VERSION" -o /switchboard ./cmd/switchboard

# The program itself is static, but exec tasks need a shell and the usual tools.
FROM debian:trixie-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates tzdata \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=build /switchboard /usr/local/bin/switchboard
USER 10001:10001
ENV HOME=/data SWITCHBOARD_DATA_DIR=/data
WORKDIR /data
VOLUME /data
EXPOSE 8484
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["switchboard", "doctor", "--alive"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["switchboard"]
CMD ["serve"]
