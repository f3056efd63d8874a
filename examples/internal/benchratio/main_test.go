package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	input := `goos: linux
BenchmarkE1/flagstaff-2   10  20.0 ns/op  0 B/op  0 allocs/op
BenchmarkE1/flagstaff-2   10  30.0 ns/op  0 B/op  0 allocs/op
BenchmarkE1/flagstaff-2   10  90.0 ns/op  0 B/op  0 allocs/op
BenchmarkE1/floor-2       10  15.0 ns/op  0 B/op  0 allocs/op
BenchmarkE5/flags=100/flagstaff-2   10  20.0 ns/op
BenchmarkE5/flags=100/floor-2       10  10.0 ns/op
BenchmarkE5/flags=1000/flagstaff-2  10  60.0 ns/op
BenchmarkE5/flags=1000/floor-2      10  20.0 ns/op
BenchmarkS1-2  5  100 ns/op  1000 floor-req/s  2.0 floor-p99-ms  500 sha1-req/s  3.0 sha1-p99-ms  0.5 sha1/floor
BenchmarkOther-2  5  100 ns/op
PASS
`
	want := `| work: case | time | floor | ratio (target) | allocs |
|---|--:|--:|---|--:|
| **E1** one boolean flag, 100 % | 20 ns | 15 ns | 1.33 (≤ 2.5) | 0 |
| **E5** all flags, from JSON to JSON: 100 | 20 ns | 10 ns | 2.00 |  |
| 1000 | 60 ns | 20 ns | 3.00 |  |
| **S1** ` + "`POST /flags`" + `, 32 connections: sha1 | 500/s, 3.0 ms | 1000/s, 2.0 ms | 0.50, 1.50 (≥ 0.5, ≤ 1.5) |  |
`
	var got strings.Builder
	if err := run(strings.NewReader(input), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if err := run(strings.NewReader("BenchmarkX-2 5 x ns/op\n"), &got); err == nil {
		t.Error("run of a line without numbers = nil, want an error")
	}
}
