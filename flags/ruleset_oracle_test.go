package flags_test

import (
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference/rules"
)

// TestRandomRuleSets compares both ways of evaluation with the oracle.
func TestRandomRuleSets(t *testing.T) {
	first, persons := firstSeed(t), fulltest.Count(20, 100)
	for n := range uint64(max(cases(t), fulltest.Count(0, 1_000_000)) / persons) {
		g := rules.NewGenerator(first + n)
		document := g.Document()
		oracle, err := rules.Read(document)
		if err != nil {
			t.Fatal(err)
		}
		s := ruled(t, "f", document)
		for range persons {
			id, person := g.ID(), g.Person()
			want := oracle.Decide(id, person)
			quick, err := s.Flag("f", &flags.Request{DistinctID: id, PersonProperties: person})
			if err != nil {
				t.Fatal(err)
			}
			for way, r := range map[string]flags.Result{"quick": quick, "full": fully(t, s, "f", id, person)} {
				if got := fmt.Sprintf("%s %s %d", r.JSON(), r.Reason.Code, r.Reason.ConditionIndex); got != want.String() {
					t.Fatalf("seed %d, %s: %s, want %s\n%s\n%q %v", first+n, way, got, want, document, id, person)
				}
			}
		}
	}
}
