# The bank as one static binary on nothing else. Builds alike with BuildKit and with
# the classic builder, so no cache mounts and no syntax line.
FROM golang:1.26 AS build
WORKDIR /src

# Where modules come from, for networks with a proxy of their own; empty means Go's default.
ARG GOPROXY
ARG GOSUMDB

# The modules have a layer of their own: a change of source does not fetch them anew.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
ARG VERSION=dev
# timetzdata: limits know days in named time zones, and the final image has no files.
RUN CGO_ENABLED=0 go build -trimpath -tags timetzdata \
      -ldflags "-s -w -X main.version=${VERSION}" -o /out/bankapi ./cmd/bankapi \
 && go clean -cache

FROM scratch
# Certificates for databases and caches reached over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/bankapi /bankapi
USER 65532:65532
ENV BANKAPI_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=5s --start-period=15s --retries=3 CMD ["/bankapi", "healthcheck"]
ENTRYPOINT ["/bankapi"]
CMD ["serve"]
