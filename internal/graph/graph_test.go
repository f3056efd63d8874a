package graph_test

import (
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/internal/graph"
)

func TestStages(t *testing.T) {
	for _, tt := range []struct {
		name   string
		needs  [][]int
		stages [][]int
		rest   []int
	}{
		{"nothing", nil, nil, nil},
		{"nobody needs anybody", [][]int{nil, nil, nil}, [][]int{{0, 1, 2}}, nil},
		{"a chain", [][]int{{1}, {2}, nil}, [][]int{{2}, {1}, {0}}, nil},
		{"a diamond", [][]int{nil, {0}, {0}, {1, 2}}, [][]int{{0}, {1, 2}, {3}}, nil},
		{"the stage behind the last need", [][]int{nil, {0}, {0, 1}, {0}}, [][]int{{0}, {1, 3}, {2}}, nil},
		{"as the last need comes", [][]int{nil, nil, {1}, {0}}, [][]int{{0, 1}, {3, 2}}, nil},
		{"itself", [][]int{{0}, nil}, [][]int{{1}}, []int{0}},
		{"a circle, and what needs it", [][]int{nil, {2}, {1}, {1, 0}, {0}}, [][]int{{0}, {4}}, []int{1, 2, 3}},
		{"a circle that needs others", [][]int{{1, 2}, {0}, nil}, [][]int{{2}}, []int{0, 1}},
		{"two circles", [][]int{{1}, {0}, {3}, {2}}, nil, []int{0, 1, 2, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stages, rest := graph.Stages(tt.needs)
			if diff := cmp.Diff(tt.stages, stages); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.rest, rest); diff != "" {
				t.Errorf("rest (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStagesOfRandomGraphs: each node is in the stage behind the last one that has
// something it needs, or is left over together with something it needs.
func TestStagesOfRandomGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		needs := make([][]int, rng.IntN(12))
		for i := range needs {
			for n := range needs {
				if rng.IntN(len(needs)) == 0 {
					needs[i] = append(needs[i], n)
				}
			}
		}
		stages, rest := graph.Stages(needs)
		stageOf := make(map[int]int)
		for n, stage := range stages {
			for _, i := range stage {
				stageOf[i] = n
			}
		}
		if len(stageOf)+len(rest) != len(needs) {
			t.Fatalf("Stages(%v) = %v, %v: %d nodes, want %d", needs, stages, rest, len(stageOf)+len(rest), len(needs))
		}
		for i, list := range needs {
			want, left := 0, false
			for _, n := range list {
				want = max(want, stageOf[n]+1)
				left = left || slices.Contains(rest, n)
			}
			if left != slices.Contains(rest, i) || !left && stageOf[i] != want {
				t.Fatalf("Stages(%v) = %v, %v: node %d is in stage %d, want %d", needs, stages, rest, i, stageOf[i], want)
			}
		}
	}
}

func TestReach(t *testing.T) {
	edges := map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"e", "a"}, "d": {"e"}, "e": {"f", "b"}, "g": {"a"}}
	next := func(n string) iter.Seq[string] { return slices.Values(edges[n]) }
	for _, tt := range []struct {
		name  string
		start []string
		want  [][]string // ways
	}{
		{"from nowhere", nil, nil},
		{"a dead end", []string{"f"}, [][]string{{"f"}}},
		{"shortest ways first", []string{"a"}, [][]string{{"a"}, {"a", "b"}, {"a", "c"}, {"a", "b", "d"}, {"a", "c", "e"}, {"a", "c", "e", "f"}}},
		{"from several", []string{"e", "b", "e"}, [][]string{{"e"}, {"b"}, {"e", "f"}, {"b", "d"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got [][]string
			for step := range graph.Reach(slices.Values(tt.start), next) {
				way := step.Way()
				if way[len(way)-1] != step.Node {
					t.Errorf("the way %q does not end at %q", way, step.Node)
				}
				got = append(got, way)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("ways (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReachStops(t *testing.T) {
	n := 0
	for range graph.Reach(slices.Values([]int{0}), func(n int) iter.Seq[int] {
		return func(yield func(int) bool) { _ = yield(n+1) && yield(n+2) }
	}) {
		if n++; n == 10 {
			return
		}
	}
}
