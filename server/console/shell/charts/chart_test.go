package charts_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
)

// TestShares checks what percentages of parts add up to.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		whole       int
		parts       []int
		percentages []float64
	}{
		{3, []int{1, 1, 1}, []float64{33.4, 33.3, 33.3}},
		{7, []int{1, 2, 4}, []float64{14.3, 28.6, 57.1}},
		{8, []int{1, 7}, []float64{12.5, 87.5}},
		{3, []int{1, 1}, []float64{33.3, 33.3}},    // not all of it
		{3, []int{2, 2}, []float64{66.7, 66.7}},    // several choices of each person
		{10000, []int{1, 9999}, []float64{0, 100}}, // rounded as it is
		{0, []int{0, 0}, []float64{0, 0}},
		{5, []int{5}, []float64{100}},
		{5, nil, []float64{}},
	} {
		if got := charts.Shares(tt.whole, tt.parts); !slices.Equal(got, tt.percentages) {
			t.Errorf("%v of %d: %v, want %v", tt.parts, tt.whole, got, tt.percentages)
		}
	}
	if got, want := charts.Shares(100, []float64{33.33, 33.33, 33.34}), []float64{33.3, 33.3, 33.4}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := charts.Shares(100, []float64{0.3, 99.7}), []float64{0.3, 99.7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		parts, whole := make([]int, 1+rng.IntN(12)), 0
		for i := range parts {
			parts[i] = rng.IntN(1 + rng.IntN(10_000))
			whole += parts[i]
		}
		if whole == 0 {
			continue
		}
		sum, got := 0.0, charts.Shares(whole, parts)
		for i, share := range got {
			sum += share
			if math.Abs(share-float64(parts[i])*100/float64(whole)) > 0.1+1e-9 {
				t.Fatalf("seed %d: %v of %d: %v, of which the %dth is wrong", seed, parts, whole, got, i)
			}
			for j := range parts {
				if parts[j] > parts[i] && got[j] < share {
					t.Fatalf("seed %d: %v: %v, of which the larger part has the smaller share", seed, parts, got)
				}
			}
		}
		if math.Abs(sum-100) > 1e-6 {
			t.Fatalf("seed %d: %v of %d: %v, together %v", seed, parts, whole, got, sum)
		}
	}
}

// TestStacks: the parts of a column stand on each other, and the axis has room for the highest one.
func TestStacks(t *testing.T) {
	c := charts.Stacks("words", []charts.Stack{
		{"a", []charts.Point{{Label: "on", Value: 30}, {Label: "off", Value: 10, Class: "same", Title: "a, off: 10"}}},
		{"b", nil},
	}, 5)
	want := []charts.Column{
		{"5.000", "40.000", "41.000", "99.000", "hue-1", "on: 30"},
		{"5.000", "40.000", "8.000", "33.000", "same", "a, off: 10"},
	}
	if !slices.Equal(c.Columns, want) {
		t.Errorf("columns %q, want %q", c.Columns, want)
	}
	if top := c.Ticks[len(c.Ticks)-1].Value; top != "40" {
		t.Errorf("the axis ends with %s, want 40", top)
	}
	if len(c.Marks) != 2 || c.Marks[1].Text != "b" {
		t.Errorf("marks %v", c.Marks)
	}
}

// TestLine: a line begins at the left with the oldest value, and its highest point is at the top.
func TestLine(t *testing.T) {
	for _, tt := range []struct {
		values []int64
		points string
	}{
		{nil, ""},
		{[]int64{7}, ""}, // one point is not a line
		{[]int64{0, 0}, "1.000,15.000 95.000,15.000"},
		{[]int64{0, 2, 4}, "1.000,15.000 48.000,8.000 95.000,1.000"},
	} {
		want := charts.Sparkline{Points: tt.points}
		if tt.points != "" {
			want.Words = "calls"
		}
		if got := charts.Line("calls", tt.values); got != want {
			t.Errorf("%v: %+v, want %+v", tt.values, got, want)
		}
	}
}
