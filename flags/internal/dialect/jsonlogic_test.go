package dialect

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// fuzz compiles comparisons, and compares whatever property with them.
func fuzz(f *testing.F, dialect string, seeds [][3]string) {
	for _, s := range seeds {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, operator, value, property string) {
		v, err := jsonscan.Parse([]byte(value), jsonscan.MaxDepth)
		if err != nil {
			return
		}
		p, err := jsonscan.Parse([]byte(property), jsonscan.MaxDepth)
		if err != nil {
			return
		}
		check, err := Compile(dialect, operator, v)
		if err != nil {
			return
		}
		check.Match(valueOf(p))
		check.Match(Value{})
	})
}

func FuzzJSONLogic(f *testing.F) {
	fuzz(f, "jsonlogic", [][3]string{
		{"==", `"1"`, `1`},
		{"<=", `null`, `" "`},
		{"in", `["a", 1, [1, 2], [], null, {}]`, `"a"`},
		{"not_in", `[[1], [true, 2]]`, `[1]`},
		{"contains", `"x"`, `["x", [1, "2"], {}]`},
		{"sem_ver", `["~", "v1.2"]`, `"1.2.3-rc.1+b"`},
		{"first_truthy", ``, `[0]`},
	})
}

func FuzzGoFeatureFlag(f *testing.F) {
	fuzz(f, "go-feature-flag", [][3]string{
		{"eq", `"École"`, `"ÉCOLE"`},
		{"ge", `18`, `18.5`},
		{"in", `[1, 2]`, `2`},
		{"version_lt", `"1.2.3-rc.1"`, `"1.2.3-rc.a"`},
		{"ne", `null`, `{}`},
		{"pr", ``, `null`},
	})
}

// TestAllocations is about values as properties mostly have them.
func TestAllocations(t *testing.T) {
	for _, test := range []struct{ dialect, operator, value, property string }{
		{"go-feature-flag", "eq", `"pro"`, `"Pro"`},
		{"go-feature-flag", "co", `"école"`, `"L'ÉCOLE"`},
		{"go-feature-flag", "ge", `18`, `18.5`},
		{"go-feature-flag", "version_ge", `"1.2.3-rc.1"`, `"1.2.3-rc.2+build"`},
		{"jsonlogic", "==", `"18"`, `18`},
		{"jsonlogic", "<", `5`, `"pro"`},
		{"jsonlogic", "in", `["free", "pro"]`, `"pro"`},
		{"jsonlogic", "contains", `"pro"`, `["pro"]`},
		{"jsonlogic", "sem_ver", `["^", "1.2.3"]`, `"v1.10.0"`},
		{"jsonlogic", "truthy", ``, `[1]`},
	} {
		check, err := Compile(test.dialect, test.operator, jsonscan.Value(test.value))
		if err != nil {
			t.Fatal(err)
		}
		v := valueOf(jsonscan.Value(test.property))
		want := 0.0
		if test.operator == "contains" {
			want = 1 // the text of an element
		}
		if n := testing.AllocsPerRun(100, func() { check.Match(v) }); n > want {
			t.Errorf("%s %s %s allocates %v times for %s", test.dialect, test.operator, test.value, n, test.property)
		}
	}
}
