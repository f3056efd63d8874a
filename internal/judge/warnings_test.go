package judge_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// warnRule returns a rule from words: its number, which is its ID and its seed unless "seed=" says
// another one; "plan=" and "mail~" are filters, "value=" is a text; "50%" makes it a rollout, "out"
// returns the default on a miss, "ab=" makes it an experiment over two values, "paused",
// "holdout" and "cohort" what they say.
func warnRule(words string) flags.Rule {
	list := strings.Fields(words)
	r := flags.Rule{ID: "00000000-0000-4000-8000-00000000000" + list[0], Type: "targeted_release", Value: json.RawMessage(`"v"`)}
	seed, draws := "s"+list[0], func() {
		if r.Algorithm == "" {
			r.Type, r.Algorithm, r.OnMiss, r.RolloutPercentage = "percentage_rollout", "sha1_60_v1", "continue", 100
		}
	}
	for _, word := range list[1:] {
		name, text, _ := strings.Cut(word, "=")
		quoted, _ := json.Marshal(text)
		switch {
		case name == "seed":
			seed = text
		case name == "value":
			r.Value = quoted
		case name == "ab":
			draws()
			other, _ := json.Marshal(text + "2")
			r.Type, r.Value, r.Variants = "experiment", nil, []flags.RuleVariant{{Key: "a", Weight: 50, Value: quoted}, {Key: "b", Weight: 50, Value: other}}
		case name == "paused":
			draws()
			r.Paused = true
		case name == "holdout":
			r.Holdout = &flags.RuleHoldout{Seed: "h" + list[0], ExclusionPercentage: 20}
		case name == "out":
			r.OnMiss = "return_default"
		case name == "cohort":
			r.Targeting = append(r.Targeting, flags.Filter{Type: "cohort", Key: "id", Value: json.RawMessage("4")})
		case strings.HasSuffix(name, "%"):
			draws()
			fmt.Sscanf(name, "%f", &r.RolloutPercentage)
		default:
			f := flags.Filter{Type: "person", Key: strings.TrimSuffix(name, "!"), Value: quoted}
			if strings.HasSuffix(name, "!") {
				f.Operator = "is_not"
			}
			r.Targeting = append(r.Targeting, f)
		}
	}
	if r.Algorithm != "" {
		r.Seed = seed
	}
	return r
}

// warnSet returns a string flag with rules, one in a line.
func warnSet(lines string) *flags.RuleSet {
	if lines == "" {
		return nil
	}
	set := &flags.RuleSet{ReturnType: "string", Default: json.RawMessage(`"d"`), Aggregation: flags.ByPerson}
	for line := range strings.SplitSeq(lines, "|") {
		set.Rules = append(set.Rules, warnRule(line))
	}
	return set
}

