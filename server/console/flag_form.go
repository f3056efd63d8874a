package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// Limits of a form. The Service has limits of its own, for what can be saved.
const (
	maxConditions = 500 // condition sets
	maxFilters    = 500 // filters of a condition set
	maxVariants   = 500
)

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
	Aggregation                                            string // the index of a group type; "" for persons
	HoldoutID, HoldoutShare                                string
	Payload                                                string // of a flag without variants
	Base                                                   string // the JSON of all filters
	Conditions                                             []conditionForm
	Variants                                               []variantForm

	AsJSON bool   // the filters are edited as JSON
	JSON   string // as typed

	checked
}

// A conditionForm is a condition set.
type conditionForm struct {
	Raw, Description, Share, Variant string
	Aggregation                      string // "" as the flag, "persons", or the index of a group type
	Filters                          []filterForm
}

// A variantForm is a variant with its payload.
type variantForm struct {
	Raw, Key, Label, Share, Payload string
}

// newPart is the Raw of a part that was just added.
const newPart = "{}"

type object = map[string]json.RawMessage

func readObject(raw string) object {
	var o object
	_ = json.Unmarshal([]byte(raw), &o) // what is none has no members
	if o == nil {
		o = make(object)
	}
	return o
}

func readList(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	_ = json.Unmarshal(raw, &l) // what is none is empty
	return l
}

func quoted(s string) json.RawMessage { return must(json.Marshal(s)) }

// newFlagForm returns the form of a new flag.
func newFlagForm() *flagForm {
	return &flagForm{
		Version: noVersion, Runtime: "all", Bucketing: "distinct_id", ContextMatch: "any", Base: `{"groups":[]}`,
		Conditions: []conditionForm{{Raw: newPart, Share: "100"}},
	}
}

// choices are what the fields of a flag offer.
func (v *flagView) choices() {
	v.Runtimes = selected(options("all", "All runtimes", "client", "Client only", "server", "Server only"), v.Runtime)
	v.Bucketings = selected(options("distinct_id", "Distinct ID", "device_id", "Device ID"), v.Bucketing)
	v.Hashes = selected(options("", "The project's default", "sha1", "SHA-1", "xxhash64", "xxHash64"), v.Hash)
	v.Matches = selected(options("any", "one of them", "all", "all of them"), v.ContextMatch)
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
	form.Base = string(must(json.Marshal(f)))
	form.Aggregation = ""
	if index, ok := f.AggregationGroupTypeIndex.Index(); ok {
		form.Aggregation = strconv.Itoa(index)
	}
	form.EarlyExit = f.EarlyExit != nil && *f.EarlyExit
	form.HoldoutID, form.HoldoutShare = "", ""
	if f.Holdout != nil {
		form.HoldoutID, form.HoldoutShare = strconv.FormatInt(f.Holdout.ID, 10), exact(f.Holdout.ExclusionPercentage)
	}
	form.Payload, _ = f.Payload("true")
	form.Conditions, form.Variants = nil, nil
	for i := range f.Groups {
		form.Conditions = append(form.Conditions, conditionOf(&f.Groups[i]))
	}
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
			string(must(json.Marshal(v))), v.Key, label, exact(v.RolloutPercentage), payload,
		})
	}
}

func conditionOf(c *flags.Condition) conditionForm {
	form := conditionForm{Raw: string(must(json.Marshal(c))), Description: c.Description, Share: "100"}
	if c.RolloutPercentage != nil {
		form.Share = exact(*c.RolloutPercentage)
	}
	if c.Variant != nil {
		form.Variant = *c.Variant
	}
	if index, ok := c.AggregationGroupTypeIndex.Index(); ok {
		form.Aggregation = strconv.Itoa(index)
	} else if c.AggregationGroupTypeIndex == flags.ByPerson {
		form.Aggregation = "persons"
	}
	for i := range c.Properties {
		form.Filters = append(form.Filters, filterOf(&c.Properties[i]))
	}
	return form
}

