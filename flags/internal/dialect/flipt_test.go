package dialect_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/flags/internal/dialect"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

func textValue(s string) dialect.Value { return dialect.Value{Kind: jsonscan.String, Text: s} }

// matches says whether a property matches, in a dialect that knows the operator.
func matches(t *testing.T, name, operator, value string, property dialect.Value) bool {
	t.Helper()
	c, err := dialect.Compile(name, operator, jsonscan.Value(value))
	if err != nil {
		t.Fatalf("%s %s %s: %v", name, operator, value, err)
	}
	return c.Match(property)
}

func TestFlipt(t *testing.T) {
	tests := []struct {
		operator, value string
		property        dialect.Value
		want            bool
	}{
		{"empty", `null`, dialect.Value{}, true},
		{"empty", `null`, dialect.Value{Kind: jsonscan.Array, JSON: jsonscan.Value(`["a"]`)}, true},
		{"empty", `null`, textValue(" \t"), true},
		{"notempty", `null`, dialect.Value{Kind: jsonscan.False}, true},
		{"string_neq", `"a"`, dialect.Value{}, false},
		{"string_neq", `"a"`, textValue(""), false},
		{"string_isnotoneof", `["a"]`, dialect.Value{}, false},
		{"string_isoneof", `["","a"]`, textValue(""), false},
		{"string_notcontains", `"a"`, dialect.Value{}, false},
		{"string_prefix", `"a"`, textValue(" ab"), true},
		{"string_contains", `" a"`, textValue("x a"), true},
		{"string_eq", `"true"`, dialect.Value{Kind: jsonscan.True}, true},
		{"number_neq", `"5"`, textValue("x"), false},
		{"number_neq", `"NaN"`, textValue("NaN"), true},
		{"number_eq", `"0x1p4"`, dialect.Value{Kind: jsonscan.Number, Text: "16", Number: 16}, true},
		{"number_isnotoneof", `[5]`, textValue(" 5"), false},
		{"boolean_true", `null`, textValue("T"), true},
		{"boolean_false", `null`, textValue("no"), false},
		{"datetime_eq", `"2024-02-29"`, textValue("2024-02-29T01:00:00+01:00"), true},
		{"datetime_neq", `"2024-02-29"`, textValue("2024-02-30"), false},
	}
	for _, tt := range tests {
		if got := matches(t, "flipt", tt.operator, tt.value, tt.property); got != tt.want {
			t.Errorf("%s %s of %+v is %t", tt.operator, tt.value, tt.property, got)
		}
	}
	for operator, value := range map[string]string{"string_regex": `"a"`, "eq": `"a"`, "number_eq": `"x"`, "datetime_lt": `"now"`, "string_isoneof": `["a",1]`, "number_isoneof": `"[1]"`, "string_eq": `1`} {
		if _, err := dialect.Compile("flipt", operator, jsonscan.Value(value)); err == nil {
			t.Errorf("%s %s is not refused", operator, value)
		}
	}
}

func FuzzFlipt(f *testing.F) {
	for _, operator := range []string{"empty", "boolean_true", "string_eq", "string_isoneof", "number_lt", "number_isnotoneof", "datetime_gte"} {
		f.Add(operator, `"2024-01-01"`, "2024-01-01T00:00:00Z")
		f.Add(operator, `["a"]`, "5")
	}
	f.Fuzz(func(t *testing.T, operator, value, property string) {
		fuzzDialect(t, "flipt", operator, value, property)
	})
}

// fuzzDialect wants no panic of a comparison, whatever the kind of the property is.
func fuzzDialect(t *testing.T, name, operator, value, property string) {
	v, err := jsonscan.Parse([]byte(value), jsonscan.MaxDepth)
	if err != nil {
		return
	}
	c, err := dialect.Compile(name, operator, v)
	if err != nil {
		return
	}
	c.Match(textValue(property))
	c.Match(dialect.Value{Kind: v.Kind(), Text: property, Number: float64(len(property)), JSON: v})
	first := c.Match(dialect.Value{})
	if again := c.Match(dialect.Value{}); first != again {
		t.Fatal("not the same twice")
	}
}

// TestAllocations wants none for texts and numbers.
func TestAllocations(t *testing.T) {
	tests := []struct{ name, operator, value, property string }{
		{"flipt", "string_prefix", `"a"`, "abc"},
		{"flipt", "number_gte", `"5"`, "17.5"},
		{"flipt", "datetime_lt", `"2024-01-01"`, "2024-01-01T00:00:00Z"},
		{"flipt", "datetime_lt", `"2024-01-01"`, "2023-05-06"},
		{"flipt", "boolean_true", `null`, "true"},
		{"configcat", "equal", `["a","b"]`, "b"},
		{"configcat", "not_contains", `["a","b"]`, "c"},
		{"configcat", "number_less", `5`, "4,5"},
		{"configcat", "version_less", `["1.2.3"]`, " 1.2.0-beta.1"},
		{"configcat", "hashed_equal", `{"hashes":["00"],"salt":"salt","context":"flag"}`, "ada@example.org"},
		{"configcat", "hashed_ends_with", `{"hashes":["3_00","5_00"],"salt":"salt","context":"flag"}`, "ada@example.org"},
	}
	for _, tt := range tests {
		c, err := dialect.Compile(tt.name, tt.operator, jsonscan.Value(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		v := textValue(tt.property)
		most := 0.0
		if tt.property == "4,5" { // a comma has to be replaced
			most = 1
		}
		if n := testing.AllocsPerRun(100, func() { c.Match(v) }); n > most {
			t.Errorf("%s %s allocates %v times", tt.name, tt.operator, n)
		}
	}
}
