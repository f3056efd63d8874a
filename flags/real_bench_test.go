package flags_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/bench"
	"github.com/flagstaff-go/flagstaff/internal/semver"
)

// The benchmarks of this file ask for 1,024 persons in turn, with properties as people
// have them: six texts and numbers, in mixed case.

const realFlag = "new-checkout"

// realConditions is one flag with three condition sets of two filters, of which a person
// matches any or none.
func realConditions(hash string) string {
	return `{"bucketing_hash":"` + hash + `","flags":[{"id":1,"key":"new-checkout","active":true,"filters":{"groups":[
		{"properties":[{"key":"country","type":"person","operator":"exact","value":"DE"},{"key":"seats","type":"person","operator":"gt","value":10}],"rollout_percentage":50},
		{"properties":[{"key":"country","type":"person","operator":"exact","value":"FR"},{"key":"seats","type":"person","operator":"gt","value":20}],"rollout_percentage":50},
		{"properties":[{"key":"country","type":"person","operator":"exact","value":"US"},{"key":"seats","type":"person","operator":"gt","value":30}],"rollout_percentage":50}]}}]}`
}

// A realPerson is a person of these benchmarks.
type realPerson struct {
	id, country, plan, city, email string
	seats, logins                  int
}

func realPersons() []realPerson {
	countries := []string{"DE", "FR", "US", "US", "GB", "JP"}
	plans := []string{"Free", "Team", "Pro", "Enterprise"}
	cities := []string{"Berlin", "München", "Paris", "San José", "東京", "Łódź"}
	persons := make([]realPerson, 1024)
	for i := range persons {
		persons[i] = realPerson{
			id: fmt.Sprintf("0190f5a0-7c1e-7b7e-9d3a-%012x", i*7919), country: countries[i%len(countries)], plan: plans[i*7%len(plans)],
			city: cities[i*5%len(cities)], email: fmt.Sprintf("Person.%d@Example.com", i), seats: i * 31 % 100, logins: i,
		}
	}
	return persons
}

func (p *realPerson) properties() map[string]any {
	return map[string]any{"country": p.country, "plan": p.plan, "city": p.city, "email": p.email, "seats": p.seats, "logins": p.logins}
}

func realRequests(persons []realPerson) []flags.Request {
	requests := make([]flags.Request, len(persons))
	for i := range persons {
		requests[i] = flags.Request{DistinctID: persons[i].id, PersonProperties: persons[i].properties()}
	}
	return requests
}

// realFloor is what a program does that is written for this flag alone: it finds a
// function by the flag's key, as flags are found.
func realFloor(flags *atomic.Pointer[map[string]func(string, map[string]any, string) bool], id string, properties map[string]any, hash string) bool {
	f, ok := (*flags.Load())[realFlag]
	return ok && f(id, properties, hash)
}

func decideReal(id string, properties map[string]any, hash string) bool {
	country, _ := properties["country"].(string)
	seats, _ := properties["seats"].(int)
	if !(strings.EqualFold(country, "de") && seats > 10 || strings.EqualFold(country, "fr") && seats > 20 || strings.EqualFold(country, "us") && seats > 30) {
		return false
	}
	var buf [64]byte
	text := append(append(buf[:0], realFlag+"."...), id...)
	if hash == "xxhash64" {
		return float64(xxhash.Sum64(text)>>4)/(1<<60) <= 0.5
	}
	sum := sha1.Sum(text)
	return float64(binary.BigEndian.Uint64(sum[:8])>>4)/(1<<60) <= 0.5
}

func benchmarkReal(b *testing.B, hash string) {
	e := evaluator(b, realConditions(hash))
	requests := realRequests(realPersons())
	var floors atomic.Pointer[map[string]func(string, map[string]any, string) bool]
	floors.Store(&map[string]func(string, map[string]any, string) bool{realFlag: decideReal})
	for i := range requests {
		if r := &requests[i]; e.Bool(realFlag, r, false) != realFloor(&floors, r.DistinctID, r.PersonProperties, hash) {
			b.Fatalf("person %d: the floor differs", i)
		}
	}
	b.Run("flagstaff", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			sinkBool = e.Bool(realFlag, &requests[i&1023], false)
			i++
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			r := &requests[i&1023]
			sinkBool = realFloor(&floors, r.DistinctID, r.PersonProperties, hash)
			i++
		}
	})
}

