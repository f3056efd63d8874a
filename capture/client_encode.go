package capture

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	plaintext "github.com/flagstaff-go/flagstaff/internal/text"
)

// An encoder turns items into events. The properties of all events of a batch are
// in one buffer, which is reused for the next batch.
type encoder struct {
	project int64

	// added are members that say where events come from, as `"name":value`. The
	// library comes first; analytics leaves it out, because a header has it then.
	added     []Property
	analytics bool

	text []byte
	ends []int // of the properties of each event in text
	keys []string
	ids  uuids
}

func newEncoder(c *ClientConfig) encoder {
	e := encoder{project: c.Project, added: []Property{
		{"$lib", quote(clientLibrary)},
		{"$lib_version", quote(clientVersion())},
		{"$is_server", "true"},
	}}
	if !c.GeoIP {
		e.added = append(e.added, Property{"$geoip_disable", "true"})
	}
	return e
}

// members returns what is added to the events of the batch.
func (e *encoder) members() []Property {
	if e.analytics {
		return e.added[2:]
	}
	return e.added
}

func (e *encoder) size() int { return len(e.text) }

// reset begins a new batch.
func (e *encoder) reset() {
	if cap(e.text) > 2*maxRequestBytes {
		e.text = nil // of a huge event
	}
	e.text, e.ends = e.text[:0], e.ends[:0]
}

// event makes an event of an item. Its properties stay in the buffer until place
// sets them.
func (e *encoder) event(i *clientItem, now time.Time) (Event, error) {
	event := Event{
		Project:    e.project,
		UUID:       i.uuid,
		Name:       clientText(i.name, MaxName),
		DistinctID: clientText(i.distinctID, MaxID),
		Time:       inRange(time.UnixMicro(i.micros)),
		Received:   now.UTC().Truncate(time.Microsecond),
	}
	start := len(e.text)
	var err error
	if i.exposure {
		event.Name = "$feature_flag_called"
		if i.experiment {
			event.Name = "$experiment_exposure"
		}
		err = e.exposure(i)
	} else {
		err = e.properties(i.properties)
	}
	if err != nil {
		e.text = e.text[:start]
		return Event{}, err
	}
	e.ends = append(e.ends, len(e.text))
	if event.UUID == (uuid.UUID{}) {
		event.UUID = e.ids.next(event.Time)
	}
	return event, nil
}

// place gives the events of a batch their properties. The buffer does not move any
// more.
func (e *encoder) place(batch []Event) {
	start := 0
	for i := range batch {
		end := e.ends[i]
		batch[i].Properties = e.text[start:end:end]
		start = end
	}
}

// properties appends a copy of an object with the added members that it lacks.
func (e *encoder) properties(object []byte) error {
	added := e.members()
	var has uint // by index in added
	empty := true
	if len(object) > 0 {
		o := jsonscan.Value(object).Object()
		for o.Next() {
			empty = false
			name := o.Name()
			if len(name) == 0 || name[0] != '$' {
				continue
			}
			for i := range added {
				if string(name) == added[i].Name {
					has |= 1 << i
				}
			}
		}
		if err := o.Err(); err != nil {
			return &FieldError{Field: "Properties", Allowed: "a JSON object", Err: err}
		}
	}
	e.text = append(e.text, '{')
	if !empty {
		e.text = append(e.text, object[1:len(object)-1]...)
	}
	for i, p := range added {
		if has&(1<<i) == 0 {
			e.text = appendMember(e.text, p.Name, p.Value)
		}
	}
	e.text = append(e.text, '}')
	return nil
}

