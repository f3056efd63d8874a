package names_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/management/internal/names"
)

// TestRuling101Names has what people call persons by, and what searches find of it.
func TestRuling101Names(t *testing.T) {
	for _, tt := range []struct{ properties, shown, index string }{
		{`{}`, "", ""},
		{`{"plan":"pro","email":""}`, "", ""},
		{`{"email":7,"name":null,"username":["ada"]}`, "", ""},
		{`{"name":"Ada Lovelace","email":"Ada@Example.com"}`, "Ada@Example.com", "\nada@example.com\nada lovelace\n"},
		{`{"Name":"Édith","name":"édith"}`, "édith", "\nédith\n"},
		{`{"UserName":"a\u0000b\nc"}`, "a\x00b\nc", "\na b c\n"},
		{`{"email":"old@example.com","email":"new@example.com"}`, "new@example.com", "\nnew@example.com\n"},
		{`{"email":"old@example.com","email":7}`, "", ""},
		{"not JSON", "", ""},
	} {
		raw := json.RawMessage(tt.properties)
		shown := ""
		if list := names.Of(raw); len(list) > 0 {
			shown = list[0]
		}
		if index := names.Index(raw); shown != tt.shown || index != tt.index {
			t.Errorf("%s: shown as %q, index %q; want %q, %q", tt.properties, shown, index, tt.shown, tt.index)
		}
	}
	long := names.Index(json.RawMessage(`{"email":"` + strings.Repeat("é", 600) + `","name":"Ada"}`))
	if len(long) > 1000 || !utf8.ValidString(long) || !strings.HasPrefix(long, "\nééé") {
		t.Errorf("a long name: %d bytes, %.20q", len(long), long)
	}
}

// FuzzNames checks that what is in the names of a person is found by its parts.
func FuzzNames(f *testing.F) {
	f.Add("Ada Lovelace", 0, 3)
	f.Add("İstanbul\n\x00\xff", 1, 4)
	f.Fuzz(func(t *testing.T, name string, from, to int) {
		raw, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		index := names.Index(raw)
		if strings.ContainsRune(index, 0) || !utf8.ValidString(index) || len(index) > 1000 {
			t.Fatalf("%q: index %q", name, index)
		}
		if name == "" || len(index) > 900 {
			return
		}
		name = names.Of(raw)[0] // what is not UTF-8 is not in JSON either
		if !strings.Contains(index, names.Whole(name)) {
			t.Fatalf("%q is not found in %q", name, index)
		}
		runes := []rune(name)
		if from >= 0 && from <= to && to <= len(runes) && !strings.Contains(index, names.Part(string(runes[from:to]))) {
			t.Fatalf("%q is not found in %q", string(runes[from:to]), index)
		}
	})
}