func BenchmarkE11(b *testing.B)  { benchmarkReal(b, "sha1") }
func BenchmarkE11x(b *testing.B) { benchmarkReal(b, "xxhash64") }

// BenchmarkE12 builds the properties in every call. Its floor is E11, where they are
// there already.
func BenchmarkE12(b *testing.B) {
	e := evaluator(b, realConditions("sha1"))
	persons := realPersons()
	requests := realRequests(persons)
	floor := func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			sinkBool = e.Bool(realFlag, &requests[i&1023], false)
			i++
		}
	}
	b.Run("list", func(b *testing.B) {
		b.Run("flagstaff", func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p := &persons[i&1023]
				sinkBool = e.Bool(realFlag, &flags.Request{DistinctID: p.id, Person: []flags.Property{
					flags.StringProperty("country", p.country), flags.StringProperty("plan", p.plan), flags.StringProperty("city", p.city),
					flags.StringProperty("email", p.email), flags.IntProperty("seats", p.seats), flags.IntProperty("logins", p.logins),
				}}, false)
				i++
			}
		})
		b.Run("floor", floor)
	})
	b.Run("map", func(b *testing.B) {
		b.Run("flagstaff", func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				sinkBool = e.Bool(realFlag, &flags.Request{DistinctID: persons[i&1023].id, PersonProperties: persons[i&1023].properties()}, false)
				i++
			}
		})
		b.Run("floor", floor)
	})
}

// BenchmarkE13 compares values of all simple kinds. The floor is a text in lower case.
func BenchmarkE13(b *testing.B) {
	const filters = `{"key":"a","type":"person","operator":"is_not","value":"x"},{"key":"b","type":"person","operator":"is_not","value":["x","y"]}`
	e := evaluator(b, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[`+filters+`],"rollout_percentage":50}]}},
		{"id":2,"key":"n","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"gt","value":1},{"key":"b","type":"person","operator":"lt","value":50}],"rollout_percentage":50}]}}]}`)
	persons := realPersons()
	floor := func(b *testing.B, flag string, value any) {
		requests := make([]flags.Request, len(persons))
		for i := range requests {
			requests[i] = flags.Request{DistinctID: persons[i].id, PersonProperties: map[string]any{"a": value, "b": value}}
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			sinkBool = e.Bool(flag, &requests[i&1023], false)
			i++
		}
	}
	for _, kind := range []struct {
		name, flag string
		value      any
	}{
		{"mixed", "f", "Enterprise"},
		{"accents", "f", "Zürich Öst"},
		{"number", "f", 42},
		{"fraction", "f", 4.25},
		{"boolean", "f", true},
		{"null", "f", nil},
		{"digits", "n", "42"},
	} {
		b.Run("kind="+kind.name, func(b *testing.B) {
			b.Run("flagstaff", func(b *testing.B) { floor(b, kind.flag, kind.value) })
			b.Run("floor", func(b *testing.B) {
				value := any("enterprise")
				if kind.flag == "n" {
					value = 42
				}
				floor(b, kind.flag, value)
			})
		})
	}
	b.Run("kind=absent", func(b *testing.B) {
		requests := make([]flags.Request, len(persons))
		for i := range requests {
			requests[i] = flags.Request{DistinctID: persons[i].id, PersonProperties: map[string]any{"c": "x"}}
		}
		b.Run("flagstaff", func(b *testing.B) {
			i := 0
			for b.Loop() {
				sinkBool = e.Bool("f", &requests[i&1023], false)
				i++
			}
		})
		b.Run("floor", func(b *testing.B) { floor(b, "f", "enterprise") })
	})
}

