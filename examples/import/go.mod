// A module of its own, and not in the repository's go.work: the libraries that it
// compares bring many dependencies, whose versions the whole workspace would
// have to use.
module github.com/flagstaff-go/flagstaff/examples/import

go 1.26.0

replace github.com/flagstaff-go/flagstaff => ../..

require (
	github.com/Unleash/unleash-go-sdk/v5 v5.1.0
	github.com/Unleash/unleash-go-sdk/v6 v6.4.0
	github.com/configcat/go-sdk/v9 v9.0.7
	github.com/flagstaff-go/flagstaff v0.1.0
	github.com/growthbook/growthbook-golang v0.7.0
	github.com/launchdarkly/go-sdk-common/v3 v3.4.0
	github.com/launchdarkly/go-server-sdk-evaluation/v3 v3.0.1
	go.yaml.in/yaml/v3 v3.0.6
)

require (
	github.com/Masterminds/semver/v3 v3.3.1 // indirect
	github.com/blang/semver/v4 v4.0.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/dlclark/regexp2/v2 v2.13.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/josharian/intern v1.0.0 // indirect
	github.com/launchdarkly/eventsource v1.10.0 // indirect
	github.com/launchdarkly/go-jsonstream/v3 v3.1.0 // indirect
	github.com/launchdarkly/go-semver v1.0.3 // indirect
	github.com/mailru/easyjson v0.7.7 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/stretchr/objx v0.5.2 // indirect
	github.com/stretchr/testify v1.10.0 // indirect
	github.com/tmaxmax/go-sse v0.10.0 // indirect
	github.com/twmb/murmur3 v1.2.2 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
