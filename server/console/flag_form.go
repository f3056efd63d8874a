package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
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

	Key, Name      string
	Active         bool // of a new flag
	Tags, Contexts string
	ContextMatch   string
	Runtime        string
	Bucketing      string
	Hash           string
	Continuity     bool
	Remote         bool
	Encrypted      bool
	EarlyExit      bool
	Aggregation    string // the index of a group type; "" for persons
	HoldoutID      string
	HoldoutShare   string
	Payload        string // of a flag without variants
	Base           string // the JSON of all filters
	Conditions     []conditionForm
	Variants       []variantForm

	AsJSON bool   // the filters are edited as JSON
	JSON   string // as typed

	checked
}

// A conditionForm is a condition set.
type conditionForm struct {
	Raw         string
	Description string
	Share       string
	Variant     string
	Aggregation string // "" as the flag, "persons", or the index of a group type
	Filters     []filterForm
}

// A variantForm is a variant with its payload.
type variantForm struct {
	Raw     string
	Key     string
	Label   string
	Share   string
	Payload string
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

// formOf returns the form of a flag.
func formOf(f *management.FlagView) *flagForm {
	form := &flagForm{
		Version: f.Version, Key: f.Key, Name: f.Name, Active: f.Active,
		Tags: strings.Join(f.Tags, ", "), Contexts: strings.Join(f.Contexts, ", "), ContextMatch: f.ContextMatch,
		Runtime: f.Runtime, Bucketing: f.Bucketing, Hash: f.BucketingHash, Continuity: f.Continuity, Remote: f.RemoteConfig, Encrypted: f.EncryptedPayloads,
	}
	form.setFilters(f.Filters)
	return form
}

// setFilters fills in the fields that stand for filters.
func (form *flagForm) setFilters(raw json.RawMessage) {
	form.Base = string(raw)
	base := readObject(form.Base)
	form.Aggregation = text(base["aggregation_group_type_index"])
	form.EarlyExit = string(base["early_exit"]) == "true"
	holdout := readObject(string(base["holdout"]))
	form.HoldoutID, form.HoldoutShare = text(holdout["id"]), text(holdout["exclusion_percentage"])
	payloads := readObject(string(base["payloads"]))
	form.Payload = payloadText(payloads["true"])
	form.Conditions, form.Variants = nil, nil
	for _, raw := range readList(base["groups"]) {
		form.Conditions = append(form.Conditions, conditionOf(raw))
	}
	for _, raw := range readList(readObject(string(base["multivariate"]))["variants"]) {
		v := readObject(string(raw))
		key := text(v["key"])
		form.Variants = append(form.Variants, variantForm{string(raw), key, text(v["name"]), text(v["rollout_percentage"]), payloadText(payloads[key])})
	}
}

// payloadText returns a payload as it is typed: the JSON that a string holds.
func payloadText(raw json.RawMessage) string { return text(raw) }

func conditionOf(raw json.RawMessage) conditionForm {
	o := readObject(string(raw))
	c := conditionForm{Raw: string(raw), Description: text(o["description"]), Share: text(o["rollout_percentage"]), Variant: text(o["variant"])}
	if c.Share == "" {
		c.Share = "100"
	}
	if a, set := o["aggregation_group_type_index"]; set {
		if c.Aggregation = text(a); c.Aggregation == "" {
			c.Aggregation = "persons"
		}
	}
	for _, raw := range readList(o["properties"]) {
		c.Filters = append(c.Filters, filterOf(raw))
	}
	return c
}

// readFlagForm reads what a browser has sent.
func readFlagForm(v url.Values) *flagForm {
	number := func(name string) int {
		n, _ := strconv.Atoi(v.Get(name)) // a form that is not ours
		return n
	}
	yes := func(name string) bool { return v.Get(name) != "" }
	form := &flagForm{
		Version: number("version"), Reviewed: number("reviewed"), Key: strings.TrimSpace(v.Get("key")), Name: lines(v.Get("name")), Active: yes("active"),
		Tags: v.Get("tags"), Contexts: v.Get("contexts"), ContextMatch: v.Get("context_match"), Runtime: v.Get("runtime"), Bucketing: v.Get("bucketing"),
		Hash: v.Get("hash"), Continuity: yes("continuity"), Remote: yes("remote"), Encrypted: yes("encrypted"), EarlyExit: yes("early_exit"),
		Aggregation: v.Get("aggregation"), HoldoutID: strings.TrimSpace(v.Get("holdout_id")), HoldoutShare: strings.TrimSpace(v.Get("holdout_share")),
		Payload: lines(v.Get("payload")), Base: v.Get("base"), AsJSON: yes("as_json"), JSON: lines(v.Get("json")),
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
		form.Variants = append(form.Variants, variantForm{v.Get(name + ".raw"), strings.TrimSpace(v.Get(name + ".key")), v.Get(name + ".label"), strings.TrimSpace(v.Get(name + ".share")), lines(v.Get(name + ".payload"))})
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
		detail = e.Detail
	}
	form.fail(field, "%s", detail)
}

// fieldOf returns the name of the field that an error is about, and the message without
// the place.
func fieldOf(e *management.Error, asJSON bool) (field, detail string) {
	fields := map[string]string{
		"key": "key", "name": "name", "tags": "tags", "evaluation_contexts": "contexts", "evaluation_contexts_match_mode": "context_match",
		"evaluation_runtime": "runtime", "bucketing_identifier": "bucketing", "bucketing_hash": "hash", "ensure_experience_continuity": "continuity",
		"is_remote_configuration": "remote", "has_encrypted_payloads": "encrypted", "active": "active",
	}
	if e.Attr != "filters" {
		return fields[e.Attr], e.Detail
	}
	if asJSON {
		return "json", e.Detail
	}
	place, rest, found := strings.Cut(e.Detail, ": ")
	if !found {
		return "", e.Detail
	}
	steps := strings.Split(strings.TrimPrefix(place, "filters/"), "/")
	at := func(i int) string {
		if i < len(steps) {
			return steps[i]
		}
		return ""
	}
	members := map[string]string{"rollout_percentage": "share", "aggregation_group_type_index": "aggregation", "group_type_index": "group", "name": "label"}
	member := func(i int) string {
		if m := at(i); m != "" {
			if named := members[m]; named != "" {
				return "." + named
			}
			return "." + m
		}
		return ""
	}
	switch {
	case at(0) == "groups" && at(2) == "properties" && at(3) != "":
		return "c" + at(1) + ".f" + at(3) + member(4), rest
	case at(0) == "groups" && at(1) != "":
		return "c" + at(1) + member(2), rest
	case at(0) == "multivariate" && at(2) != "":
		return "v" + at(2) + member(3), rest
	case at(0) == "payloads" && at(1) == "true":
		return "payload", rest
	case at(0) == "holdout":
		return "holdout_share", rest
	}
	return "", e.Detail
}

// names reads a list of names with commas.
func names(s string) []string {
	out := []string{}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// body returns the JSON of a change of a flag, or of a new one for nil, as the API takes
// it, from a form without errors.
func (form *flagForm) body(f *management.FlagView) []byte {
	filters := form.filters()
	if f != nil {
		filters = withoutMissing(readObject(string(f.Filters)), filters)
	}
	nullable := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	v := map[string]any{
		"key": form.Key, "name": form.Name, "filters": filters, "tags": names(form.Tags), "evaluation_contexts": names(form.Contexts),
		"evaluation_contexts_match_mode": nullable(form.ContextMatch), "evaluation_runtime": nullable(form.Runtime), "bucketing_identifier": nullable(form.Bucketing),
		"bucketing_hash": nullable(form.Hash), "ensure_experience_continuity": form.Continuity, "is_remote_configuration": form.Remote, "has_encrypted_payloads": form.Encrypted,
	}
	if f == nil {
		v["active"] = form.Active
	}
	return must(json.Marshal(v))
}

// withoutMissing makes null what a change takes away: members that are not sent stay.
func withoutMissing(before, after object) object {
	out := maps.Clone(after)
	for name := range before {
		if _, kept := after[name]; !kept {
			out[name] = json.RawMessage("null")
		}
	}
	return out
}

// patch returns the change of a flag that the form stands for, or a new flag for nil.
// Errors of the form are in Errors, and then ok is false.
func (form *flagForm) patch(f *management.FlagView) (p management.PreviewPatch, ok bool) {
	form.check()
	if len(form.Errors) > 0 {
		return p, false
	}
	raw := form.body(f)
	if err := json.Unmarshal(raw, &p); err != nil { // it was just made
		panic(err)
	}
	p.SetBody(raw, true)
	if f != nil {
		p.Version = optional.Of(form.Version)
	}
	return p, true
}

// check notes what is wrong with texts that have to be JSON or numbers.
func (form *flagForm) check() {
	if form.AsJSON {
		if err := checkObject(form.JSON); err != nil {
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
		form.fail("variants", "The shares of the variants have to be 100%% together, not %s.", percent(total))
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
		return fmt.Errorf("this is no JSON: it ends too early, in line %d", line)
	}
	column := 1 + utf8.RuneCountInString(s[strings.LastIndexByte(s[:e.Offset], '\n')+1:e.Offset])
	return fmt.Errorf("this is no JSON: line %d, character %d: %s", line, column, e.Msg)
}

func checkObject(s string) error {
	if err := checkJSON(s); err != nil {
		return err
	}
	var o object
	if json.Unmarshal([]byte(s), &o) != nil || o == nil {
		return errors.New(`filters are an object, such as {"groups": []}`)
	}
	return nil
}

// filters returns the filters that the form stands for.
func (form *flagForm) filters() object {
	if form.AsJSON {
		return readObject(form.JSON)
	}
	out := readObject(form.Base)
	groups := make([]object, len(form.Conditions))
	for i := range form.Conditions {
		groups[i] = form.Conditions[i].object()
	}
	out["groups"] = must(json.Marshal(groups))
	set := func(name string, raw json.RawMessage, there bool) {
		if there {
			out[name] = raw
		} else {
			delete(out, name)
		}
	}
	set("aggregation_group_type_index", json.RawMessage(form.Aggregation), isNumber(form.Aggregation))
	if form.EarlyExit || text(out["early_exit"]) != "" {
		set("early_exit", json.RawMessage(strconv.FormatBool(form.EarlyExit)), true)
	}
	if holdout := readObject(string(out["holdout"])); form.HoldoutID != "" {
		holdout["id"], holdout["exclusion_percentage"] = json.RawMessage(form.HoldoutID), json.RawMessage(form.HoldoutShare)
		set("holdout", must(json.Marshal(holdout)), true)
	} else {
		set("holdout", nil, false)
	}
	form.setVariants(out)
	return out
}

// setVariants replaces variants and payloads.
func (form *flagForm) setVariants(out object) {
	before := readObject(string(out["payloads"]))
	payloads := make(object)
	payload := func(key, typed string, raw json.RawMessage) {
		switch {
		case typed == "":
		case payloadText(raw) == typed:
			payloads[key] = raw
		default:
			payloads[key] = quoted(typed)
		}
	}
	variants := make([]object, len(form.Variants))
	for i, v := range form.Variants {
		o := readObject(v.Raw)
		was := text(o["key"])
		o["key"], o["rollout_percentage"] = quoted(v.Key), json.RawMessage(v.Share)
		if v.Label != "" || text(o["name"]) != "" {
			o["name"] = quoted(v.Label)
		}
		variants[i] = o
		payload(v.Key, v.Payload, before[was])
	}
	if len(form.Variants) == 0 {
		payload("true", form.Payload, before["true"])
		delete(out, "multivariate")
	} else {
		multivariate := readObject(string(out["multivariate"]))
		multivariate["variants"] = must(json.Marshal(variants))
		out["multivariate"] = must(json.Marshal(multivariate))
	}
	if len(payloads) > 0 || out["payloads"] != nil {
		out["payloads"] = must(json.Marshal(payloads))
	}
}

func (c *conditionForm) object() object {
	o := readObject(c.Raw)
	if text(o["rollout_percentage"]) != "" || c.Share != "100" { // null is 100 as well
		o["rollout_percentage"] = json.RawMessage(c.Share)
	}
	if c.Variant != "" {
		o["variant"] = quoted(c.Variant)
	} else {
		delete(o, "variant")
	}
	if c.Description != "" || text(o["description"]) != "" {
		o["description"] = quoted(c.Description)
	}
	switch {
	case c.Aggregation == "persons":
		o["aggregation_group_type_index"] = json.RawMessage("null")
	case isNumber(c.Aggregation):
		o["aggregation_group_type_index"] = json.RawMessage(c.Aggregation)
	default:
		delete(o, "aggregation_group_type_index")
	}
	properties := make([]object, len(c.Filters))
	for i := range c.Filters {
		properties[i] = c.Filters[i].object()
	}
	o["properties"] = must(json.Marshal(properties))
	return o
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
		if err := checkObject(form.JSON); err != nil {
			form.fail("json", "%v", err)
			return
		}
		form.AsJSON = false
		form.setFilters(json.RawMessage(form.JSON))
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
		form.Variants = []variantForm{{Raw: newPart, Key: "control", Share: "50", Payload: ""}, {Raw: newPart, Key: "test", Share: "50", Payload: form.Payload}}
		return
	}
	left := 100.0
	for _, v := range form.Variants {
		n, _ := strconv.ParseFloat(v.Share, 64) // what is no number has no share
		left -= n
	}
	form.Variants = append(form.Variants, variantForm{Raw: newPart, Share: strconv.FormatFloat(max(left, 0), 'f', -1, 64)})
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
		form.Variants[i].Share = strconv.FormatFloat(float64(share)/100, 'f', -1, 64)
	}
}
