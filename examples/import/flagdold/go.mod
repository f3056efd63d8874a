// A module of its own: flagd has changed how it draws, and the module beside it has the library
// that draws as it does now.
module github.com/flagstaff-go/flagstaff/examples/import/flagdold

go 1.26.0

replace (
	github.com/diegoholiveira/jsonlogic/v3 => github.com/diegoholiveira/jsonlogic/v3 v3.8.4 // that of core v0.14.3
	github.com/flagstaff-go/flagstaff => ../../..
	github.com/flagstaff-go/flagstaff/examples/import => ..
	github.com/open-feature/flagd/core => github.com/open-feature/flagd/core v0.14.3
)

require (
	github.com/flagstaff-go/flagstaff/examples/import v0.0.0
	github.com/open-feature/flagd/core v0.17.0
	go.uber.org/zap v1.27.0
)

require (
	github.com/barkimedes/go-deepcopy v0.0.0-20220514131651-17c30cfc62df // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/diegoholiveira/jsonlogic/v3 v3.10.1 // indirect
	github.com/dlclark/regexp2/v2 v2.13.0 // indirect
	github.com/flagstaff-go/flagstaff v0.1.0 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/go-immutable-radix v1.3.1 // indirect
	github.com/hashicorp/go-memdb v1.3.5 // indirect
	github.com/hashicorp/golang-lru v0.5.4 // indirect
	github.com/open-feature/flagd-schemas v0.2.13 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2 // indirect
	github.com/twmb/murmur3 v1.2.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.44.0 // indirect
	go.opentelemetry.io/otel/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/trace v1.44.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/exp v0.0.0-20250210185358-939b2ce775ac // indirect
	golang.org/x/mod v0.38.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
