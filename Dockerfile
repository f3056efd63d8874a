# An image of the program flagstaff, a single static file. It serves unless it is given
# another command. A release passes its VERSION; without one the program says (devel).
FROM golang:1.26-alpine AS build
WORKDIR /src
COPY . .
ARG VERSION=
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath \
    -ldflags="-s -w -X github.com/flagstaff-go/flagstaff/cmd/internal/release.version=$VERSION" \
    -o /flagstaff ./cmd/flagstaff

# Alpine provides certificates, time zones, and wget for the health check.
FROM alpine:3
RUN apk add --no-cache ca-certificates tzdata && adduser -D -u 10001 flagstaff && install -d -o flagstaff /data
COPY --from=build /flagstaff /usr/local/bin/flagstaff
USER flagstaff
WORKDIR /data
ENV FLAGSTAFF_ADDR=0.0.0.0:8000 FLAGSTAFF_LOG_FORMAT=json
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD wget -qO /dev/null http://127.0.0.1:8000/readyz
ENTRYPOINT ["flagstaff"]
CMD ["serve"]
