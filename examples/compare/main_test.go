package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	table := newTable()
	for _, round := range []string{
		`goos: linux
BenchmarkCompare/boolean/flagstaff-sha1-2 	 10 	 20.0 ns/op 	 0 B/op 	 0 allocs/op
BenchmarkCompare/boolean/flagstaff-xxhash64-2 	 10 	 10.0 ns/op 	 0 B/op 	 0 allocs/op
BenchmarkCompare/boolean/posthog-2 	 10 	 250 ns/op 	 90 B/op 	 2 allocs/op
BenchmarkCompare/load/flagstaff-sha1-2 	 1 	 50000000 ns/op 	 750.0 heap-B/flag 	 9 B/op 	 7 allocs/op
BenchmarkCompare/load/other-2 	 1 	 2500000000 ns/op 	 4500 heap-B/flag 	 9 B/op 	 7 allocs/op
PASS
`,
		`BenchmarkCompare/boolean/flagstaff-sha1 	 10 	 40.0 ns/op 	 0 B/op 	 0 allocs/op
BenchmarkCompare/boolean/flagstaff-sha1 	 10 	 900.0 ns/op 	 0 B/op 	 0 allocs/op
BenchmarkOther-2 	 10 	 1 ns/op
`,
	} {
		if err := table.read(strings.NewReader(round)); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	table.print(&got)
	_, rows, _ := strings.Cut(got.String(), "\n\n")
	want := `| | one boolean flag | load 10,000 flags |
|---|--:|--:|
| flagstaff-sha1 | 40 ns, ×1.0, ×4.0, 0 | 50.0 ms, ×1.0, 0.8 KB |
| flagstaff-xxhash64 | 10 ns, ×0.2, ×1.0, 0 | – |
| posthog | 250 ns, ×6.2, ×25, 2 | – |
| other | – | 2.50 s, ×50, 4.5 KB |
`
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("print (-want +got):\n%s", diff)
	}
	if err := table.read(strings.NewReader("BenchmarkCompare/boolean/x-2 10 much ns/op\n")); err == nil {
		t.Error("read of a line without numbers = nil, want an error")
	}
}
