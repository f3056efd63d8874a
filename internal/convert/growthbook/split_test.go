package growthbook

import (
	"fmt"
	"testing"
)

// TestEnds compares ends with GrowthBook's own shares: the number before an end is below the
// bound, and the end is not.
func TestEnds(t *testing.T) {
	bounds := []float64{-1, 0, 1e-300, 1e-9, 0.0001, 0.001, 0.1, 0.29, 0.3, 0.57, 0.58, 0.1 + 0.2, 1.0 / 3, 2.0 / 3, 0.334, 0.999, 0.9999, 0.99999, 1, 1.5, 1e300}
	for i := range 1000 {
		bounds = append(bounds, float64(i)/1000, float64(i)/10000, 0.1*float64(i)/100)
	}
	for version, modulus := range map[int]uint64{1: 1000, 2: 10000} {
		d, ok := newDraw("", version, "")
		if !ok || d.modulus != modulus {
			t.Fatalf("version %d has %d numbers, %t", version, d.modulus, ok)
		}
		for _, bound := range bounds {
			end := d.first(bound)
			if end > 0 && float64(end-1)/float64(modulus) >= bound {
				t.Errorf("version %d, bound %v: the number before %d is not below it", version, bound, end)
			}
			if end < modulus && float64(end)/float64(modulus) < bound {
				t.Errorf("version %d, bound %v: %d is below it", version, bound, end)
			}
		}
	}
	for _, version := range []int{0, 3, -1} {
		if _, ok := newDraw("", version, ""); ok {
			t.Errorf("version %d includes somebody", version)
		}
	}
}

// TestPieces compares what each number of a draw gets with the first of its spans.
func TestPieces(t *testing.T) {
	d, _ := newDraw("", 1, "")
	for _, spans := range [][]span{
		nil,
		{{0, 1}},
		{{0, 0}},
		{{0.5, 0.2}},
		{{0.2, 0.4}, {0.3, 0.9}},
		{{0.3, 0.9}, {0.2, 0.4}},
		{{-1, 0.1}, {0.1, 2}},
		{{0.9, 1}, {0, 0.1}, {0.05, 0.95}},
		weightedSpans(3, 1, []float64{0.334, 0.333, 0.333}), weightedSpans(3, 0.7, nil), weightedSpans(2, 1, []float64{0.1 + 0.2, 0.7}),
	} {
		pieces := d.inSpans(spans)
		for n := range d.modulus {
			want := -1
			for i, s := range spans {
				if share := float64(n) / 1000; share >= s[0] && share < s[1] {
					want = i
					break
				}
			}
			i := 0
			for n >= pieces[i].end {
				i++
			}
			if pieces[i].index != want {
				t.Fatalf("%v: %d gets %d, want %d", spans, n, pieces[i].index, want)
			}
		}
	}
}

func TestWeightedSpans(t *testing.T) {
	for _, test := range []struct {
		n        int
		coverage float64
		weights  []float64
		want     string
	}{
		{2, 1, nil, "[[0 0.5] [0.5 1]]"},
		{2, 0.5, nil, "[[0 0.25] [0.5 0.75]]"},
		{2, 1, []float64{0.4, 0.6}, "[[0 0.4] [0.4 1]]"},
		{3, 0.2, []float64{0.1, 0.2, 0.7}, "[[0 0.020000000000000004] [0.1 0.14] [0.30000000000000004 0.44000000000000006]]"},
		{2, -0.2, nil, "[[0 0] [0.5 0.5]]"},
		{2, 1.5, nil, "[[0 0.5] [0.5 1]]"},
		{2, 1, []float64{0.4, 0.1}, "[[0 0.5] [0.5 1]]"},
		{2, 1, []float64{0.4, 0.599}, "[[0 0.4] [0.4 0.999]]"},
		{2, 1, []float64{1.2, -0.2}, "[[0 0.5] [0.5 1]]"},
		{4, 1, []float64{0.4, 0.6}, "[[0 0.25] [0.25 0.5] [0.5 0.75] [0.75 1]]"},
	} {
		if got := fmt.Sprint(weightedSpans(test.n, test.coverage, test.weights)); got != test.want {
			t.Errorf("%d, %v, %v: %s, want %s", test.n, test.coverage, test.weights, got, test.want)
		}
	}
}
