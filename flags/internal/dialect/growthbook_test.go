package dialect

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// property returns JSON as a property, and "" as one that is not set.
func property(json string) Value {
	if json == "" {
		return Value{}
	}
	return growthBookValue(jsonscan.Value(json))
}

// TestGrowthBook has the edges of operators of GrowthBook; examples/import compares them with its SDK.
func TestGrowthBook(t *testing.T) {
	for _, test := range []struct {
		operator, value string
		matches, not    []string
	}{
		{"equals", `{"a":1,"b":[true,null]}`, []string{`{"b":[true,null],"a":1.0}`, `{"a":2,"a":1,"b":[true,null]}`}, []string{`{"a":1}`, `{"a":1,"b":[true]}`, `{"a":1,"b":[true,null],"c":1}`, `1`, ``}},
		{"equals", `[]`, []string{`[]`}, []string{`[1]`, `{}`, `null`, ``}},
		{"$eq", ``, []string{``, `null`}, []string{`0`, `""`, `false`}},
		{"$eq", `[1]`, nil, []string{`[1]`, `1`}},
		{"$ne", `[1]`, []string{`[1]`, `1`, ``}, nil},
		{"$ne", `"1"`, []string{`1`, ``, `["1"]`}, []string{`"1"`}},
		{"$lt", `"b"`, []string{`"a"`, `""`, `"B"`}, []string{`"b"`, `"c"`, `1`, ``, `null`, `["a"]`}},
		{"$lt", `"\ue000"`, []string{`"😀"`, `"a"`}, []string{`"\ue000"`, `"\uffff"`}},
		{"$gte", `10`, []string{`10`, `10.5`, `1e3`}, []string{`9`, `"10"`, `true`, ``}},
		{"$gt", `true`, nil, []string{`true`, `2`}},
		{"$in", `["a",1,null,false,{"x":1}]`, []string{`"a"`, `1.0`, `null`, ``, `false`, `["z","a"]`, `[null]`}, []string{`"A"`, `"1"`, `true`, `{"x":1}`, `[]`, `[["a"]]`}},
		{"$nin", `["a"]`, []string{`"b"`, ``, `[]`, `["b"]`}, []string{`"a"`, `["b","a"]`}},
		{"$ini", `["Straße","K",1]`, []string{`"STRAßE"`, `"k"`, "\"\u212a\"", `1`, `["k"]`}, []string{`"STRASSE"`, `"1"`, ``}},
		{"$nini", `["k"]`, []string{`"x"`, ``}, []string{`"K"`}},
		{"$inGroup", `[]`, nil, []string{``, `"a"`}},
		{"$notInGroup", `[]`, []string{``, `"a"`}, nil},
		{"$regex", `"^a.c$"`, []string{`"abc"`}, []string{`"ABC"`, `"abcd"`, `["abc"]`, ``, `1`}},
		{"$regexi", `"b"`, []string{`"aBc"`}, []string{`"a"`}},
		{"$regex", `"("`, nil, []string{`"("`, ``}},
		{"$veq", `"1.2.3"`, []string{`"v1.2.3"`, `"1.2.3+b"`, `"1-2.3"`}, []string{`"1.2.3-rc"`, `"1.2"`, `1.2`, ``, `"V1.2.3"`}},
		{"$vne", `"1.2.3"`, []string{`"1.2.4"`, `1`, ``, `null`, `[]`}, []string{`"1.2.3"`}},
		{"$vgt", `"1.9.0"`, []string{`"1.10.0"`, `"2"`}, []string{`"1.9.0"`, `"1.9.0.1"`, `"1.9.0-rc"`, `2`}},
		{"$vgte", `1.9`, []string{`1.9`, `2`}, []string{`1.10`, `"1.9"`}},
		{"$vlt", `"1.100000"`, []string{`"1.9"`, `"1.10000"`}, []string{`"1.100000"`, `"1.99999999"`}},
		{"$vlte", `"0"`, []string{`"0"`, `""`, `"+x"`}, []string{`"1"`}},
		{"$type", `"null"`, []string{``, `null`}, []string{`0`}},
		{"$type", `"array"`, []string{`[]`}, []string{`{}`}},
		{"$exists", `true`, []string{`0`, `""`, `false`}, []string{``, `null`}},
		{"$exists", `""`, []string{``, `null`}, []string{`0`}},
		{"$exists", `[]`, []string{`0`}, []string{``}},
		{"$size", `2`, []string{`[1,2]`}, []string{`[1]`, `"ab"`, `{"a":1,"b":2}`, ``}},
		{"$size", `{"$gt":1}`, []string{`[1,2]`}, []string{`[1]`}},
		{"$elemMatch", `{"$gt":1,"$lt":5}`, []string{`[9,3]`}, []string{`[0,9]`, `3`, `[]`, `["3"]`}},
		{"$elemMatch", `{"$exists":false}`, nil, []string{`[null]`, `[1]`}},
		{"$elemMatch", `{"os":"ios","v.0":{"$gte":2}}`, []string{`[1,{"os":"ios","v":[2]}]`}, []string{`[{"os":"ios","v":[1]},{"os":"x","v":[2]}]`}},
		{"$elemMatch", `{"$or":[{"a":1},{"b":1}]}`, []string{`[{"b":1}]`}, []string{`[{"c":1}]`, `[1]`}},
		{"$elemMatch", `{"$savedGroup":{"a":{"$in":[1]}}}`, []string{`[{"a":1}]`}, []string{`[{"a":2}]`}},
		{"$elemMatch", `{}`, []string{`[0]`}, []string{`[]`, `[null]`}},
		{"$all", `["a",{"$gt":1}]`, []string{`[2,"a"]`}, []string{`["a"]`, `[2]`, `"a"`}},
		{"$all", `[]`, []string{`[]`}, []string{`"a"`, ``}},
		{"$alli", `["A",1]`, []string{`["a",1]`}, []string{`["a","1"]`}},
		{"$not", `{"$gt":1}`, []string{`1`, ``, `"2"`}, []string{`2`}},
		{"$not", `"a"`, []string{`"b"`}, []string{`"a"`}},
		{"fields", `{"0":"a","length":{"$lt":3}}`, []string{`["a"]`, `["a","b"]`}, []string{`["b","a"]`, `["a",1,2]`, `"a"`, ``}},
		{"fields", `{"00":"a"}`, []string{`{"00":"a"}`}, []string{`["a"]`}},
		{"fields", `{"a.b":null,"$nor":[{"c":1}],"$not":{"d":1},"$and":[{}]}`, []string{``, `{}`, `{"a":5}`}, []string{`{"c":1}`, `{"d":1}`, `{"a":{"b":1}}`}},
		{"fields", `{"$or":[]}`, []string{``}, nil},
		{"fields", `{"$nor":[]}`, nil, []string{``}},
	} {
		var value jsonscan.Value
		if test.value != "" {
			value = jsonscan.Value(test.value)
		}
		c, err := Compile("growthbook", test.operator, value)
		if err != nil {
			t.Errorf("%s %s: %v", test.operator, test.value, err)
			continue
		}
		for _, p := range test.matches {
			if !c.Match(property(p)) {
				t.Errorf("%s %s does not match %q", test.operator, test.value, p)
			}
		}
		for _, p := range test.not {
			if c.Match(property(p)) {
				t.Errorf("%s %s matches %q", test.operator, test.value, p)
			}
		}
	}
}

