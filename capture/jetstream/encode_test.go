package jetstream_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
)

func TestEncode(t *testing.T) {
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	at := time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)
	for _, tt := range []struct {
		name string
		e    capture.Event
		want string // what releases have written must stay readable
	}{
		{
			"usual",
			capture.Event{Project: 7, UUID: id, Name: "paid", DistinctID: "u-1", Time: at, Received: at.Add(1500 * time.Millisecond), Properties: json.RawMessage(`{"a":1}`)},
			"010001890a5dac96774bbcceb302099a80570e80c99a9a83b2b006c08db7010470616964" + "03752d31" + "7b2261223a317d",
		},
		{
			"negative numbers, no person",
			capture.Event{Project: -1, UUID: id, Name: "ß", DistinctID: " ", Time: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), Received: time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC), Properties: json.RawMessage(`{}`), NoPerson: true},
			"",
		},
		{"no properties", capture.Event{Name: "e", Time: time.Time{}, Received: time.Time{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := jetstream.AppendEvent([]byte("before"), &tt.e)[len("before"):]
			if got := hex.EncodeToString(b); tt.want != "" && got != tt.want {
				t.Errorf("encoded as\n%s, want\n%s", got, tt.want)
			}
			got, err := jetstream.DecodeEvent(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.e, got); diff != "" {
				t.Errorf("decoded (-want +got)\n%s", diff)
			}
			if got.Time.Location() != time.UTC || got.Received.Location() != time.UTC {
				t.Errorf("times are in %v and %v, want UTC", got.Time.Location(), got.Received.Location())
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	e := event("p", 1)
	whole := string(jetstream.AppendEvent(nil, &e))
	change := func(f func(*capture.Event)) string {
		e := event("p", 1)
		f(&e)
		return string(jetstream.AppendEvent(nil, &e))
	}
	for _, tt := range []struct{ name, message, want string }{
		{"nothing", "", "empty"},
		{"a newer version", "\x02" + whole[1:], "version 2, want 1"},
		{"an unknown bit", whole[:1] + "\x02" + whole[2:], "bits 0x2"},
		{"a part of the UUID", whole[:9], "cut off"},
		{"only the UUID", whole[:18], "cut off"},
		{"half the name", whole[:strings.Index(whole, "tick")+2], "cut off"},
		{"half the properties", whole[:len(whole)-1], "not a JSON object"},
		{"a long number", whole[:18] + "\x8e\x00" + whole[19:], "too large"},
		{"no name", change(func(e *capture.Event) { e.Name = "" }), "no name"},
		{"a name that is not UTF-8", change(func(e *capture.Event) { e.Name = "\xff" }), "UTF-8"},
		{"a distinct ID that is not UTF-8", change(func(e *capture.Event) { e.DistinctID = "\xff" }), "UTF-8"},
		{"an array", change(func(e *capture.Event) { e.Properties = json.RawMessage(`[]`) }), "not a JSON object"},
		{"a late year", change(func(e *capture.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), "year 9999"},
		{"an early year", change(func(e *capture.Event) { e.Received = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) }), "year 0"},
	} {
		if _, err := jetstream.DecodeEvent([]byte(tt.message)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// FuzzDecode: what is accepted is an event that stores take, and encodes to what
// decodes to it.
func FuzzDecode(f *testing.F) {
	for n := range 3 {
		e := event("person", n)
		e.NoPerson = n == 1
		f.Add(jetstream.AppendEvent(nil, &e))
	}
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := jetstream.DecodeEvent(b)
		if err != nil {
			return
		}
		if e.Name == "" || !utf8.ValidString(e.Name) || !utf8.ValidString(e.DistinctID) || e.Properties != nil && !json.Valid(e.Properties) {
			t.Errorf("event %+v", e)
		}
		again, err := jetstream.DecodeEvent(jetstream.AppendEvent(nil, &e))
		if diff := cmp.Diff(e, again); err != nil || diff != "" {
			t.Errorf("decoded again: %v (-first +second)\n%s", err, diff)
		}
	})
}

// FuzzEncode: any event that capture makes comes back as it was.
func FuzzEncode(f *testing.F) {
	f.Add(int64(1), []byte("0123456789abcdef"), "paid", "u", int64(0), int64(1), "v", false)
	f.Add(int64(-1<<63), []byte{}, "é", "\u2028", int64(-62167219200000000), int64(253402300799999999), `"\`, true)
	f.Fuzz(func(t *testing.T, project int64, id []byte, name, distinctID string, at, received int64, value string, noPerson bool) {
		e := capture.Event{Project: project, Name: strings.ToValidUTF8("e"+name, ""), DistinctID: strings.ToValidUTF8(distinctID, ""), NoPerson: noPerson}
		copy(e.UUID[:], id)
		const first, last = -62167219200000000, 253402300799999999 // years 0 to 9999
		e.Time = time.UnixMicro(max(first, min(at, last))).UTC()
		e.Received = time.UnixMicro(max(first, min(received, last))).UTC()
		properties, err := json.Marshal(map[string]string{"v": value})
		if err != nil {
			t.Fatal(err)
		}
		e.Properties = properties
		got, err := jetstream.DecodeEvent(jetstream.AppendEvent(nil, &e))
		if diff := cmp.Diff(e, got); err != nil || diff != "" {
			t.Errorf("decoded: %v (-want +got)\n%s", err, diff)
		}
	})
}

// TestMessageID: events are the same if stores say so (wire.md §2.7, §9 T12 and
// T13).
func TestMessageID(t *testing.T) {
	id := func(change func(*capture.Event)) string {
		e := event("p", 1)
		change(&e)
		return string(jetstream.AppendMessageID(nil, &e))
	}
	same := id(func(*capture.Event) {})
	if len(same) != 22 {
		t.Errorf("ID %q has %d characters, want 22", same, len(same))
	}
	for name, tt := range map[string]struct {
		same   bool
		change func(*capture.Event)
	}{
		"properties":  {true, func(e *capture.Event) { e.Properties = nil }},
		"received":    {true, func(e *capture.Event) { e.Received = time.Time{} }},
		"time of day": {true, func(e *capture.Event) { e.Time = e.Time.Add(11 * time.Hour) }},
		"zone":        {true, func(e *capture.Event) { e.Time = e.Time.In(time.FixedZone("", 14*60*60)) }},
		"date":        {false, func(e *capture.Event) { e.Time = e.Time.Add(12 * time.Hour) }},
		"distinct ID": {false, func(e *capture.Event) { e.DistinctID = "q" }},
		"name":        {false, func(e *capture.Event) { e.Name = "tock" }},
		"UUID":        {false, func(e *capture.Event) { e.UUID[15]++ }},
		"project":     {false, func(e *capture.Event) { e.Project++ }},
		"border":      {false, func(e *capture.Event) { e.Name, e.DistinctID = e.Name+"p", "" }},
	} {
		if got := id(tt.change) == same; got != tt.same {
			t.Errorf("another %s: same is %v, want %v", name, got, tt.same)
		}
	}
}

// TestPartition: processes of all releases agree on it.
func TestPartition(t *testing.T) {
	of := func(project int64, id string, n int) int {
		return jetstream.Partition(&capture.Event{Project: project, DistinctID: id}, n)
	}
	for _, tt := range []struct {
		project  int64
		id       string
		n, wants int
	}{
		{1, "user-1", 1, 0}, {1, "user-1", 8, 3}, {1, "user-2", 8, 6}, {2, "user-1", 8, 6}, {1, "", 256, 18},
	} {
		if got := of(tt.project, tt.id, tt.n); got != tt.wants {
			t.Errorf("partition of %d %q = %d of %d, want %d", tt.project, tt.id, got, tt.n, tt.wants)
		}
	}
	counts := make([]int, 8)
	for _, e := range events("p", 0, 8000) {
		counts[of(e.Project, e.UUID.String(), 8)]++
	}
	for p, n := range counts {
		if n < 800 || n > 1200 {
			t.Errorf("partition %d has %d of 8000 distinct IDs, want about 1000", p, n)
		}
	}
}
