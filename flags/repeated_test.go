package flags_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// repeatedFilters compares the filters of a document, in which all flags stand twice, with
// what is read of each of them alone, where nothing is repeated.
func repeatedFilters(t *testing.T, document []byte) {
	t.Helper()
	var raw struct {
		Flags []struct {
			Key     string          `json:"key"`
			Filters json.RawMessage `json:"filters"`
		} `json:"flags"`
	}
	if err := json.Unmarshal(document, &raw); err != nil {
		t.Fatal(err)
	}
	raw.Flags = append(raw.Flags, raw.Flags...)
	twice, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(twice, &raw); err != nil {
		t.Fatal(err)
	}
	d, err := flags.Decode(bytes.NewReader(twice))
	if err != nil {
		t.Fatal(err)
	}
	type filter struct {
		Place  flags.Place
		Filter flags.Filter
		Err    string
	}
	list := func(f *flags.Filters) (list []filter) {
		for at, fl := range f.All() {
			list = append(list, filter{at, *fl, fmt.Sprint(fl.Err())})
		}
		return list
	}
	for i := range d.Flags {
		alone, _ := flags.DecodeFilters(raw.Flags[i].Filters, d.Flags[i].Key) // an error is one of its filters'
		text := cmp.Transformer("text", func(m json.RawMessage) string { return string(m) })
		ignored := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Err" }, cmp.Comparer(func(a, b string) bool {
			return (a == "<nil>") == (b == "<nil>") // the error of filters alone names no flag
		}))
		if diff := cmp.Diff(list(&alone), list(&d.Flags[i].Filters), text, ignored, cmpopts.IgnoreUnexported(flags.Filter{}), cmpopts.IgnoreFields(flags.Filter{}, "Extra")); diff != "" {
			t.Fatalf("flag %s (-alone +in a document)\n%s", d.Flags[i].Key, diff)
		}
	}
}

func TestRepeatedFilters(t *testing.T) {
	repeatedFilters(t, []byte(`{"flags":[
		{"key":"a","filters":{"groups":[{"properties":[
			{"key":"plan","type":"person","value":"pro"},
			{"key":"plan","type":"person","value":"pro"},
			{"key":"plan","type":"person","value":["pro","free"],"operator":"exact"},
			{"key":"plan","type":"person","value":["pro","free"],"operator":"exact"},
			{"key":"plan","type":"person","value":1,"operator":"min"},
			{"key":"plan","type":"person","value":1,"operator":"min"},
			{"key":"plan","type":"group","value":1,"group_type_index":0},
			{"key":"plan","type":"group","value":1,"group_type_index":0},
			{"key":"b","type":"flag","value":true,"dependency_chain":["b"]},
			{"key":"b","type":"flag","value":true,"dependency_chain":["b"]},
			{"key":[5]},
			{"key":[5]},
			{"key":"is","operator":"is_set","typ":"person"},
			{"key":"is","operator":"is_set","typ":"person"}
		]}]}},
		{"key":"b","filters":{"groups":"none"}}]}`))
	for seed := range uint64(20) {
		repeatedFilters(t, reference.NewGenerator(seed).Document())
	}
}

// TestRepeatedFiltersAreOneEach: to change a filter changes no other one.
func TestRepeatedFiltersAreOneEach(t *testing.T) {
	const filter = `{"key":"plan","type":"person","value":"pro"}`
	const indexed = `{"key":"plan","type":"group","value":"pro","group_type_index":0,"dependency_chain":["a"]}`
	d, err := flags.Decode(strings.NewReader(`{"flags":[{"id":1,"key":"a","filters":{"groups":[{"properties":[` +
		filter + `,` + filter + `,` + indexed + `,` + indexed + `]}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	list := d.Flags[0].Filters.Groups[0].Properties
	if err := json.Unmarshal([]byte(`"new"`), &list[0].Value); err != nil { // where the old one stands
		t.Fatal(err)
	}
	*list[2].GroupTypeIndex, (*list[2].DependencyChain)[0] = 1, "b"
	if got := string(list[1].Value); got != `"pro"` {
		t.Errorf("the value of the second filter became %s", got)
	}
	if got := *list[3].GroupTypeIndex; got != 0 {
		t.Errorf("the group of the fourth filter became %d", got)
	}
	if got := (*list[3].DependencyChain)[0]; got != "a" {
		t.Errorf("the chain of the fourth filter became %q", got)
	}
}

// TestRepeatedElementsCount: what is repeated counts each time against the limit.
func TestRepeatedElementsCount(t *testing.T) {
	filter := `{"key":"k","type":"person","value":[` + strings.Repeat("1,", 99) + `1]}` // 100 elements, one of them itself
	group := `{"properties":[` + strings.TrimSuffix(strings.Repeat(filter+",", 1000), ",") + `]}`
	document := `{"flags":[{"key":"a","id":1,"filters":{"groups":[` + strings.TrimSuffix(strings.Repeat(group+",", 20), ",") + `]}}]}`
	if _, err := flags.Decode(strings.NewReader(document)); !errors.Is(err, flags.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

// TestDecodeKeepsNothing: definitions are the same when what they were read from is not.
func TestDecodeKeepsNothing(t *testing.T) {
	for seed := range uint64(5) {
		document := reference.NewGenerator(seed).Document()
		want, err := flags.Decode(strings.NewReader(string(document)))
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(document)
		got, err := flags.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Len(); n != 0 {
			t.Errorf("seed %d: %d bytes were not read", seed, n)
		}
		clear(document)
		if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("seed %d (-kept +cleared)\n%s", seed, diff)
		}
	}
}
