module github.com/flagstaff-go/flagstaff/flags/openfeature

go 1.26.0

require (
	github.com/flagstaff-go/flagstaff v0.1.0
	github.com/google/go-cmp v0.7.0
	github.com/open-feature/go-sdk v1.20.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dlclark/regexp2/v2 v2.13.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/twmb/murmur3 v1.2.2 // indirect
	go.uber.org/mock v0.6.0 // indirect
)

replace github.com/flagstaff-go/flagstaff => ../..