// TestWarnings: rules.md §7.8. A name that begins with "not" is a case that cannot be proved, or is
// none.
func TestWarnings(t *testing.T) {
	const unreachable, miss, order, reset, conclusion = judge.WarnUnreachable, judge.WarnMiss, judge.WarnOrder, judge.WarnReset, judge.WarnConclusion
	for _, test := range []struct{ name, before, after, want string }{
		{"unreachable below everybody", "", "1 value=a|2 plan=pro value=b", unreachable + " 1"},
		{"unreachable below fewer filters", "", "1 plan=pro value=a|2 plan=pro mail=x value=b", unreachable + " 1"},
		{"unreachable below a miss that ends", "", "1 10% out value=a|2 value=b", unreachable + " 1"},
		{"unreachable below all of a share", "", "1 100% value=a|2 value=b", unreachable + " 1"},
		{"unreachable below a paused experiment", "", "1 10% ab=a paused|2 value=b", unreachable + " 1"},
		{"unreachable within the share above", "", "1 50% value=a|2 seed=s1 30% value=b", unreachable + " 1"},
		{"not unreachable beyond the share above", "", "1 30% value=a|2 seed=s1 50% value=b", ""},
		{"not unreachable with another seed", "", "1 50% value=a|2 30% value=b", ""},
		{"not unreachable with other filters", "", "1 plan=pro value=a|2 plan=free value=b", ""},
		{"not unreachable with fewer filters", "", "1 plan=pro mail=x value=a|2 plan=pro value=b", ""},

		{"miss for everybody below", "", "1 50% value=a|2 value=a", miss + " 0__on_rollout_miss"},
		{"miss for fewer filters below", "", "1 plan=pro mail=x 50% value=a|2 plan=pro 10% value=a", miss + " 0__on_rollout_miss"},
		{"miss for a variant", "", "1 50% ab=a|2 value=a2", miss + " 0__on_rollout_miss"},
		{"miss for more of the same seed", "", "1 50% value=a|2 seed=s1 60% value=a", miss + " 0__on_rollout_miss"},
		{"miss past a rule for others", "", "1 50% value=a|2 mail=x value=b|3 value=a", miss + " 0__on_rollout_miss"},
		{"not a miss for another value", "", "1 50% value=a|2 value=b", ""},
		{"not a miss that ends", "", "1 plan=pro 50% out value=a|2 value=a", ""},
		{"not a miss for other filters", "", "1 plan=pro 50% value=a|2 mail=x value=a", ""},
		{"not a miss that another rule catches", "", "1 50% value=a|2 value=b|3 value=a", unreachable + " 2"},
		{"not a miss past what may catch all", "", "1 plan=pro 50% value=a|2 plan=free value=b|3 value=a", ""},
		{"not a miss of nobody", "", "1 50% value=a|2 0% value=a", ""},

		{"order of two releases", "1 plan=pro value=a|2 value=b", "2 value=b|1 plan=pro value=a", unreachable + " 1, " + order + " 0"},
		{"order of shares", "1 50% value=a|2 20% value=b", "2 20% value=b|1 50% value=a", order + " 0"},
		{"order past rules for others", "3 mail=x value=c|1 plan=pro value=a|2 value=b", "3 mail=x value=c|2 value=b|1 plan=pro value=a", unreachable + " 2, " + order + " 1"},
		{"order of one seed", "1 50% value=a|2 seed=s1 70% value=b", "2 seed=s1 70% value=b|1 50% value=a", unreachable + " 1, " + order + " 0"},
		{"order of experiments", "1 50% ab=a|2 50% ab=a", "2 50% ab=a|1 50% ab=a", miss + " 0__on_rollout_miss, " + order + " 0"},
		{"not an order of the same value", "1 plan=pro value=a|2 value=a", "2 value=a|1 plan=pro value=a", unreachable + " 1"},
		{"not an order of others", "1 plan=pro value=a|2 mail=x value=b", "2 mail=x value=b|1 plan=pro value=a", ""},
		{"not an order with a cohort", "1 plan=pro value=a|2 value=b|3 cohort value=c", "3 cohort value=c|2 value=b|1 plan=pro value=a", unreachable + " 2"},
		{"not an order of shares of nobody", "1 0% value=a|2 0% value=b", "2 0% value=b|1 0% value=a", ""},
		{"not an order, but an edit", "1 plan=pro value=a|2 value=b", "1 plan=pro value=b|2 value=a", ""},
		{"not an order: one is gone", "1 plan=pro value=a|2 value=b", "2 value=b", ""},

		{"reset of a share", "1 plan=pro 50% value=a", "2 plan=pro 50% value=a", reset + " 0"},
		{"reset of variants", "1 100% ab=a", "2 100% ab=a", reset + " 0"},
		{"not a reset that keeps the ID", "1 50% value=a", "1 50% value=a", ""},
		{"not a reset with other filters", "1 plan=pro 50% value=a", "2 plan=free 50% value=a", ""},
		{"not a reset of everybody", "1 100% value=a", "2 100% value=a", ""},
		{"not a reset of another value", "1 50% value=a", "2 50% value=b", ""},
		{"not a reset below what decides", "3 value=c|1 50% value=a", "3 value=c|2 50% value=a", unreachable + " 1"},

		{"conclusion of a share", "1 80% ab=a", "1 value=a", conclusion + " 0"},
		{"conclusion of a holdout", "1 100% ab=a holdout", "1 100% value=a", conclusion + " 0"},
		{"conclusion of a pause", "1 100% ab=a paused", "1 value=a2", conclusion + " 0"},
		{"conclusion with fewer filters", "1 plan=pro 100% ab=a", "1 value=a", conclusion + " 0"},
		{"not a conclusion for the same", "1 80% ab=a", "1 80% value=a", ""},
		{"not a conclusion for everybody before", "1 100% ab=a", "1 value=a", ""},
		{"not a conclusion with another value", "1 80% ab=a", "1 value=b", ""},
		{"not a conclusion with other filters", "1 plan=pro 80% ab=a", "1 plan=free value=a", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, w := range judge.Warnings(warnSet(test.before), warnSet(test.after)) {
				got = append(got, w.Code+" "+strings.TrimPrefix(w.Attr, "filters__rules__"))
				if w.Detail == "" {
					t.Error("no detail")
				}
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestWarningsHold evaluates random rule sets about which something is said.
func TestWarningsHold(t *testing.T) {
	g := rand.New(rand.NewPCG(29, 7))
	pick := func(list ...string) string { return list[g.IntN(len(list))] }
	rule := func(n int) string {
		words := fmt.Sprint(n, pick("", "", " plan=a", " plan=b", " plan!=a"), pick("", "", " mail=x"), pick("", "", " 20%", " 50%", " 50% ab=v", " 100% ab=v", " 80% ab=v paused"))
		if !strings.Contains(words, "ab=") {
			words += " value=" + pick("v", "v2", "w")
		}
		if strings.Contains(words, "%") {
			words += pick("", "", " out", " seed=same", " holdout")
		}
		if !strings.Contains(words, "ab=") {
			words = strings.ReplaceAll(words, " holdout", "")
		}
		return words
	}
	evaluate := func(set *flags.RuleSet) func(i int) flags.Result {
		filters := flags.Filters{Version: 2, RuleSet: set}
		s, err := flags.Compile(&flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Filters: filters}}}, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return func(i int) flags.Result {
			person := map[string]any{}
			for key, value := range map[string]string{"plan": []string{"", "a", "b"}[i%3], "mail": []string{"", "x"}[i/3%2]} {
				if value != "" {
					person[key] = value
				}
			}
			r, err := s.Flag("f", &flags.Request{DistinctID: fmt.Sprint("person", i), PersonProperties: person})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	const persons = 1200
	said := make(map[string]int)
	for range fulltest.Count(300, 4000) {
		var lines []string
		for n := range 1 + g.IntN(4) {
			lines = append(lines, rule(n+1))
		}
		after := warnSet(strings.Join(lines, "|"))
		before := &flags.RuleSet{ReturnType: after.ReturnType, Default: after.Default, Aggregation: after.Aggregation, Rules: slices.Clone(after.Rules)}
		g.Shuffle(len(before.Rules), func(i, j int) { before.Rules[i], before.Rules[j] = before.Rules[j], before.Rules[i] })
		was, is := evaluate(before), evaluate(after)
		for _, w := range judge.Warnings(before, after) {
			said[w.Code]++
			var n int
			fmt.Sscanf(w.Attr, "filters__rules__%d", &n)
			reached, changed := false, false
			for i := range persons {
				a, b := was(i), is(i)
				reached = reached || b.Reason.ConditionIndex == n && (b.Reason.Code == "targeting_match" || b.Reason.Code == "experiment_split")
				changed = changed || string(a.JSON()) != string(b.JSON())
			}
			if w.Code == judge.WarnUnreachable && reached || w.Code == judge.WarnOrder && !changed {
				t.Errorf("%+v\n%s", w, strings.Join(lines, "\n"))
			}
		}
	}
	if said[judge.WarnUnreachable] < 10 || said[judge.WarnOrder] < 10 || said[judge.WarnMiss] < 10 {
		t.Errorf("said %v", said)
	}
}