// exposure appends the properties of $feature_flag_called (wire.md §2.8), or of
// $experiment_exposure (rules.md §6).
func (e *encoder) exposure(i *clientItem) error {
	switch {
	case i.name == "":
		return errClientFlag
	case blank(i.distinctID):
		return errClientID
	}
	e.text = append(e.text, `{"$feature_flag":`...)
	e.text = appendJSON(e.text, i.name)
	e.text = append(e.text, `,"$feature_flag_response":`...)
	start := len(e.text)
	switch {
	case i.experiment && i.ruleSet.Value.Type == "number":
		e.text = appendJSON(e.text, i.ruleSet.Value.JSON)
	case i.ruleSet != nil:
		e.text = append(e.text, i.ruleSet.Value.Report()...)
	case i.variant != "":
		e.text = appendJSON(e.text, i.variant)
	default:
		e.text = strconv.AppendBool(e.text, i.enabled)
	}
	value := e.text[start:len(e.text)]
	switch {
	case i.experiment:
		e.text = append(e.text, `,"$experiment_exposure_source":"sdk"`...)
		e.rule(i.ruleSet)
		e.text = strconv.AppendBool(append(e.text, `,"locally_evaluated":`...), !i.answered)
		return e.end(i)
	case !i.minimal:
		e.text = append(e.text, `,"$feature/`...)
		quoted := len(e.text)
		e.text = appendJSON(e.text, i.name)
		e.text = append(e.text[:quoted], e.text[quoted+1:]...) // its opening quote
		e.text = append(append(e.text, ':'), value...)
	}
	e.text = strconv.AppendBool(append(e.text, `,"$feature_flag_has_experiment":`...), !i.noExperiment)
	e.text = strconv.AppendBool(append(e.text, `,"locally_evaluated":`...), !i.answered)
	if i.id != 0 {
		e.text = strconv.AppendInt(append(e.text, `,"$feature_flag_id":`...), i.id, 10)
	}
	if i.version != 0 {
		e.text = strconv.AppendInt(append(e.text, `,"$feature_flag_version":`...), int64(i.version), 10)
	}
	if i.reason != "" {
		e.text = appendJSON(append(e.text, `,"$feature_flag_reason":`...), i.reason)
	}
	if i.ruleSet != nil && !i.minimal {
		e.rule(i.ruleSet)
	}
	return e.end(i)
}

// rule appends what an exposure says of a rule set.
func (e *encoder) rule(r *RuleExposure) {
	e.text = appendJSON(append(e.text, `,"$feature_flag_config_version":2,"$feature_flag_reason_code":`...), r.Code)
	rule := r.Rule
	if rule == nil {
		return
	}
	e.text = appendJSON(append(e.text, `,"$feature_flag_rule_id":`...), rule.ID)
	e.text = appendJSON(append(e.text, `,"$feature_flag_rule_type":`...), rule.Type)
	if rule.VariantKey != "" {
		e.text = appendJSON(append(e.text, `,"$feature_flag_variant":`...), rule.VariantKey)
	}
	if rule.ExperimentID != nil {
		e.text = strconv.AppendInt(append(e.text, `,"$feature_flag_experiment_id":`...), *rule.ExperimentID, 10)
	}
	if rule.HoldoutID != nil {
		e.text = strconv.AppendInt(append(e.text, `,"$feature_flag_holdout_id":`...), *rule.HoldoutID, 10)
	}
}

// end appends what all exposures have at their end.
func (e *encoder) end(i *clientItem) error {
	if len(i.groups) > 0 {
		e.groups(i.groups)
	}
	for _, p := range e.members() {
		e.text = appendMember(e.text, p.Name, p.Value)
	}
	e.text = append(e.text, '}')
	return nil
}

func (e *encoder) groups(groups map[string]string) {
	e.keys = e.keys[:0]
	for k := range groups {
		e.keys = append(e.keys, k)
	}
	slices.Sort(e.keys)
	e.text = append(e.text, `,"$groups":{`...)
	for n, k := range e.keys {
		if n > 0 {
			e.text = append(e.text, ',')
		}
		e.text = append(appendJSON(e.text, k), ':')
		e.text = appendJSON(e.text, groups[k])
	}
	e.text = append(e.text, '}')
	clear(e.keys)
}

// appendJSON appends s as a JSON string.
func appendJSON(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(dst, quote(s)...)
		}
	}
	dst = append(append(dst, '"'), s...)
	return append(dst, '"')
}

// clientText makes text fit for an event: valid UTF-8, and then as text.Identifier
// returns it.
func clientText(s string, limit int) string {
	return plaintext.Identifier(strings.ToValidUTF8(s, "\uFFFD"), limit)
}

// uuids makes random UUIDs with as few system calls as possible.
type uuids struct {
	random [1024]byte
	fresh  int // how many bytes at the end of random are unused
}

// next returns what NewUUID does.
func (u *uuids) next(t time.Time) (id uuid.UUID) {
	if u.fresh < len(id) {
		rand.Read(u.random[:]) // never fails
		u.fresh = len(u.random)
	}
	copy(id[:], u.random[len(u.random)-u.fresh:])
	u.fresh -= len(id)
	ms := max(t.UnixMilli(), 0)
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0F | 0x70
	id[8] = id[8]&0x3F | 0x80
	return id
}
