module github.com/flagstaff-go/flagstaff

go 1.26.0

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/dlclark/regexp2/v2 v2.13.0
	github.com/google/go-cmp v0.7.0
	github.com/google/uuid v1.6.0
	github.com/mssola/useragent v1.0.0
	github.com/oschwald/geoip2-golang/v2 v2.5.0
	github.com/oschwald/maxminddb-golang/v2 v2.9.0
	github.com/twmb/murmur3 v1.2.2
)

require golang.org/x/sys v0.49.0 // indirect
