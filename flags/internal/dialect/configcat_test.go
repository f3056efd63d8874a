package dialect_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags/internal/dialect"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

func TestConfigCat(t *testing.T) {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s + "salt" + "flag"))
		return hex.EncodeToString(sum[:])
	}
	hashes := func(s string) string { return fmt.Sprintf(`{"hashes":[%q],"salt":"salt","context":"flag"}`, s) }
	number := func(n float64) dialect.Value { return dialect.Value{Kind: jsonscan.Number, Number: n} }
	array := func(s string) dialect.Value { return dialect.Value{Kind: jsonscan.Array, JSON: jsonscan.Value(s)} }
	const yes, no, never = 1, 0, -1 // never: neither the operator nor its opposite
	tests := []struct {
		operator, value string
		property        dialect.Value
		want            int
	}{
		{"equal", `["a"]`, textValue("a"), yes},
		{"equal", `["a"]`, textValue("A"), no},
		{"equal", `["a"]`, dialect.Value{}, never},
		{"equal", `["true"]`, dialect.Value{Kind: jsonscan.True}, never},
		{"equal", `["null"]`, dialect.Value{Kind: jsonscan.Null}, never},
		{"equal", `["1e+16"]`, number(1e16), yes},
		{"equal", `["0.3"]`, number(0.1 + 0.2), yes},
		{"equal", `["[\"<\"]"]`, array(`["<"]`), yes},
		{"equal", `["[1]"]`, array(`[1]`), never},
		{"equal", `[]`, textValue("a"), no},
		{"contains", `[""]`, textValue(""), yes},
		{"array_contains", `["a"]`, textValue(`["b", "a"]`), yes},
		{"array_contains", `["a"]`, textValue(`null`), no},
		{"array_contains", `["a"]`, textValue(`a`), never},
		{"array_contains", `["a"]`, array(`[]`), no},
		{"version_less", `["1.2.3"]`, textValue(" 1.2.3-beta "), yes},
		{"version_less", `["1.2.3"]`, textValue("1.2"), never},
		{"version_less", `["1.2"]`, textValue("1.0.0"), never},
		{"version_equal", `["1.2.3"]`, textValue("1.2.3+b"), yes},
		{"version_equal", `["1.2.3"]`, textValue("01.2.3"), never},
		{"number_less", `2`, textValue("1,5"), yes},
		{"number_less", `2`, textValue("1,000.5"), never},
		{"number_less", `2`, textValue("NaN"), no},
		{"number_greater", `2`, textValue("Infinity"), yes},
		{"before", `1700000000`, number(1699999999.5), yes},
		{"hashed_equal", hashes(hash("a")), textValue("a"), yes},
		{"hashed_equal", hashes(hash("a")), textValue("b"), no},
		{"hashed_starts_with", hashes("1_" + hash("a")), textValue("ab"), yes},
		{"hashed_ends_with", hashes("1_" + hash("b")), textValue("ab"), yes},
		{"hashed_ends_with", hashes("3_" + hash("abc")), textValue("ab"), no},
		{"hashed_array_contains", hashes(hash("a")), array(`["b","a"]`), yes},
	}
	for _, tt := range tests {
		if got := matches(t, "configcat", tt.operator, tt.value, tt.property); got != (tt.want == yes) {
			t.Errorf("%s %s of %+v is %t", tt.operator, tt.value, tt.property, got)
		}
		if got := matches(t, "configcat", "not_"+tt.operator, tt.value, tt.property); got != (tt.want == no) {
			t.Errorf("not_%s %s of %+v is %t", tt.operator, tt.value, tt.property, got)
		}
	}
	for operator, value := range map[string]string{"is": `["a"]`, "equal": `"a"`, "number_less": `"1"`, "hashed_equal": `["a"]`, "hashed_starts_with": hashes("ab"), "version_less": `"1.0.0"`} {
		if _, err := dialect.Compile("configcat", operator, jsonscan.Value(value)); err == nil {
			t.Errorf("%s %s is not refused", operator, value)
		}
	}
}

func FuzzConfigCat(f *testing.F) {
	for _, operator := range []string{"equal", "not_ends_with", "array_contains", "version_less", "number_greater", "after", "hashed_starts_with", "hashed_array_contains"} {
		f.Add(operator, `["1.2.3"]`, "1.2.3-a.1")
		f.Add(operator, `{"hashes":["1_ab"],"salt":"s","context":"c"}`, `["a"]`)
		f.Add(operator, `5`, "1,5")
	}
	f.Fuzz(func(t *testing.T, operator, value, property string) {
		fuzzDialect(t, "configcat", operator, value, property)
	})
}
