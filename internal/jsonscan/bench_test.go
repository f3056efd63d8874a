package jsonscan_test

import (
	"encoding/json"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// flagsBody is a body of POST /flags of the size that browsers send, about 600
// bytes (wire.md §1.4).
const flagsBody = `{"token":"phc_4sKvd7eBq3xGmYtLwZ2NcRaHjU8pFoE","distinct_id":"01a1fb74-fbb6-73ab-a6e2-2019581e196c",` +
	`"groups":{"company":"acme-industries"},"$anon_distinct_id":"01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3","person_properties":` +
	`{"$initial_referrer":"$direct","$initial_utm_source":null,"plan":"pro","age":42,"beta":true,"country":"Österreich",` +
	`"created_at":"2026-03-01T12:00:00Z","spent":1234.56,"$lib":"web","$lib_version":"1.449.2"},"group_properties":` +
	`{"company":{"tier":"enterprise","seats":250}},"timezone":"Europe/Vienna","$device_id":"01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3"}`

func BenchmarkParse(b *testing.B) {
	body := []byte(flagsBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonscan.Parse(body, jsonscan.MaxDepth); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseFloor does the same work with encoding/json, the only checker
// that the standard library has.
func BenchmarkParseFloor(b *testing.B) {
	body := []byte(flagsBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if !json.Valid(body) {
			b.Fatal("invalid")
		}
	}
}

// BenchmarkWalk does what POST /flags does: the members of the body, then those
// of the properties, with their texts and numbers.
func BenchmarkWalk(b *testing.B) {
	body := []byte(flagsBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		o := jsonscan.Value(body).Object()
		for o.Next() {
			if len(o.Name()) == 0 || o.Value().Kind() != jsonscan.Object {
				continue
			}
			p := o.Value().Object()
			for p.Next() {
				switch v := p.Value(); v.Kind() {
				case jsonscan.String:
					text, _ := v.Plain()
					n += len(text)
				case jsonscan.Number:
					x, _ := v.Float()
					n += int(x)
				}
			}
		}
		if n == 0 || o.Err() != nil {
			b.Fatal(n, o.Err())
		}
	}
}

// BenchmarkWalkFloor reads the same with encoding/json.
func BenchmarkWalkFloor(b *testing.B) {
	body := []byte(flagsBody)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var all map[string]any
		if err := json.Unmarshal(body, &all); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFloat(b *testing.B) {
	for _, text := range []string{"42", "1234.56", "-1.5e-7", "12345678901234567890"} {
		b.Run(text, func(b *testing.B) {
			v := jsonscan.Value(text)
			b.ReportAllocs()
			for b.Loop() {
				v.Float()
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	for _, tt := range []struct{ name, text string }{
		{"plain", `"01a1fb74-fbb6-73ab-a6e2-2019581e196c"`},
		{"escapes", `"a \"quoted\" caf\u00e9, and a line\n"`},
		{"UTF-8", `"Grüße aus Österreich, 日本"`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			v := jsonscan.Value(tt.text)
			var dst []byte
			b.SetBytes(int64(len(v)))
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = v.AppendString(dst[:0])
			}
		})
	}
}
