package flipt_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// A server evaluates features step by step as the server of Flipt does. It is written from what
// that server is known to do, since the server is not a library: nothing of it is shared with what
// converts flags.
type server struct {
	version  string // whose way of drawing it has
	flags    map[string]*feature
	segments map[string]*segment
}

// The ways of drawing: of servers before 2.9, of those since then, and of libraries that evaluate
// on the client's side.
const before29, since29, client = "1.58", "2.11", "client"

type (
	feature struct {
		Key      string
		Type     string
		Enabled  bool
		Variants []struct {
			Key        string
			Attachment any
			Default    bool
		}
		Rules []struct {
			Segment       segmentKeys
			Distributions []struct {
				Variant string
				Rollout float32
			}
		}
		Rollouts []struct {
			Threshold *struct {
				Percentage float32
				Value      bool
			}
			Segment *struct {
				Key      string
				Keys     []string
				Operator string
				Value    bool
			}
		}
	}
	segment struct {
		Key         string
		MatchType   string `json:"match_type"`
		Constraints []constraint
	}
	constraint struct {
		Type, Property, Operator string
		Value                    json.RawMessage
	}
	segmentKeys struct {
		Keys     []string
		Operator string
	}
)

// UnmarshalJSON reads the key of a segment, or several keys.
func (s *segmentKeys) UnmarshalJSON(b []byte) error {
	var key string
	if json.Unmarshal(b, &key) == nil {
		s.Keys = []string{key}
		return nil
	}
	type plain segmentKeys
	return json.Unmarshal(b, (*plain)(s))
}

func newServer(tb testing.TB, document []byte, version string) *server {
	var d struct {
		Flags    []*feature
		Segments []*segment
	}
	if err := json.Unmarshal(document, &d); err != nil {
		tb.Fatal(err)
	}
	s := &server{version, make(map[string]*feature), make(map[string]*segment)}
	for _, f := range d.Flags {
		s.flags[f.Key] = f
	}
	for _, seg := range d.Segments {
		s.segments[seg.Key] = seg
	}
	return s
}

// evaluate returns what a caller of the server has of a flag.
func (s *server) evaluate(flag string, subject *oracle.Subject) (json.RawMessage, error) {
	f := s.flags[flag]
	if f == nil {
		return nil, fmt.Errorf("there is no flag %s", flag)
	}
	r := request{subject.ID, contextOf(subject)}
	if f.Type == "BOOLEAN_FLAG_TYPE" {
		return json.Marshal(s.boolean(f, r))
	}
	variant := s.variant(f, r)
	if variant == "" {
		return json.RawMessage("null"), nil
	}
	objects := false
	for _, v := range f.Variants {
		objects = objects || v.Attachment != nil
	}
	if !objects {
		return json.Marshal(variant)
	}
	value := map[string]any{"key": variant}
	for _, v := range f.Variants {
		if v.Key == variant && v.Attachment != nil {
			value["attachment"] = v.Attachment
		}
	}
	return json.Marshal(value)
}

