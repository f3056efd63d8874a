package judge_test

import (
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// largeProject has 10,000 flags of a common size, of which each hundredth depends on
// the one before it, and 1000 cohorts.
func largeProject() storedProject {
	const typical = `{"groups":[{"properties":[{"key":"email","value":"@acme.example","operator":"icontains","type":"person"},{"key":"plan","value":["pro","team"],"operator":"exact","type":"person"}%s],"rollout_percentage":50},` +
		`{"properties":[{"key":"country","value":["AT","DE","CH"],"operator":"exact","type":"person"},{"key":"id","value":%d,"type":"cohort"}],"rollout_percentage":100}],` +
		`"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]},"payloads":{"test":"{\"color\":\"blue\",\"limit\":10}"}}`
	var p storedProject
	for i := range 10_000 {
		depends := ""
		if i%100 == 0 && i > 0 {
			depends = fmt.Sprintf(`,{"key":"%d","value":true,"operator":"flag_evaluates_to","type":"flag"}`, 1+i-100)
		}
		p.Flags = append(p.Flags, storedFlag{
			ID: int64(1 + i), Key: fmt.Sprintf("flag-%d", i), Active: true, Filters: fmt.Appendf(nil, typical, depends, 1+i%1000),
		})
	}
	for i := range 1000 {
		nested := ""
		if i%10 != 9 {
			nested = fmt.Sprintf(`,{"key":"id","value":%d,"type":"cohort","negation":true}`, 2+i)
		}
		p.Cohorts = append(p.Cohorts, storedCohort{
			ID: int64(1 + i), Filters: []byte(tree(`{"key":"email","value":"@acme.example","operator":"regex","type":"person"}` + nested)),
		})
	}
	return p
}

func BenchmarkNewWorld(b *testing.B) {
	d := &flags.Definitions{}
	for _, f := range largeProject().Flags {
		d.Flags = append(d.Flags, flags.Flag{ID: f.ID, Key: f.Key, Active: f.Active, Filters: *stored(f.Filters)})
	}
	b.ReportAllocs()
	for b.Loop() {
		judge.NewReferences(d, nil)
	}
}

// BenchmarkFilters judges a flag of a project with 10,000 flags: one like the
// others, and one at the end of a chain of a hundred.
func BenchmarkFilters(b *testing.B) {
	p := largeProject()
	w := worldOf(p)
	for _, bb := range []struct {
		name string
		flag storedFlag
	}{
		{"alone", p.Flags[9999]},
		{"chain", p.Flags[9900]},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.flag.Filters)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readAndJudge(bb.flag.Filters, judge.Subject{ID: bb.flag.ID, Key: bb.flag.Key}, w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDependents searches 10,000 flags.
func BenchmarkDependents(b *testing.B) {
	p := largeProject()
	w := worldOf(p)
	b.ReportAllocs()
	for b.Loop() {
		if got := judge.Dependents(w, p.Flags[0].ID, p.Flags[0].Key); len(got) != 1 {
			b.Fatal(len(got))
		}
	}
}

// BenchmarkCohortUsers searches 10,000 flags and 1000 cohorts.
func BenchmarkCohortUsers(b *testing.B) {
	w := worldOf(largeProject())
	b.ReportAllocs()
	for b.Loop() {
		if flags, cohorts := judge.CohortUsers(w, 10); len(flags) != 100 || len(cohorts) != 9 {
			b.Fatal(len(flags), len(cohorts))
		}
	}
}
