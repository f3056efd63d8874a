// A module of its own, and not in the repository's go.work: the libraries that it
// compares bring many dependencies, whose versions the whole workspace would
// have to use.
module github.com/flagstaff-go/flagstaff/examples/import

go 1.26.0

replace github.com/flagstaff-go/flagstaff => ../..

require (
	github.com/flagstaff-go/flagstaff v0.1.0
	github.com/growthbook/growthbook-golang v0.7.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dlclark/regexp2/v2 v2.13.0 // indirect
	github.com/tmaxmax/go-sse v0.10.0 // indirect
	github.com/twmb/murmur3 v1.2.2 // indirect
)
