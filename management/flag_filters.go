package management

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/internal/normal"
)

// A shownFilters is filters as clients and the activity log see them (management.md
// §13.5): as they were sent, if that is known.
type shownFilters struct {
	sent    json.RawMessage
	filters flags.Filters
	opaque  bool // the payloads are not the ones that were sent
}

// shown returns how filters of the flag are shown: its own, or what of them may be
// seen.
func (f *FeatureFlag) shown(filters flags.Filters) shownFilters {
	return shownFilters{f.Sent, filters, f.EncryptedPayloads || !reflect.DeepEqual(filters.Payloads, f.Filters.Payloads)}
}

// JSON implements field.Model.
func (s shownFilters) JSON() json.RawMessage {
	if s.sent != nil {
		if shown := judge.Show(s.sent, &s.filters, s.opaque); shown != nil {
			return shown
		}
	}
	return normal.Filters(&s.filters)
}

// Same implements field.Comparable: a text that says the same in another way is no
// change.
func (s shownFilters) Same(other any) bool {
	o := other.(shownFilters)
	return normal.SameFilters(&s.filters, &o.filters) && (bytes.Equal(s.sent, o.sent) || sameJSON(s.JSON(), o.JSON()))
}

// settle takes over filters that were judged, and the text in which a client has sent
// them, nil for the normal form. Payloads of the text that are to be encrypted are
// left out.
func (f *FeatureFlag) settle(filters flags.Filters, sent json.RawMessage) {
	f.Filters, f.Sent = filters, nil
	if sent != nil {
		f.Sent = judge.Show(sent, &flags.Filters{
			Groups: filters.Groups, Multivariate: filters.Multivariate, AggregationGroupTypeIndex: filters.AggregationGroupTypeIndex, Payloads: hidden(filters.Payloads),
		}, f.EncryptedPayloads)
	}
}

// hidden returns payloads without what they are.
func hidden(payloads map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(payloads))
	for key := range payloads {
		out[key] = json.RawMessage(redaction)
	}
	return out
}

// withCohortNames returns filters as they are shown: with the name of each cohort that
// they refer to (management.md §13.4). A cohort that does not exist has none.
func withCohortNames(f flags.Filters, names map[int64]string) flags.Filters {
	for range f.CohortIDs() {
		f = f.Clone()
		break
	}
	for _, filter := range f.All() {
		if id, ok := filter.CohortID(); ok {
			filter.CohortName = names[id]
		}
	}
	return f
}

// setEnrollment marks the flag for enrolment in an early access feature, or takes the
// mark back (management.md §13.9).
func (f *FeatureFlag) setEnrollment(on bool) {
	f.Filters = withEnrollment(f.Filters, on)
	if f.Sent != nil {
		f.Sent = judge.WithEnrollment(f.Sent, on)
	}
}

// withEnrollment returns filters with the mark for enrolment in an early access
// feature, or without it.
func withEnrollment(f flags.Filters, on bool) flags.Filters {
	f.FeatureEnrollment = nil
	if on {
		f.FeatureEnrollment = new(true)
	}
	return f
}