// readFlagForm reads what a browser has sent.
func readFlagForm(v url.Values) *flagForm {
	number := func(name string) int { return atoi(v.Get(name)) }
	yes := func(name string) bool { return v.Get(name) != "" }
	form := &flagForm{
		Version: number("version"), Reviewed: number("reviewed"), Key: strings.TrimSpace(v.Get("key")), Name: lines(v.Get("name")),
		Active: yes("active"),
		Tags:   v.Get("tags"), Contexts: v.Get("contexts"), ContextMatch: v.Get("context_match"), Runtime: v.Get("runtime"),
		Bucketing: v.Get("bucketing"),
		Hash:      v.Get("hash"), Continuity: yes("continuity"), Remote: yes("remote"), Encrypted: yes("encrypted"),
		EarlyExit:   yes("early_exit"),
		Aggregation: v.Get("aggregation"), HoldoutID: strings.TrimSpace(v.Get("holdout_id")),
		HoldoutShare: strings.TrimSpace(v.Get("holdout_share")),
		Payload:      lines(v.Get("payload")), Base: v.Get("base"), AsJSON: yes("as_json"), JSON: lines(v.Get("json")),
	}
	for i := 0; i < maxConditions && v.Has(conditionName(i)+".raw"); i++ {
		name := conditionName(i)
		c := conditionForm{
			Raw: v.Get(name + ".raw"), Description: lines(v.Get(name + ".description")), Share: strings.TrimSpace(v.Get(name + ".share")),
			Variant: v.Get(name + ".variant"), Aggregation: v.Get(name + ".aggregation"),
		}
		for j := 0; j < maxFilters && v.Has(filterName(i, j)+".raw"); j++ {
			c.Filters = append(c.Filters, readFilter(v, filterName(i, j)))
		}
		form.Conditions = append(form.Conditions, c)
	}
	for i := 0; i < maxVariants && v.Has(variantName(i)+".raw"); i++ {
		name := variantName(i)
		form.Variants = append(form.Variants, variantForm{
			v.Get(name + ".raw"), strings.TrimSpace(v.Get(name + ".key")), v.Get(name + ".label"),
			strings.TrimSpace(v.Get(name + ".share")), lines(v.Get(name + ".payload")),
		})
	}
	return form
}

// lines takes back what browsers do to the ends of lines.
func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func conditionName(i int) string { return "c" + strconv.Itoa(i) }
func filterName(i, j int) string { return conditionName(i) + ".f" + strconv.Itoa(j) }
func variantName(i int) string   { return "v" + strconv.Itoa(i) }

// refuse notes what the Service says against the form.
func (form *flagForm) refuse(e *management.Error) {
	field, detail := fieldOf(e, form.AsJSON)
	if field == "json" {
		detail = e.Text()
	}
	form.fail(field, "%s", detail)
}

