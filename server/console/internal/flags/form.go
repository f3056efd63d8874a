package flags

import (
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// noVersion is the version of a flag that does not exist yet.
const noVersion = -1

// maxParts is how many variants, rules, or filters of a rule a form may have. The Service has limits
// of its own, for what can be saved.
const maxParts = 500

// A flagForm is a flag as a person edits it: texts as they were typed, right or wrong.
// What the form has no field for is in Base and in the Raw of its parts, and comes through
// unchanged.
type flagForm struct {
	Version  int // of the flag for which the form was made
	Reviewed int // the version for which the person has seen who changes; 0: none

	Key, Name                                              string
	Active                                                 bool // of a new flag
	Tags, Contexts, ContextMatch, Runtime, Bucketing, Hash string
	Continuity, Remote, Encrypted, EarlyExit               bool
	HoldoutID, HoldoutShare                                string
	Payload                                                string // of a flag without variants
	Base                                                   string // the JSON of all filters
	Comment                                                string // about the change
	Variants                                               []variantForm

	AsJSON bool   // the filters are edited as JSON
	JSON   string // as typed

	rulesForm

	targeting.Form
}

// A variantForm is a variant with its payload.
type variantForm struct {
	Raw, Key, Label, Share, Payload string
}

// newFlagForm returns the form of a new flag.
func newFlagForm() *flagForm {
	return &flagForm{
		Version: noVersion, Runtime: "all", Bucketing: "distinct_id", ContextMatch: "any", Base: `{"groups":[]}`,
		Form: targeting.Form{Conditions: []targeting.ConditionForm{{Raw: targeting.NewPart, Share: "100"}}},
	}
}

// What the fields of a flag offer.
var (
	runtimes       = forms.Options("all", "All runtimes", "client", "Client only", "server", "Server only")
	bucketings     = forms.Options("distinct_id", "Distinct ID", "device_id", "Device ID")
	hashes         = forms.Options("", "The project's default", "sha1", "SHA-1", "xxhash64", "xxHash64")
	contextMatches = forms.Options("any", "one of them", "all", "all of them")
)

// details are the fields that say which flag it is.
var details = []field{
	textField("key", func(form *flagForm) *string { return &form.Key }),
	textField("name", func(form *flagForm) *string { return &form.Name }),
	namesField("tags", func(form *flagForm) *string { return &form.Tags }),
}

// settings are the fields besides targeting and values that most flags leave as they are. Flags with
// a rule set have the first ones alone.
const settingsOfRules = 4

var settings = []field{
	textField("evaluation_runtime", func(form *flagForm) *string { return &form.Runtime }, runtimes...),
	namesField("evaluation_contexts", func(form *flagForm) *string { return &form.Contexts }),
	textField("evaluation_contexts_match_mode", func(form *flagForm) *string { return &form.ContextMatch }, contextMatches...),
	{
		path: "filters/aggregation_group_type_index",
		get:  func(form *flagForm) string { return form.Aggregation },
		say: func(s *speaker, form *flagForm) string {
			return forms.LabelOf(s.groupTypes, form.Aggregation, cmp.Or(form.Aggregation, "none: by persons"))
		},
		take: func(to, from *flagForm) { to.Aggregation = from.Aggregation },
	},
	textField("bucketing_identifier", func(form *flagForm) *string { return &form.Bucketing }, bucketings...),
	textField("bucketing_hash", func(form *flagForm) *string { return &form.Hash }, hashes...),
	{
		path: "filters/holdout",
		get: func(form *flagForm) string {
			if form.HoldoutID == "" {
				return ""
			}
			return form.HoldoutID + " " + forms.Exact(targeting.Percentage(form.HoldoutShare))
		},
		say: func(s *speaker, form *flagForm) string {
			if form.HoldoutID == "" {
				return ""
			}
			return s.names.Value("filters/holdout/exclusion_percentage", form.HoldoutShare) + " are held out, by holdout " + form.HoldoutID
		},
		take: func(to, from *flagForm) { to.HoldoutID, to.HoldoutShare = from.HoldoutID, from.HoldoutShare },
	},
	checkField("ensure_experience_continuity", func(form *flagForm) *bool { return &form.Continuity }),
	checkField("filters/early_exit", func(form *flagForm) *bool { return &form.EarlyExit }),
	checkField("is_remote_configuration", func(form *flagForm) *bool { return &form.Remote }),
	checkField("has_encrypted_payloads", func(form *flagForm) *bool { return &form.Encrypted }),
	{
		path: otherMembersPath,
		get:  otherMembers,
		say:  func(_ *speaker, form *flagForm) string { return otherMembers(form) },
		take: func(to, from *flagForm) { to.Base = from.Base },
	},
}

// choices are what the fields of a flag offer, with what is chosen.
type choices struct{ Runtimes, Bucketings, Hashes, Matches []forms.Option }

func (form *flagForm) offer() choices {
	return choices{
		forms.Selected(runtimes, form.Runtime), forms.Selected(bucketings, form.Bucketing), forms.Selected(hashes, form.Hash),
		forms.Selected(contextMatches, form.ContextMatch),
	}
}

// formOf returns the form of a flag.
func formOf(f *management.FlagView) *flagForm {
	form := &flagForm{
		Version: f.Version, Key: f.Key, Name: f.Name, Active: f.Active,
		Tags: strings.Join(f.Tags, ", "), Contexts: strings.Join(f.Contexts, ", "), ContextMatch: f.ContextMatch,
		Runtime: f.Runtime, Bucketing: f.Bucketing, Hash: f.BucketingHash, Continuity: f.Continuity, Remote: f.RemoteConfig,
		Encrypted: f.EncryptedPayloads,
	}
	form.setFilters(&f.Filters)
	return form
}

// setFilters fills in the fields that stand for filters.
func (form *flagForm) setFilters(f *flags.Filters) {
	if f.RuleSet != nil {
		form.setRules(f.RuleSet)
		return
	}
	form.rulesForm = rulesForm{}
	form.Base = string(forms.Must(json.Marshal(f)))
	form.Set(f)
	form.EarlyExit = f.EarlyExit != nil && *f.EarlyExit
	form.HoldoutID, form.HoldoutShare = "", ""
	if f.Holdout != nil {
		form.HoldoutID, form.HoldoutShare = strconv.FormatInt(f.Holdout.ID, 10), forms.Exact(f.Holdout.ExclusionPercentage)
	}
	form.Payload, _ = f.Payload("true")
	form.Variants = nil
	if f.Multivariate == nil {
		return
	}
	for _, v := range f.Multivariate.Variants {
		payload, _ := f.Payload(v.Key)
		label := ""
		if v.Name != nil {
			label = *v.Name
		}
		form.Variants = append(form.Variants, variantForm{
			string(forms.Must(json.Marshal(v))), v.Key, label, forms.Exact(v.RolloutPercentage), payload,
		})
	}
}

// readFlagForm reads what a browser has sent.
func readFlagForm(v url.Values) *flagForm {
	number := func(name string) int { return forms.Atoi(v.Get(name)) }
	yes := func(name string) bool { return v.Get(name) != "" }
	form := &flagForm{
		Version: number("version"), Reviewed: number("reviewed"), Key: strings.TrimSpace(v.Get("key")), Name: forms.Lines(v.Get("name")),
		Active: yes("active"),
		Tags:   v.Get("tags"), Contexts: v.Get("contexts"), ContextMatch: v.Get("context_match"), Runtime: v.Get("runtime"),
		Bucketing: v.Get("bucketing"),
		Hash:      v.Get("hash"), Continuity: yes("continuity"), Remote: yes("remote"), Encrypted: yes("encrypted"),
		EarlyExit: yes("early_exit"),
		HoldoutID: strings.TrimSpace(v.Get("holdout_id")), HoldoutShare: strings.TrimSpace(v.Get("holdout_share")),
		Comment: strings.TrimSpace(v.Get("comment")),
		Payload: forms.Lines(v.Get("payload")), Base: v.Get("base"), AsJSON: yes("as_json"), JSON: forms.Lines(v.Get("json")),
		rulesForm: readRules(v), Form: targeting.ReadForm(v),
	}
	for i := 0; i < maxParts && v.Has(variantName(i)+".raw"); i++ {
		name := variantName(i)
		form.Variants = append(form.Variants, variantForm{
			v.Get(name + ".raw"), strings.TrimSpace(v.Get(name + ".key")), v.Get(name + ".label"),
			strings.TrimSpace(v.Get(name + ".share")), forms.Lines(v.Get(name + ".payload")),
		})
	}
	return form
}

// refuse notes what the Service says against the form.
func (form *flagForm) refuse(e *management.Error) {
	if place, of := strings.CutPrefix(e.Attr, "filters__"); of { // of a rule set (rules.md §7)
		form.place(strings.Split(place, "__"), e.Detail)
		return
	}
	field, detail := fieldOf(e, form.AsJSON)
	if field == "json" {
		detail = e.Text()
	}
	form.Fail(field, "%s", detail)
}

// fieldOf returns the name of the field that an error is about, and the message without
// the place.
func fieldOf(e *management.Error, asJSON bool) (field, detail string) {
	fields := map[string]string{
		"key": "key", "name": "name", "tags": "tags", "evaluation_contexts": "contexts", "evaluation_contexts_match_mode": "context_match",
		"evaluation_runtime": "runtime", "bucketing_identifier": "bucketing", "bucketing_hash": "hash",
		"ensure_experience_continuity": "continuity",
		"is_remote_configuration":      "remote", "has_encrypted_payloads": "encrypted", "active": "active", "comment": "comment",
	}
	if e.Attr != "filters" {
		return fields[e.Attr], e.Text()
	}
	if asJSON {
		return "json", e.Text()
	}
	return targeting.FieldOf(e)
}

// Advanced reports whether something is wrong with a field that is opened on demand.
func (form *flagForm) Advanced() bool {
	for _, field := range []string{
		"runtime", "contexts", "hash", "bucketing", "continuity", "remote", "encrypted", "holdout_share", "holdout_id", "context_match",
	} {
		if form.Error(field) != "" {
			return true
		}
	}
	return false
}

// replacing returns the change of filters that makes them others: members that are not sent
// stay, so that it has null for what is taken away.
func replacing(before *flags.Filters, after flags.Filters) flags.Filters {
	gone := make(forms.Object)
	for name := range forms.ReadObject(string(forms.Must(json.Marshal(before)))) {
		if !after.Has(name) {
			gone[name] = forms.JSONNull
		}
	}
	return after.Merge(&flags.Filters{Extra: forms.Must(json.Marshal(gone))})
}

// patch returns the change of a flag that the form stands for, or a new flag for nil.
// Errors of the form are in Errors, and then ok is false.
func (form *flagForm) patch(f *management.FlagView) (p management.PreviewPatch, ok bool) {
	form.check()
	if len(form.Errors) > 0 {
		return p, false
	}
	filters := form.filters()
	if f != nil && f.Filters.RuleSet == nil {
		filters = replacing(&f.Filters, filters)
	}
	nullable := func(s string) optional.Value[string] {
		return optional.Value[string]{Set: true, Null: s == "", Value: s}
	}
	p.FlagPatch = management.FlagPatch{
		Key: optional.Of(form.Key), Name: optional.Of(form.Name), Filters: optional.Of(filters),
		Tags:         optional.Of(json.RawMessage(forms.Must(json.Marshal(forms.Names(form.Tags))))),
		Contexts:     optional.Of(json.RawMessage(forms.Must(json.Marshal(forms.Names(form.Contexts))))),
		ContextMatch: nullable(form.ContextMatch), Runtime: nullable(form.Runtime),
	}
	if !form.ruled() { // what only condition sets have
		p.Bucketing, p.BucketingHash, p.Continuity = nullable(form.Bucketing), nullable(form.Hash), optional.Of(form.Continuity)
		p.RemoteConfig, p.EncryptedPayloads = optional.Of(form.Remote), optional.Of(form.Encrypted)
	}
	if f == nil {
		p.Active = optional.Of(form.Active)
	} else {
		p.Version, p.Comment = optional.Of(form.Version), optional.Of(form.Comment)
	}
	return p, true
}

// check notes what is wrong with texts that have to be JSON or numbers.
func (form *flagForm) check() {
	if form.AsJSON {
		if _, err := forms.ReadJSON(form.JSON, notFilters); err != nil {
			form.Fail("json", "%v", err)
			return
		}
	}
	if form.ruled() {
		form.checkRules()
	}
	if form.AsJSON || form.ruled() {
		return
	}
	payload := func(field, s string) {
		if s == "" || form.Encrypted {
			return
		}
		if err := forms.CheckJSON(s); err != nil {
			form.Fail(field, "%v", err)
		}
	}
	form.Check()
	total := 0.0
	for i := range form.Variants {
		v := &form.Variants[i]
		if v.Key == "" {
			form.Fail(variantName(i)+".key", "A variant needs a key.")
		}
		form.CheckShare(variantName(i)+".share", v.Share)
		n, _ := strconv.ParseFloat(v.Share, 64)
		total += n
		payload(variantName(i)+".payload", v.Payload)
	}
	if len(form.Variants) > 0 && len(form.Errors) == 0 && (total < 99.999 || total > 100.001) {
		form.Fail("variants", "The weights of the variants must sum to 100%%, not %s.", forms.Percent(total))
	}
	if len(form.Variants) == 0 {
		payload("payload", form.Payload)
	}
	if form.HoldoutID != "" || form.HoldoutShare != "" {
		form.CheckShare("holdout_share", form.HoldoutShare)
		if !forms.IsNumber(form.HoldoutID) {
			form.Fail("holdout_id", "Must be a number, not %q.", forms.Shorten(form.HoldoutID, 40))
		}
	}
}

const notFilters = `filters are an object, such as {"groups": []}`

// filters returns the filters that the form, which was checked, stands for.
func (form *flagForm) filters() (f flags.Filters) {
	if form.ruled() {
		f.Version = 2
		f.RuleSet, _ = form.ruleSet()
		return f
	}
	if form.AsJSON {
		_ = json.Unmarshal([]byte(form.JSON), &f)
		return f
	}
	_ = json.Unmarshal([]byte(cmp.Or(form.Base, targeting.NewPart)), &f) // what is not one of ours has nothing
	f.Groups = form.Groups()
	if by := targeting.AggregationOf(form.Aggregation); by != flags.Inherited ||
		f.AggregationGroupTypeIndex != flags.ByPerson { // as null says, too
		f.AggregationGroupTypeIndex = by
	}
	if form.EarlyExit || f.EarlyExit != nil {
		f.EarlyExit = &form.EarlyExit
	}
	if form.HoldoutID == "" {
		f.Holdout = nil
	} else {
		h := flags.Holdout{}
		if f.Holdout != nil {
			h = *f.Holdout
		}
		h.ID, _ = strconv.ParseInt(form.HoldoutID, 10, 64)
		h.ExclusionPercentage = targeting.Percentage(form.HoldoutShare)
		f.Holdout = &h
	}
	form.setVariants(&f)
	return f
}

// setVariants replaces variants and payloads.
func (form *flagForm) setVariants(f *flags.Filters) {
	before := *f
	f.Payloads = nil
	if before.Payloads != nil {
		f.Payloads = make(map[string]json.RawMessage)
	}
	payload := func(key, typed, was string) {
		switch old, ok := before.Payload(was); {
		case typed == "":
		case ok && old == typed:
			f.Payloads[key] = before.Payloads[was]
		default:
			f.SetPayload(key, typed)
		}
	}
	if len(form.Variants) == 0 {
		f.Multivariate = nil
		payload("true", form.Payload, "true")
		return
	}
	m := flags.Multivariate{}
	if before.Multivariate != nil {
		m = *before.Multivariate
	}
	m.Variants = make([]flags.Variant, len(form.Variants))
	for i := range form.Variants {
		v := form.Variants[i]
		var w flags.Variant
		if v.Raw != targeting.NewPart {
			_ = json.Unmarshal([]byte(v.Raw), &w)
		}
		payload(v.Key, v.Payload, w.Key)
		w.Key, w.RolloutPercentage = v.Key, targeting.Percentage(v.Share)
		if v.Label != "" || w.Name != nil {
			w.Name = &v.Label
		}
		m.Variants[i] = w
	}
	f.Multivariate = &m
}

func variantName(i int) string { return "v" + strconv.Itoa(i) }

// edit does what a button of the form says, which changes only the form: a verb and the
// name of a part.
func (form *flagForm) edit(verb, target string) {
	i, _ := targeting.PartOf(target)
	switch {
	case verb == "to-json":
		if form.check(); len(form.Errors) == 0 {
			form.JSON, form.AsJSON = forms.Pretty(forms.Must(json.Marshal(form.filters()))), true
		}
	case verb == "to-form":
		form.AsJSON = true
		if form.check(); len(form.Errors) > 0 {
			return
		}
		f := form.filters()
		form.AsJSON = false
		form.setFilters(&f)
	case form.Type != "":
		form.editRules(verb, target)
	case verb == "remove" && strings.HasPrefix(target, "v"):
		form.Variants = targeting.Rearranged(form.Variants, verb, i, nil)
	case verb == "add-variant":
		form.addVariant()
	case verb == "even":
		for i, share := range evenly(len(form.Variants)) {
			form.Variants[i].Share = share
		}
	default:
		form.Edit(verb, target)
	}
}

// addVariant adds a variant with a share that makes 100. The first one comes with
// another, since one alone is none.
func (form *flagForm) addVariant() {
	if len(form.Variants) == 0 {
		form.Variants = []variantForm{
			{Raw: targeting.NewPart, Key: "control", Share: "50", Payload: ""}, {
				Raw: targeting.NewPart, Key: "test", Share: "50",
				Payload: form.Payload,
			},
		}
		return
	}
	shares := make([]string, len(form.Variants))
	for i := range shares {
		shares[i] = form.Variants[i].Share
	}
	form.Variants = append(form.Variants, variantForm{Raw: targeting.NewPart, Share: left(shares)})
}

// left returns the share that makes 100 with others.
func left(shares []string) string {
	left := 100.0
	for _, share := range shares {
		n, _ := strconv.ParseFloat(share, 64) // what is not a number has no share
		left -= n
	}
	return forms.Exact(max(math.Round(left*1e6)/1e6, 0))
}

// evenly returns as many shares, which are the same in hundredths of a percent; the first ones
// get what is left.
func evenly(n int) []string {
	shares := make([]string, n)
	for i := range shares {
		share := 10_000 / n
		if i < 10_000%n {
			share++
		}
		shares[i] = forms.Exact(float64(share) / 100)
	}
	return shares
}
