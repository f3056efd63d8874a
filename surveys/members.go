package surveys

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
)

// shape has the members of a survey: those that a client can write, and those that it
// only reads.
var shape = members.New("a survey", namesOf(Patch{}), namesOf(View{})+" _create_in_folder")

// namesOf returns the names of the members of a struct as JSON.
func namesOf(v any) string {
	var names []string
	for f := range reflect.TypeOf(v).Fields() {
		if name := f.Tag.Get("json"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// CheckBody refuses members that nothing knows of the JSON object that a patch was decoded
// from (evaluation.md §1.8), and values of computed members that have the wrong type
// (management.md §9.1). With lenient it refuses only those members that stand for another
// one, in targeting_flag_filters as well. Errors are of type *[management.Error].
func (patch *Patch) CheckBody(raw []byte, lenient bool) error {
	mode := judge.Mode(lenient)
	if err := mode.CheckMembers(shape, raw); err != nil {
		return refusal(err)
	}
	if err := checkComputed(raw); err != nil {
		return err
	}
	err := mode.CheckFilters(&patch.TargetingFlagFilters.Value)
	if e, ok := errors.AsType[*judge.Error](err); ok {
		e.Attr = "targeting_flag_filters"
	}
	return refusal(err)
}

// checkComputed checks the types of the members that follow from others. Their values are
// ignored.
func checkComputed(raw []byte) error {
	sent, _ := rawjson.Object(raw)
	for _, m := range []struct {
		name string
		into any
		want string
	}{
		{"iteration_start_dates", new([]*time.Time), "a list of times such as \"2026-01-31T12:00:00Z\", or null"},
		{"current_iteration", new(int), "an integer or null"},
		{"current_iteration_start_date", new(*time.Time), "a time such as \"2026-01-31T12:00:00Z\", or null"},
		{"response_sampling_daily_limits", new(*samplingLimits), "the text of JSON, a list, or null"},
	} {
		if v := sent[m.name]; v != nil && json.Unmarshal(v, m.into) != nil {
			return invalid(m.name, "Must be %s; it is computed, so that the value is ignored.", m.want)
		}
	}
	return nil
}

// samplingLimits are limits by day: the text of a list, as they are shown, or the list.
type samplingLimits struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (*samplingLimits) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		b = []byte(text)
	}
	var list []json.RawMessage
	return json.Unmarshal(b, &list)
}