// BenchmarkE14 matches regular expressions that are no more than texts. The floor is the
// operator for each.
func BenchmarkE14(b *testing.B) {
	for _, c := range []struct{ name, pattern, operator, value string }{
		{"literal", "example", "icontains", `"example"`},
		{"prefix", "^somebody", "starts_with", `"somebody"`},
		{"suffix", `@example\\.com$`, "ends_with", `"@example.com"`},
		{"anything", `^.*@example\\.com$`, "ends_with", `"@example.com"`},
		{"alternation", `@(acme|example|corp)\\.com$`, "icontains_multi", `["@acme.com","@example.com","@corp.com"]`},
	} {
		b.Run("pattern="+c.name, func(b *testing.B) {
			r := &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"email": "somebody@example.com"}}
			for _, v := range []struct{ name, operator, value string }{{"flagstaff", "regex", `"` + c.pattern + `"`}, {"floor", c.operator, c.value}} {
				e := evaluator(b, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"email","type":"person","operator":"`+v.operator+`","value":`+v.value+`}]}]}}]}`)
				if !e.Bool("f", r, false) {
					b.Fatalf("%s does not match", v.value)
				}
				b.Run(v.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						sinkBool = e.Bool("f", r, false)
					}
				})
			}
		})
	}
}

// BenchmarkE17 compares a version with several others. The floor reads the version once.
func BenchmarkE17(b *testing.B) {
	for _, n := range []int{1, 3} {
		var filters []string
		var bounds []semver.Version
		for i := range n {
			bound := fmt.Sprintf("%d.1.0", i)
			filters = append(filters, `{"key":"version","type":"person","operator":"semver_gte","value":"`+bound+`"}`)
			v, _ := semver.Parse(bound)
			bounds = append(bounds, v)
		}
		e := evaluator(b, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[`+strings.Join(filters, ",")+`]}]}}]}`)
		r := &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"version": "3.11.2", "country": "DE"}}
		if !e.Bool("f", r, false) {
			b.Fatal("the flag does not match")
		}
		b.Run(fmt.Sprintf("filters=%d/flagstaff", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkBool = e.Bool("f", r, false)
			}
		})
		b.Run(fmt.Sprintf("filters=%d/floor", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				version, _ := r.PersonProperties["version"].(string)
				v, ok := semver.Parse(version)
				for i := range bounds {
					ok = ok && semver.Compare(&v, &bounds[i]) >= 0
				}
				sinkBool = ok
			}
		})
	}
}

// BenchmarkE16 evaluates all flags for a Go caller, for 1,024 persons in turn, and reads
// each value. The floor compares two properties by the flag's own constants and hashes, for
// each flag.
func BenchmarkE16(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, hash := range []string{"sha1", "xxhash64"} {
			s := snapshotOf(b, n, hash)
			_, properties := bench.Person()
			persons := realPersons()
			requests := make([]flags.Request, len(persons))
			for i := range requests {
				own := maps.Clone(properties)
				own["seats"], own["logins"] = persons[i].seats, persons[i].logins
				requests[i] = flags.Request{DistinctID: persons[i].id, PersonProperties: own}
			}
			name := fmt.Sprintf("flags=%d/hash=%s", n, hash)
			b.Run(name+"/flagstaff", func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					for _, result := range s.Evaluate(&requests[i&1023]).All() {
						sinkBool = result.Enabled
					}
					i++
				}
			})
			b.Run(name+"/floor", func(b *testing.B) {
				type rule struct {
					key, text, want, number string
					above                   int
				}
				var rules []rule
				for _, f := range bench.Definitions(n, hash).Flags {
					p := f.Filters.Groups[0].Properties
					var want string
					var above int
					if json.Unmarshal(p[0].Value, &want) != nil || json.Unmarshal(p[1].Value, &above) != nil {
						b.Fatal("not the definitions that this floor is for")
					}
					rules = append(rules, rule{f.Key + ".", p[0].Key, strings.ToLower(want), p[1].Key, above})
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					r := &requests[i&1023]
					out := make([]bool, n)
					var buf [64]byte
					for j := range rules {
						rule := &rules[j]
						text, _ := r.PersonProperties[rule.text].(string)
						number, _ := r.PersonProperties[rule.number].(int)
						if !strings.EqualFold(text, rule.want) || number <= rule.above {
							continue
						}
						hashed := append(append(buf[:0], rule.key...), r.DistinctID...)
						if hash == "xxhash64" {
							out[j] = float64(xxhash.Sum64(hashed)>>4)/(1<<60) <= 0.5
						} else {
							sum := sha1.Sum(hashed)
							out[j] = float64(binary.BigEndian.Uint64(sum[:8])>>4)/(1<<60) <= 0.5
						}
					}
					sinkBools = out
					i++
				}
			})
		}
	}
}

var sinkBools []bool
