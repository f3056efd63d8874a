module github.com/flagstaff-go/flagstaff/cmd

go 1.26.0

require (
	github.com/aymanbagabas/go-udiff v0.4.1
	github.com/flagstaff-go/flagstaff v0.1.0
	github.com/flagstaff-go/flagstaff/vet v0.1.0
	github.com/google/go-cmp v0.7.0
	github.com/urfave/cli/v3 v3.14.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dlclark/regexp2/v2 v2.13.0 // indirect
	github.com/twmb/murmur3 v1.2.2 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
