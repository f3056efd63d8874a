package effects

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// Of asks the Service what a change of a flag would do, which is nil for a new one.
func Of(q *shell.Request, patch management.PreviewPatch, f *management.FlagView) (*shell.Effect, error) {
	p, err := q.Service.PreviewFlag(q.Context(), q.By, q.Ref, patch)
	if e, ok := errors.AsType[*management.Error](err); ok && e.Code == "not_available" {
		asks := f == nil || f.Active || patch.Active.Value
		return &shell.Effect{Asks: asks, Unknown: "The impact is not known: no events are captured here."}, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := q.ChangeVocabulary(p.Definition)
	if err != nil {
		return nil, err
	}
	v := effectOf(q, p, names, Since(q, p.Since))
	v.Warned = Warnings(p.Warnings)
	filters := patch.Filters.Value
	on := f == nil
	if f != nil {
		on = f.Active || slices.ContainsFunc(p.Definition, func(c management.FlagChange) bool {
			return c.Field == "active" || c.Field == "deleted"
		})
		if !patch.Filters.Set {
			filters = f.Filters
		}
	}
	if AboutGroups(&filters) {
		v.Caveat = GroupCaveat
		v.Asks = v.Asks || f == nil || slices.ContainsFunc(p.Definition, decides)
	}
	v.Asks = v.Asks && on
	if key := q.PathValue("flag"); key != "" {
		for i := range v.Persons {
			v.Persons[i].Why = q.ProjectPath("/explain?" + url.Values{"person": {v.Persons[i].Person}, "flag": {key}}.Encode())
		}
	}
	return v, nil
}

// Warnings says what is perhaps not meant about a rule set.
func Warnings[W check.Warning | judge.Warning](list []W) (out []string) {
	for i := range list {
		w := judge.Warning(list[i])
		if w.Code == judge.WarnReset { // whose detail is for programs
			w.Detail = words.Place(strings.ReplaceAll(w.Attr, "__", "/")) + " is new, and draws anew in place of one with the same " +
				"filters that is gone. To keep everybody's value, change that one instead."
			w.Detail = strings.ToUpper(w.Detail[:1]) + w.Detail[1:]
		}
		out = append(out, w.Detail)
	}
	return out
}

// GroupCaveat says what an effect does not count.
const GroupCaveat = "What is about groups is not counted: the groups of a person are known only when a program evaluates flags."

// AboutGroups reports whether a condition set, or a rule set, is about groups rather than persons.
func AboutGroups(f *flags.Filters) bool {
	if f.RuleSet != nil && f.RuleSet.Aggregation != flags.ByPerson {
		return true
	}
	for i := range f.Groups {
		if _, grouped := words.Aggregation(&f.Groups[i], f.AggregationGroupTypeIndex); grouped {
			return true
		}
	}
	return false
}

// ExamplesShown is how many persons a page lists.
const ExamplesShown = 12

// effectOf says in words what a preview has found.
func effectOf(q *shell.Request, p *management.FlagPreview, names shell.Names, since string) *shell.Effect {
	v := &shell.Effect{Known: true, Cut: p.MoreDefinition}
	v.Asks = len(p.OtherFlags) > 0 || p.MoreDefinition > 0 || slices.ContainsFunc(p.Definition, uncounted)
	transitions := slices.DeleteFunc(slices.Clone(p.Transitions), func(t management.FlagTransition) bool {
		return !Has(t.From) && !Has(t.To) // off, and no flag, are the same to programs
	})
	parts := make([]int, len(transitions), len(transitions)+1)
	same := p.Subjects
	for i, t := range transitions {
		parts[i] = t.Count
		same -= t.Count
	}
	share := charts.Shares(p.Subjects, append(parts, same))
	var gain, lose, other int
	var gains, losses, others float64
	for i, t := range transitions {
		class := "other"
		switch {
		case !Has(t.From) && Has(t.To):
			gain, gains = gain+t.Count, gains+share[i]
			class = "gain"
		case Has(t.From) && !Has(t.To):
			lose, losses = lose+t.Count, losses+share[i]
			class = "lose"
		default:
			other, others = other+t.Count, others+share[i]
		}
		v.Moves = append(v.Moves, shell.Move{
			From: ValueWords(t.From), To: ValueWords(t.To), Count: forms.Number(t.Count), Share: forms.Percent(share[i]),
			Width: charts.Decimal(share[i]),
			Class: class,
		})
	}
	changed := gain + lose + other
	v.Asks = v.Asks || changed > 0
	if changed == 0 {
		p.Changes = nil
	}
	x := v.Bar.Add(0, gains, "gain", "gain it")
	x = v.Bar.Add(x, losses, "lose", "lose it")
	x = v.Bar.Add(x, others, "other", "get another value")
	v.Bar.Add(x, share[len(parts)], "same", "stay as they are")
	for _, c := range p.Changes[:min(len(p.Changes), ExamplesShown)] {
		v.Persons = append(v.Persons, shell.Move{Person: c.DistinctID, From: ValueWords(c.From), To: ValueWords(c.To)})
	}
	v.More = changed - len(v.Persons)
	for _, o := range p.OtherFlags {
		v.Others = append(v.Others, shell.OtherFlag{Key: o.Key, Count: forms.Count(o.Changed, "person", "persons")})
	}
	v.Changes = q.ChangesIn(names, "FeatureFlag", p.Definition)
	v.Summary = summaryOf(p.Subjects, changed, gain, lose, other, since)
	return v
}

// uncounted reports whether what a change does is not in the numbers of a preview, which
// evaluates for every caller alike, and looks at values alone.
func uncounted(c management.FlagChange) bool {
	switch c.Field {
	case "active", "archived", "deleted", "bucketing_hash":
		return false
	}
	return decides(c) && (!strings.HasPrefix(c.Field, "filters/") || strings.HasPrefix(c.Field, "filters/payloads"))
}

// decides reports whether a change can change what programs get.
func decides(c management.FlagChange) bool { return c.Field != "name" && c.Field != "tags" }

// Since says from when on the persons of a preview were seen.
func Since(q *shell.Request, t *time.Time) string {
	if t == nil {
		return ""
	}
	now, then := q.Config.Now().UTC(), t.UTC()
	form := "2 January 2006"
	switch {
	case now.Sub(then) < 24*time.Hour:
		form = "15:04 UTC on 2 January"
	case then.Year() == now.Year():
		form = "2 January"
	}
	return ", since " + then.Format(form)
}

// Has reports whether somebody with a value has the flag.
func Has(v any) bool { return v != nil && v != false }

// summaryOf says in one sentence for how many persons something changes.
func summaryOf(subjects, changed, gain, lose, other int, since string) string {
	switch {
	case subjects == 0:
		return "No persons have been seen yet, so the impact is not known."
	case changed == 0:
		return "Nothing changes for the " + forms.Number(subjects) + " persons who were seen last" + since + "."
	}
	var parts []string
	for _, p := range []struct {
		n     int
		words string
	}{{gain, "gain it"}, {lose, "lose it"}, {other, "get another value"}} {
		if p.n > 0 {
			parts = append(parts, forms.Number(p.n)+" "+p.words)
		}
	}
	return "Of the " + forms.Number(subjects) + " persons who were seen last" + since + ", " + forms.Joined(parts) + "."
}

// ValueWords says what a value of a flag is.
func ValueWords(v any) string {
	switch v := v.(type) {
	case nil: // it cannot be computed, or rules give no value
		return "the fallback of the program"
	case bool:
		if v {
			return "on"
		}
		return "off"
	case string:
		return v
	}
	return forms.Text(forms.Must(json.Marshal(v)))
}
