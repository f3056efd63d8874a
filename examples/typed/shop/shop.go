// Package shop has the flags of a shop as Go code, which is generated: see flags_gen.go.
package shop

//go:generate go run github.com/flagstaff-go/flagstaff/cmd/tool/flagstaff gen -o flags_gen.go flags.json