// contextOf returns properties as the texts of a context.
func contextOf(s *oracle.Subject) map[string]string {
	context := make(map[string]string)
	for name, value := range s.Properties {
		switch v := value.(type) {
		case string:
			context[name] = v
		case bool:
			context[name] = strconv.FormatBool(v)
		case float64:
			context[name] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return context
}

// A request is for whom a flag is evaluated.
type request struct {
	entity  string
	context map[string]string
}

// variant returns the key of the variant of an answer, or "".
func (s *server) variant(f *feature, r request) string {
	answer := ""
	for _, v := range f.Variants {
		if v.Default {
			answer = v.Key
		}
	}
	if !f.Enabled {
		return answer
	}
	for _, rule := range f.Rules {
		if !s.inSegments(rule.Segment.Keys, rule.Segment.Operator, r) {
			continue
		}
		var keys []string
		var shares []float32
		for _, d := range rule.Distributions {
			if d.Rollout > 0 {
				keys, shares = append(keys, d.Variant), append(shares, d.Rollout)
			}
		}
		if len(keys) == 0 {
			return answer
		}
		bucket := int(crc32.ChecksumIEEE([]byte(f.Key+r.entity)) % 1000)
		i := sort.SearchInts(s.buckets(shares), bucket+1)
		if i == len(keys) {
			return answer
		}
		return keys[i]
	}
	return answer
}

func (s *server) buckets(shares []float32) (ends []int) {
	if s.version == before29 {
		last := 0
		for _, share := range shares {
			last += int(share * 10)
			ends = append(ends, last)
		}
		return ends
	}
	total := float32(0)
	for _, share := range shares {
		total += share
	}
	sum := float32(0)
	for i, share := range shares {
		part := (share / total) * 100
		sum += part
		end := int(sum * 10)
		if s.version == client {
			end = int(math.Round(float64(sum * 10)))
		}
		if i == len(shares)-1 {
			end = 1000
		}
		ends = append(ends, end)
	}
	return ends
}

func (s *server) boolean(f *feature, r request) bool {
	for _, rollout := range f.Rollouts {
		switch {
		case rollout.Threshold != nil:
			hash := crc32.ChecksumIEEE([]byte(r.entity + f.Key))
			if float32(int(hash)%100) < rollout.Threshold.Percentage {
				return rollout.Threshold.Value
			}
		case rollout.Segment != nil:
			keys := rollout.Segment.Keys
			if rollout.Segment.Key != "" {
				keys = []string{rollout.Segment.Key}
			}
			if s.inSegments(keys, rollout.Segment.Operator, r) {
				return rollout.Segment.Value
			}
		}
	}
	return f.Enabled
}

func (s *server) inSegments(keys []string, operator string, r request) bool {
	different, matches := make(map[string]bool), 0
	for _, key := range keys {
		if !different[key] && s.segments[key].matches(r) {
			matches++
		}
		different[key] = true
	}
	if operator == "AND_SEGMENT_OPERATOR" {
		return matches == len(different)
	}
	return matches > 0
}

func (s *segment) matches(r request) bool {
	n := 0
	for _, c := range s.Constraints {
		if c.matches(r) {
			n++
		}
	}
	if s.MatchType == "ANY_MATCH_TYPE" {
		return n > 0 || len(s.Constraints) == 0
	}
	return n == len(s.Constraints)
}

func (c *constraint) matches(r request) bool {
	v := r.context[c.Property]
	if c.Type == "ENTITY_ID_COMPARISON_TYPE" {
		v = r.entity
	}
	switch blank := strings.TrimSpace(v) == ""; c.Operator {
	case "empty", "notpresent":
		return blank
	case "notempty", "present":
		return !blank
	}
	if v == "" {
		return false
	}
	var value string
	list := []byte(c.Value)
	if json.Unmarshal(c.Value, &value) == nil {
		list = []byte(value)
	}
	switch c.Type {
	case "STRING_COMPARISON_TYPE", "ENTITY_ID_COMPARISON_TYPE":
		return matchesText(c.Operator, v, value, list)
	case "NUMBER_COMPARISON_TYPE":
		return matchesNumber(c.Operator, v, value, list)
	case "BOOLEAN_COMPARISON_TYPE":
		b, err := strconv.ParseBool(v)
		return err == nil && b == (c.Operator == "true")
	case "DATETIME_COMPARISON_TYPE":
		a, err := parseTime(v)
		if err != nil {
			return false
		}
		b, err := parseTime(value)
		return err == nil && ordered(c.Operator, a.Compare(b))
	}
	return false
}

func matchesText(operator, v, value string, list []byte) bool {
	switch operator {
	case "eq":
		return v == value
	case "neq":
		return v != value
	case "prefix":
		return strings.HasPrefix(strings.TrimSpace(v), value)
	case "suffix":
		return strings.HasSuffix(strings.TrimSpace(v), value)
	case "contains":
		return strings.Contains(v, value)
	case "notcontains":
		return !strings.Contains(v, value)
	}
	var texts []string
	if json.Unmarshal(list, &texts) != nil {
		return false
	}
	return slices.Contains(texts, v) == (operator == "isoneof")
}

func matchesNumber(operator, v, value string, list []byte) bool {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return false
	}
	if operator == "isoneof" || operator == "isnotoneof" {
		var numbers []float64
		if json.Unmarshal(list, &numbers) != nil {
			return false
		}
		return slices.Contains(numbers, n) == (operator == "isoneof")
	}
	w, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return false
	}
	switch operator {
	case "eq":
		return n == w
	case "neq":
		return n != w
	case "lt":
		return n < w
	case "lte":
		return n <= w
	case "gt":
		return n > w
	case "gte":
		return n >= w
	}
	return false
}

func ordered(operator string, order int) bool {
	switch operator {
	case "eq":
		return order == 0
	case "neq":
		return order != 0
	case "lt":
		return order < 0
	case "lte":
		return order <= 0
	case "gt":
		return order > 0
	case "gte":
		return order >= 0
	}
	return false
}

func parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Parse(time.DateOnly, s)
}
