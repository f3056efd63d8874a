// A module of its own: flagd has changed how it draws, and the module beside it has the library
// that draws as it does now.
module github.com/flagstaff-go/flagstaff/examples/import/flagdold

go 1.26.0

replace (
	github.com/flagstaff-go/flagstaff => ../../..
	github.com/flagstaff-go/flagstaff/examples/import => ..
	github.com/open-feature/flagd/core => github.com/open-feature/flagd/core v0.12.1
)

require (
	github.com/flagstaff-go/flagstaff/examples/import v0.0.0
	github.com/open-feature/flagd/core v0.17.0
	go.uber.org/zap v1.27.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/diegoholiveira/jsonlogic/v3 v3.10.1 // indirect
	github.com/dlclark/regexp2/v2 v2.13.0 // indirect
	github.com/flagstaff-go/flagstaff v0.1.0 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/klauspost/cpuid/v2 v2.2.7 // indirect
	github.com/open-feature/flagd-schemas v0.2.13 // indirect
	github.com/twmb/murmur3 v1.2.2 // indirect
	github.com/xeipuuv/gojsonpointer v0.0.0-20190905194746-02993c407bfb // indirect
	github.com/xeipuuv/gojsonreference v0.0.0-20180127040603-bd5ef7bd5415 // indirect
	github.com/xeipuuv/gojsonschema v1.2.0 // indirect
	github.com/zeebo/xxh3 v1.0.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.44.0 // indirect
	go.opentelemetry.io/otel/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/trace v1.44.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/exp v0.0.0-20250210185358-939b2ce775ac // indirect
	golang.org/x/mod v0.38.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
