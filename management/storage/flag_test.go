package storage_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestExperiments: rules.md §4.3, management.md §13.23. What is stored of a flag and its definition
// say the same.
func TestExperiments(t *testing.T) {
	linked, split := new(int64(9)), (*int64)(nil)
	ruled := func(id *int64) flags.Filters {
		return flags.Filters{Version: 2, RuleSet: &flags.RuleSet{ReturnType: "boolean", Aggregation: flags.ByPerson, Rules: []flags.Rule{{Type: "experiment", ExperimentID: id}}}}
	}
	for _, tt := range []struct {
		name    string
		filters flags.Filters
		says    bool
		want    bool
	}{
		{"condition sets", flags.Filters{}, false, false},
		{"condition sets, and the flag says so", flags.Filters{}, true, true},
		{"a split of its own", ruled(split), false, false},
		{"a split of its own, and the flag says so", ruled(split), true, true},
		{"a rule with an experiment", ruled(linked), false, true},
	} {
		f := storage.Flag{ID: 1, Key: "f", Filters: tt.filters, HasExperiment: tt.says}
		d := storage.FlagDefinitions([]storage.Flag{f}, nil, nil)
		if stored, defined := f.Experiments(), d.Flags[0].InExperiment(); stored != tt.want || defined != tt.want {
			t.Errorf("%s: stored %v, defined %v; want %v", tt.name, stored, defined, tt.want)
		}
	}
}