// fieldOf returns the name of the field that an error is about, and the message without
// the place.
func fieldOf(e *management.Error, asJSON bool) (field, detail string) {
	fields := map[string]string{
		"key": "key", "name": "name", "tags": "tags", "evaluation_contexts": "contexts", "evaluation_contexts_match_mode": "context_match",
		"evaluation_runtime": "runtime", "bucketing_identifier": "bucketing", "bucketing_hash": "hash",
		"ensure_experience_continuity": "continuity",
		"is_remote_configuration":      "remote", "has_encrypted_payloads": "encrypted", "active": "active",
	}
	if e.Attr != "filters" {
		return fields[e.Attr], e.Text()
	}
	if asJSON {
		return "json", e.Text()
	}
	steps := e.Path
	at := func(i int) string {
		if i < len(steps) {
			return steps[i]
		}
		return ""
	}
	// A member without a place of its own stands at the part of the form that has it.
	members := map[string]string{
		"rollout_percentage": ".share", "variant": ".variant", "key": ".key", "value": ".value", "operator": ".operator",
		"group_type_index": ".group",
	}
	part := func(name string, i int) (field, detail string) {
		switch member := at(i); {
		case member == "":
			return name, e.Detail
		case members[member] == "":
			return name, strings.Join(steps[i:], "/") + ": " + e.Detail
		default:
			return name + members[member], e.Detail
		}
	}
	switch {
	case at(0) == "groups" && at(2) == "properties" && at(3) != "":
		return part("c"+at(1)+".f"+at(3), 4)
	case at(0) == "groups" && at(1) != "":
		return part("c"+at(1), 2)
	case at(0) == "multivariate" && at(2) != "":
		return part("v"+at(2), 3)
	case at(0) == "payloads" && at(1) == "true":
		return "payload", e.Detail
	case at(0) == "holdout":
		return "holdout_share", e.Detail
	}
	return "", e.Text()
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

// names reads a list of names with commas.
func names(s string) []string { return parts(s, ",\n") }

// lineNames reads a list with a line for each element.
func lineNames(s string) []string { return parts(s, "\n") }

// parts returns what is between separators, without what is empty.
func parts(s, separators string) []string {
	out := []string{}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// replacing returns the change of filters that makes them others: members that are not sent
// stay, so that it has null for what is taken away.
func replacing(before *flags.Filters, after flags.Filters) flags.Filters {
	gone := make(object)
	for name := range readObject(string(must(json.Marshal(before)))) {
		if !after.Has(name) {
			gone[name] = jsonNull
		}
	}
	return after.Merge(&flags.Filters{Extra: must(json.Marshal(gone))})
}

// patch returns the change of a flag that the form stands for, or a new flag for nil.
// Errors of the form are in Errors, and then ok is false.
func (form *flagForm) patch(f *management.FlagView) (p management.PreviewPatch, ok bool) {
	form.check()
	if len(form.Errors) > 0 {
		return p, false
	}
	filters := form.filters()
	if f != nil {
		filters = replacing(&f.Filters, filters)
	}
	nullable := func(s string) optional.Value[string] {
		return optional.Value[string]{Set: true, Null: s == "", Value: s}
	}
	p.FlagPatch = management.FlagPatch{
		Key: optional.Of(form.Key), Name: optional.Of(form.Name), Filters: optional.Of(filters),
		Tags:         optional.Of(json.RawMessage(must(json.Marshal(names(form.Tags))))),
		Contexts:     optional.Of(json.RawMessage(must(json.Marshal(names(form.Contexts))))),
		ContextMatch: nullable(form.ContextMatch), Runtime: nullable(form.Runtime), Bucketing: nullable(form.Bucketing),
		BucketingHash: nullable(form.Hash),
		Continuity:    optional.Of(form.Continuity), RemoteConfig: optional.Of(form.Remote), EncryptedPayloads: optional.Of(form.Encrypted),
	}
	if f == nil {
		p.Active = optional.Of(form.Active)
	} else {
		p.Version = optional.Of(form.Version)
	}
	return p, true
}

// check notes what is wrong with texts that have to be JSON or numbers.
func (form *flagForm) check() {
	if form.AsJSON {
		if _, err := readJSON(form.JSON, notFilters); err != nil {
			form.fail("json", "%v", err)
		}
		return
	}
	share := func(field, s string) {
		if !isShare(s) {
			form.fail(field, "Must be a number from 0 to 100, not %q.", shorten(s, 40))
		}
	}
	payload := func(field, s string) {
		if s == "" || form.Encrypted {
			return
		}
		if err := checkJSON(s); err != nil {
			form.fail(field, "%v", err)
		}
	}
	for i := range form.Conditions {
		share(conditionName(i)+".share", form.Conditions[i].Share)
		for j := range form.Conditions[i].Filters {
			form.Conditions[i].Filters[j].check(filterName(i, j), form.fail)
		}
	}
	total := 0.0
	for i := range form.Variants {
		v := &form.Variants[i]
		if v.Key == "" {
			form.fail(variantName(i)+".key", "A variant needs a key.")
		}
		share(variantName(i)+".share", v.Share)
		n, _ := strconv.ParseFloat(v.Share, 64)
		total += n
		payload(variantName(i)+".payload", v.Payload)
	}
	if len(form.Variants) > 0 && len(form.Errors) == 0 && (total < 99.999 || total > 100.001) {
		form.fail("variants", "The weights of the variants must sum to 100%%, not %s.", percent(total))
	}
	if len(form.Variants) == 0 {
		payload("payload", form.Payload)
	}
	if form.HoldoutID != "" || form.HoldoutShare != "" {
		share("holdout_share", form.HoldoutShare)
		if !isNumber(form.HoldoutID) {
			form.fail("holdout_id", "Must be a number, not %q.", shorten(form.HoldoutID, 40))
		}
	}
}

func isShare(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && v >= 0 && v <= 100 && json.Valid([]byte(s))
}

// maxDepth is how deep JSON that people type may be nested.
const maxDepth = 200

// checkJSON returns an error that names the line and the character of a fault.
func checkJSON(s string) error {
	_, err := jsonscan.Parse([]byte(s), maxDepth)
	e, ok := errors.AsType[*jsonscan.SyntaxError](err)
	if !ok {
		return err
	}
	line := 1 + strings.Count(s[:e.Offset], "\n")
	if e.Offset == len(s) {
		return fmt.Errorf("this is not JSON: it ends too early, in line %d", line)
	}
	column := 1 + utf8.RuneCountInString(s[strings.LastIndexByte(s[:e.Offset], '\n')+1:e.Offset])
	return fmt.Errorf("this is not JSON: line %d, character %d: %s", line, column, e.Msg)
}

// readJSON reads the JSON of an object that a person has typed. The error says where it is
// broken or, with the given words, that it is not an object.
func readJSON(s, otherwise string) (o object, err error) {
	if err := checkJSON(s); err != nil {
		return nil, err
	}
	if json.Unmarshal([]byte(s), &o) != nil || o == nil {
		return nil, errors.New(otherwise)
	}
	return o, nil
}

const notFilters = `filters are an object, such as {"groups": []}`

// filters returns the filters that the form, which was checked, stands for.
func (form *flagForm) filters() (f flags.Filters) {
	if form.AsJSON {
		_ = json.Unmarshal([]byte(form.JSON), &f)
		return f
	}
	_ = json.Unmarshal([]byte(cmp.Or(form.Base, newPart)), &f) // what is not one of ours has nothing
	f.Groups = make([]flags.Condition, len(form.Conditions))
	for i := range form.Conditions {
		f.Groups[i] = form.Conditions[i].condition()
	}
	if by := aggregationOf(form.Aggregation); by != flags.Inherited || f.AggregationGroupTypeIndex != flags.ByPerson { // as null says, too
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
		h.ExclusionPercentage = percentage(form.HoldoutShare)
		f.Holdout = &h
	}
	form.setVariants(&f)
	return f
}

// aggregationOf reads the field that says which groups, or persons, to bucket by.
func aggregationOf(field string) flags.Aggregation {
	if field == "persons" {
		return flags.ByPerson
	}
	if index, err := strconv.Atoi(field); err == nil && index >= 0 && index <= served.MaxGroupTypeIndex {
		return flags.ByGroup(index)
	}
	return flags.Inherited
}

// percentage reads a percentage, and 0 for what is none.
func percentage(s string) float64 {
	if !isShare(s) {
		return 0
	}
	x, _ := strconv.ParseFloat(s, 64)
	return x
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
		if v.Raw != newPart {
			_ = json.Unmarshal([]byte(v.Raw), &w)
		}
		payload(v.Key, v.Payload, w.Key)
		w.Key, w.RolloutPercentage = v.Key, percentage(v.Share)
		if v.Label != "" || w.Name != nil {
			w.Name = &v.Label
		}
		m.Variants[i] = w
	}
	f.Multivariate = &m
}

// condition returns the condition set that the form stands for.
func (form *conditionForm) condition() flags.Condition {
	var c flags.Condition
	_ = json.Unmarshal([]byte(form.Raw), &c)
	if c.RolloutPercentage != nil || form.Share != "100" { // null is 100 as well
		c.RolloutPercentage = new(percentage(form.Share))
	}
	if form.Variant != "" {
		c.Variant = &form.Variant
	} else {
		c.Variant = nil
	}
	c.Description = form.Description
	c.AggregationGroupTypeIndex = aggregationOf(form.Aggregation)
	c.Properties = make([]flags.Filter, len(form.Filters))
	for i := range form.Filters {
		c.Properties[i] = form.Filters[i].filter()
	}
	return c
}

// edit does what a button of the form says, which changes only the form: a verb and the
// name of a part.
func (form *flagForm) edit(verb, target string) {
	i, j := partOf(target)
	condition := i >= 0 && i < len(form.Conditions) && strings.HasPrefix(target, "c")
	switch verb {
	case "add-condition":
		form.Conditions = append(form.Conditions, conditionForm{Raw: newPart, Share: "0"})
	case "add-person", "add-group", "add-cohort", "add-flag":
		if condition {
			form.Conditions[i].Filters = append(form.Conditions[i].Filters, newFilter(strings.TrimPrefix(verb, "add-")))
		}
	case "copy":
		if condition {
			c := form.Conditions[i]
			c.Filters = slices.Clone(c.Filters)
			form.Conditions = slices.Insert(form.Conditions, i+1, c)
		}
	case "up", "down":
		other := i - 1
		if verb == "down" {
			other = i + 1
		}
		if condition && other >= 0 && other < len(form.Conditions) {
			form.Conditions[i], form.Conditions[other] = form.Conditions[other], form.Conditions[i]
		}
	case "remove":
		switch {
		case condition && j >= 0 && j < len(form.Conditions[i].Filters):
			form.Conditions[i].Filters = slices.Delete(form.Conditions[i].Filters, j, j+1)
		case condition && j < 0:
			form.Conditions = slices.Delete(form.Conditions, i, i+1)
		case strings.HasPrefix(target, "v") && i >= 0 && i < len(form.Variants):
			form.Variants = slices.Delete(form.Variants, i, i+1)
		}
	case "add-variant":
		form.addVariant()
	case "even":
		form.evenShares()
	case "to-json":
		if form.check(); len(form.Errors) == 0 {
			form.JSON, form.AsJSON = pretty(must(json.Marshal(form.filters()))), true
		}
	case "to-form":
		if _, err := readJSON(form.JSON, notFilters); err != nil {
			form.fail("json", "%v", err)
			return
		}
		form.AsJSON = true
		f := form.filters()
		form.AsJSON = false
		form.setFilters(&f)
	}
}

// partOf reads the name of a part, such as c0, c0.f1 or v2. What is missing is −1.
func partOf(name string) (i, j int) {
	first, second, _ := strings.Cut(name, ".")
	index := func(s string) int {
		if len(s) < 2 {
			return -1
		}
		n, err := strconv.Atoi(s[1:])
		if err != nil {
			return -1
		}
		return n
	}
	return index(first), index(second)
}

// addVariant adds a variant with a share that makes 100. The first one comes with
// another, since one alone is none.
func (form *flagForm) addVariant() {
	if len(form.Variants) == 0 {
		form.Variants = []variantForm{
			{Raw: newPart, Key: "control", Share: "50", Payload: ""}, {Raw: newPart, Key: "test", Share: "50", Payload: form.Payload},
		}
		return
	}
	left := 100.0
	for _, v := range form.Variants {
		n, _ := strconv.ParseFloat(v.Share, 64) // what is not a number has no share
		left -= n
	}
	form.Variants = append(form.Variants, variantForm{Raw: newPart, Share: exact(max(left, 0))})
}

// evenShares gives all variants the same share, in hundredths of a percent; the first ones
// get what is left.
func (form *flagForm) evenShares() {
	n := len(form.Variants)
	if n == 0 {
		return
	}
	each, rest := 10_000/n, 10_000%n
	for i := range form.Variants {
		share := each
		if i < rest {
			share++
		}
		form.Variants[i].Share = exact(float64(share) / 100)
	}
}