func TestGrowthBookFaults(t *testing.T) {
	for _, test := range []struct{ operator, value string }{
		{"$or", `[]`},
		{"$new", `1`},
		{"exact", `1`},
		{"$in", `"a"`},
		{"$regex", `1`},
		{"$type", `"undefined"`},
		{"$all", `{}`},
		{"$all", `[{"$new":1}]`},
		{"$elemMatch", `1`},
		{"$elemMatch", `{"$new":1}`},
		{"$not", `{"$new":1}`},
		{"$size", `{"$new":1}`},
		{"fields", `[]`},
		{"fields", `{"$or":1}`},
		{"fields", `{"$or":[1]}`},
		{"fields", `{"a":{"$new":1}}`},
	} {
		if _, err := Compile("growthbook", test.operator, jsonscan.Value(test.value)); err == nil {
			t.Errorf("%s %s compiles", test.operator, test.value)
		}
	}
}

// TestGrowthBookAllocations has comparisons that must not allocate.
func TestGrowthBookAllocations(t *testing.T) {
	for _, test := range []struct{ operator, value, property string }{
		{"$lt", `"b"`, `"a"`},
		{"$in", `["a","b",null]`, `"b"`},
		{"$in", `["a","b",null]`, `["x","b"]`},
		{"$ini", `["Ada","Bob"]`, `"bOB"`},
		{"$veq", `"1.2.3"`, `"v1.2.3-rc.1+b"`},
		{"$vgt", `1.2`, `1.3`},
		{"$regex", `"^a.c"`, `"abc"`},
		{"$elemMatch", `{"os":"ios","v.0":{"$gte":2}}`, `[{"os":"android"},{"os":"ios","v":[2]}]`},
		{"$all", `["a","b"]`, `["b","c","a"]`},
		{"equals", `{"a":[1,"x"]}`, `{"a":[1,"x"]}`},
	} {
		c, err := Compile("growthbook", test.operator, jsonscan.Value(test.value))
		if err != nil {
			t.Fatal(err)
		}
		v := property(test.property)
		if n := testing.AllocsPerRun(100, func() { c.Match(v) }); n > 0 {
			t.Errorf("%s %s allocates %v times", test.operator, test.value, n)
		}
	}
}

// FuzzGrowthBook has operators, values and properties that are anything.
func FuzzGrowthBook(f *testing.F) {
	f.Add("fields", `{"$or":[{"a.0":{"$elemMatch":{"$in":[1,"a"]}}},{"$not":{"b":{"$size":{"$gt":1}}}}]}`, `{"a":[[1]],"b":[1,2]}`)
	f.Add("$vgte", `"v1.2.3-rc.1+b"`, `"1.10"`)
	f.Add("$alli", `["A",{"$ini":["B"]}]`, `["a","b"]`)
	f.Fuzz(func(t *testing.T, operator, value, of string) {
		v, err := jsonscan.Parse([]byte(value), jsonscan.MaxDepth)
		if err != nil {
			return
		}
		p, err := jsonscan.Parse([]byte(of), jsonscan.MaxDepth)
		if err != nil {
			return
		}
		if c, err := Compile("growthbook", operator, v); err == nil {
			c.Match(growthBookValue(p))
			c.Match(Value{})
		}
	})
}
